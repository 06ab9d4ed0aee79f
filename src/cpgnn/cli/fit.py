"""`cpgnn fit`: classes for every node of a graph, and how good they are."""

from __future__ import annotations

import sys
import warnings
from pathlib import Path
from typing import Annotated, Literal

import typer

from cpgnn.cli import options as opt
from cpgnn.errors import GraphNotice, check_share

TEST = 0.2
"""Share of the labels held out for the scores, unless somebody says otherwise."""


@opt.reads_tables
def fit(
    edges: opt.Edges,
    out: opt.Folder,
    labels: opt.Labels = None,
    features: opt.Features = None,
    prior: Annotated[
        Literal["auto", "trees", "smoothed", "mlp", "cheby", "link"],
        typer.Option(help="What to believe of a node before propagation; 'auto' blends several."),
    ] = "auto",
    layers: Annotated[
        int | None,
        typer.Option(min=1, max=1_000, help="Layers of propagation; chosen for you by default."),
    ] = None,
    preset: opt.Preset = "default",
    epochs: opt.Epochs = None,
    fast: Annotated[
        bool, typer.Option("--fast", help="A first look, in about a quarter of the time.")
    ] = False,
    thorough: Annotated[
        bool, typer.Option("--thorough", help="A final run, in about twice the time.")
    ] = False,
    seed: opt.Seed = 0,
    test: Annotated[
        float | None, typer.Option(help="Share of labels held out for scoring; 0.2 by default.")
    ] = None,
    select_by: Annotated[
        str | None,
        typer.Option(
            help="Score to choose the model by: accuracy, macro-f1, or average-precision (the "
            "default for a rare --positive)."
        ),
    ] = None,
    class_weight: Annotated[
        Literal["balanced"] | None, typer.Option(help="Give every class the same weight.")
    ] = None,
    positive: opt.Positive = None,
    min_precision: Annotated[
        float | None,
        typer.Option(help="Flag as many --positive nodes as possible at this precision."),
    ] = None,
    min_recall: Annotated[
        float | None,
        typer.Option(
            help="Flag the fewest nodes that still find this share of the --positive ones."
        ),
    ] = None,
    best_f1: Annotated[
        bool, typer.Option("--best-f1", help="Flag --positive nodes where F1 is best.")
    ] = False,
    coverage: Annotated[
        float | None,
        typer.Option(help="Give each node a set of classes that holds the true one this often."),
    ] = None,
    coverage_per: Annotated[
        Literal["all", "class"],
        typer.Option(help="Keep that promise over all nodes, or within each class."),
    ] = "all",
    calibrate: Annotated[
        bool, typer.Option(help="Calibrate the probabilities on some validation nodes.")
    ] = True,
    refit: Annotated[
        bool, typer.Option("--refit", help="Predict with a model trained again on all labels.")
    ] = False,
    normalization: opt.Normalization = "none",
    tables: opt.Tables = opt.Tables(),
    split_time: opt.SplitTime = None,
    spreadsheet_safe: opt.SpreadsheetSafe = False,
    threads: opt.Threads = None,
    progress: opt.Progress = "auto",
    config: Annotated[
        Path | None,
        typer.Option(
            help="Repeat a run with the options in its config.json; those given here win.",
            is_eager=True,
            callback=opt.repeated,
        ),
    ] = None,
) -> None:
    """Learn from labelled nodes; predict every node."""
    options = opt.by_name(locals())
    given = {
        key: str(value) if isinstance(value, Path) else value
        for key, value in options.items()
        if value is not None and key not in opt.NOT_REPEATED
    }
    given |= opt.without_passwords(edges=edges, labels=labels, features=features)

    from cpgnn.cli.printing import print_notices, print_run
    from cpgnn.cli.progress import progress_bar
    from cpgnn.evaluation.thresholds import one_goal
    from cpgnn.io import check_free
    from cpgnn.run.fit import MOST_ROWS
    from cpgnn.run.folder import fit_run

    share = TEST if test is None else test
    classifier = opt.classifier(
        prior,
        layers,
        epochs=epochs,
        test=share,
        preset=preset,
        normalization=normalization,
        select_by=select_by,
        class_weight=class_weight,
        calibrate=calibrate,
        budget=opt.budget(fast, thorough),
        seed=seed,
    )
    goal = one_goal(min_precision, min_recall, best_f1)
    if coverage is not None:
        check_share("coverage", coverage, zero=False)
    check_free(out)
    loaded = opt.load(options, keep_rows=MOST_ROWS)
    if test is not None and loaded.split is not None:
        print("Note: --test has no effect: the labels have a split column.", file=sys.stderr)
    opt.use_threads(threads)
    quiet = warnings.catch_warnings(action="ignore", category=GraphNotice)
    with progress_bar(progress) as begin, quiet:
        run = fit_run(
            loaded,
            classifier,
            out,
            test=share,
            positive=positive,
            goal=goal,
            coverage=coverage,
            coverage_per=coverage_per,
            refit=refit,
            options=given | loaded.guessed,
            begin=begin,
            spreadsheet_safe=spreadsheet_safe,
        )
    print_notices(run.graph, known=loaded.graph.notices)
    print_run(run, out)
