"""`cpgnn check`: what is wrong or risky in the data, and whether the graph helps."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from cpgnn.cli import options as opt


@opt.reads_tables
def check(
    edges: opt.Edges,
    labels: opt.Labels = None,
    features: opt.Features = None,
    compare: Annotated[bool, typer.Option(help="Train briefly with and without the graph.")] = True,
    form: Annotated[
        Literal["text", "json"], typer.Option("--format", help="What to print.")
    ] = "text",
    positive: Annotated[
        str | None,
        typer.Option(help="The class to look for: models are compared by its average precision."),
    ] = None,
    seed: opt.Seed = 0,
    tables: opt.Tables = opt.Tables(),
    split_time: opt.SplitTime = None,
    threads: opt.Threads = None,
    progress: opt.Progress = "auto",
) -> None:
    """Find what is wrong or risky in the data. Exits with 1 if anything is, else with 0."""
    given = opt.by_name(locals())
    from cpgnn.check import check_loaded
    from cpgnn.cli.findings import print_json, print_report
    from cpgnn.cli.progress import progress_bar

    loaded = opt.load(given, keep_rows=True)
    opt.use_threads(threads)
    with progress_bar(progress) as begin:
        report = check_loaded(loaded, compare=compare, positive=positive, seed=seed, begin=begin)
    (print_json if form == "json" else print_report)(report)
    if not report.clean:
        raise typer.Exit(1)
