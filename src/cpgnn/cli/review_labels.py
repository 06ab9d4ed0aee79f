"""`cpgnn review-labels`: labels that are probably wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpgnn.cli import options as opt
from cpgnn.engine.formatting import percent
from cpgnn.engine.text import count, of_a_cell


def review_labels(
    run: opt.Run,
    top: Annotated[int, typer.Option(min=1, max=10**9, help="Labels to list.")] = 20,
    out: Annotated[
        Path | None, typer.Option(help="Write all doubtful labels to a .csv or .parquet file.")
    ] = None,
    spreadsheet_safe: opt.SpreadsheetSafe = False,
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
) -> None:
    """List labels that the rest of the graph contradicts."""
    [fitted] = opt.fitted_runs(run, out=out, threads=threads)

    from rich.text import Text

    from cpgnn.cli.printing import console
    from cpgnn.cli.progress import waiting
    from cpgnn.doubt.labels import NAMED, but_missed
    from cpgnn.doubt.labels import review_labels as reviewed
    from cpgnn.evaluation.cross_validation import FEW
    from cpgnn.io import write_table

    labelled = int((fitted.graph.labels >= 0).sum())
    with waiting("holding labels out in turn"):
        found = reviewed(fitted.classifier, seed=seed)
    verb = "is" if len(found) == 1 else "are"
    print(f"{len(found):,} of {count(labelled, 'label')} {verb} contradicted.")
    if labelled < FEW:
        print("With so few labels, that is weak evidence: check them yourself.")
    if out is not None:
        write_table(out, found, spreadsheet_safe=spreadsheet_safe)
        print(f"Written to {out}")
        return
    found, missed = but_missed(found, fitted.graph)
    to = console()
    if missed:
        to.print(Text(f"{missed} These labels are not listed; --out writes all of them."))
    for rank, row in enumerate(found.head(top).itertuples(), start=1):
        line = f"{rank:>3}. {row.id}: labelled {row.label}, more likely {row.suggested} "
        line += f"({percent(row.p_suggested, 0)})"
        if row.against:
            who = ", ".join(of_a_cell(str(row.who)))
            most = "most of all by " if row.against > NAMED else ""
            line += f"; contradicted by {count(row.against, 'neighbour')} ({most}{who})"
        to.print(Text(line))
