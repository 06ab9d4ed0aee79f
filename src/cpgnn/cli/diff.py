"""`cpgnn diff`: what became of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpgnn.cli import options as opt
from cpgnn.engine.formatting import lead, percent
from cpgnn.engine.text import count


def diff(
    run: opt.Run,
    other: Annotated[Path, typer.Argument(help="A later run, of the same graph or another.")],
    top: Annotated[int, typer.Option(min=0, max=10**9, help="Nodes to list.")] = 10,
    out: Annotated[
        Path | None, typer.Option(help="Write every node that changed class: .csv or .parquet.")
    ] = None,
    spreadsheet_safe: opt.SpreadsheetSafe = False,
    threads: opt.Threads = None,
) -> None:
    """Compare two runs: classes, scores, who connects."""
    before, after = opt.fitted_runs(run, other, out=out, threads=threads)

    from rich.text import Text

    from cpgnn.cli.printing import console, share_table, show
    from cpgnn.io import write_table
    from cpgnn.run.difference import Difference

    found = Difference.of(before, after)
    to = console()
    for sentence in found.sentences():
        to.print(Text(sentence))
    names = list(found.class_names)
    if len(names) <= 12:
        each = zip(("Then", "Now"), found.counted, found.frequency, strict=True)
        for when, what, matrix in each:
            title = f"{when}: where the {what} of a class {lead(what)}"
            show(to, share_table(title, matrix, names))
    for row in found.changed.head(top).itertuples():
        known = f", labelled {row.label}" if row.label else ""
        to.print(Text(f"{row.id}: {row.before} → {row.after} ({percent(row.p_after, 0)}){known}"))
    if out is not None:
        write_table(out, found.changed, spreadsheet_safe=spreadsheet_safe)
        to.print(Text(f"{count(len(found.changed), 'node')} written to {out}"))
