"""`cpgnn check`: what is wrong or risky in the data, and whether the graph helps."""

from __future__ import annotations

from typing import Annotated

import typer

from cpgnn.cli import options as opt


def check(
    edges: opt.Edges,
    labels: opt.Labels = None,
    features: opt.Features = None,
    compare: Annotated[
        bool,
        typer.Option("--compare/--no-compare", help="Train briefly with and without the graph."),
    ] = True,
    form: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
    seed: opt.Seed = 0,
    unlabelled: opt.Unlabelled = None,
    strict_ids: opt.StrictIds = False,
    impute: opt.Impute = None,
    one_hot: opt.OneHot = False,
    threads: opt.Threads = None,
) -> None:
    """Say what is wrong or risky in the data, worst first. Exit code 0: clean, 1: it is not."""
    from cpgnn.check import check_loaded
    from cpgnn.cli.findings import print_json, print_report
    from cpgnn.cli.progress import progress_bar
    from cpgnn.errors import must_be

    if form not in ("text", "json"):
        raise must_be("'--format'", "be text or json", repr(form))
    loaded = opt.read(
        edges,
        labels,
        features,
        unlabelled=unlabelled,
        strict_ids=strict_ids,
        impute=impute,
        one_hot=one_hot,
        keep_rows=True,
    )
    opt.use_threads(threads, loaded.graph)
    with progress_bar() as begin:
        report = check_loaded(loaded, compare=compare, seed=seed, begin=begin)
    (print_json if form == "json" else print_report)(report)
    if not report.clean:
        raise typer.Exit(1)
