"""`cpgnn suggest`: the nodes whose labels would teach most."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cpgnn.cli import options as opt
from cpgnn.engine.text import count


def suggest(
    run: opt.Run,
    budget: Annotated[int, typer.Option(min=1, max=10**9, help="Labels to ask for.")] = 20,
    rule: Annotated[
        Literal["auto", "cover", "change", "spread", "centre", "uncertainty", "margin", "random"],
        typer.Option(help="What makes a node worth asking for."),
    ] = "auto",
    out: Annotated[
        Path | None,
        typer.Option(help="Table to fill in and give back as --labels: .csv or .parquet."),
    ] = None,
    with_known: Annotated[
        bool, typer.Option("--with-known", help="Add the known labels to that table.")
    ] = False,
    spreadsheet_safe: opt.SpreadsheetSafe = False,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
) -> None:
    """Suggest what to label next."""
    [fitted] = opt.fitted_runs(run, out=out, threads=threads)

    from rich.text import Text

    from cpgnn.cli.printing import console
    from cpgnn.doubt.suggest import suggest as suggested
    from cpgnn.doubt.suggest import with_known_labels
    from cpgnn.io import write_table
    from cpgnn.run.fit import given_split

    found = suggested(fitted.classifier, budget, rule=rule, seed=seed)
    if out is not None:
        written, kind = found, fitted.options.get("kind_column") or "kind"
        if with_known:
            split = given_split(fitted)
            written = with_known_labels(found, fitted.graph, split=split, kind=kind)
        write_table(out, written, spreadsheet_safe=spreadsheet_safe)
        print(f"{count(len(found), 'node')} to label written to {out}")
        return
    to = console()
    for row in found.itertuples():
        to.print(Text(f"{row.rank:>3}. {row.id}: {row.why}"))
