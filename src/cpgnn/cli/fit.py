"""`cpgnn fit`: classes for every node of a graph, and how good they are."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from cpgnn.cli import options as opt

if TYPE_CHECKING:
    from cpgnn.engine.arrays import Matrix


TEST = 0.2
"""Share of the labels held out for the scores, unless somebody says otherwise."""


def fit(
    edges: opt.Edges,
    out: Annotated[Path, typer.Option(help="Folder to write; must not exist or be empty.")],
    labels: opt.Labels = None,
    features: opt.Features = None,
    prior: Annotated[str, typer.Option(help="auto, mlp, cheby or link.")] = "auto",
    layers: Annotated[
        int | None, typer.Option(min=1, help="Layers of propagation; chosen if not given.")
    ] = None,
    preset: Annotated[str, typer.Option(help="default, paper or authors.")] = "default",
    epochs: Annotated[
        int | None, typer.Option(min=1, help="Epochs in all, a fifth of them pretraining.")
    ] = None,
    seed: opt.Seed = 0,
    test: Annotated[
        float | None, typer.Option(help="Share of the labels held out for the scores; 0.2.")
    ] = None,
    select_by: Annotated[
        str, typer.Option(help="accuracy, macro-f1 or average-precision: chooses the epoch.")
    ] = "accuracy",
    class_weight: Annotated[
        str | None, typer.Option(help="'balanced': every class weighs the same in the loss.")
    ] = None,
    positive: Annotated[
        str | None, typer.Option(help="The class to rank by; of two classes the rarer one.")
    ] = None,
    min_precision: Annotated[
        float | None, typer.Option(help="Flag --positive nodes: all that keep this precision.")
    ] = None,
    min_recall: Annotated[
        float | None, typer.Option(help="Flag --positive nodes: as few as reach this recall.")
    ] = None,
    best_f1: Annotated[
        bool, typer.Option("--best-f1", help="Flag --positive nodes: the best F1.")
    ] = False,
    calibrate: Annotated[
        bool,
        typer.Option(help="Set the temperature of the probabilities on some validation nodes."),
    ] = True,
    refit: Annotated[
        bool, typer.Option("--refit", help="Predict with a model trained on all labels.")
    ] = False,
    normalization: Annotated[
        str, typer.Option(help="none, sym or row: how A is scaled for propagation.")
    ] = "none",
    unlabelled: opt.Unlabelled = None,
    strict_ids: opt.StrictIds = False,
    impute: opt.Impute = None,
    one_hot: opt.OneHot = False,
    threads: opt.Threads = None,
) -> None:
    """Learn from labelled nodes; write a class for every node."""
    given = {
        key: str(value) if isinstance(value, Path) else value
        for key, value in locals().items()
        if value is not None
    }

    from cpgnn.classifier import CPGNNClassifier
    from cpgnn.cli.printing import print_run
    from cpgnn.cli.progress import progress_bar
    from cpgnn.evaluation.thresholds import one_goal
    from cpgnn.io import check_free
    from cpgnn.run.folder import fit_run
    from cpgnn.splits import check_share

    pretraining = None if epochs is None else epochs // 5
    classifier = CPGNNClassifier(
        prior,
        layers,
        preset=preset,
        normalization=cast("Matrix", normalization),
        pretrain_epochs=pretraining,
        epochs=None if pretraining is None or epochs is None else epochs - pretraining,
        select_by=select_by,
        class_weight=class_weight,
        calibrate=calibrate,
        seed=seed,
    )
    classifier.check_params()
    check_share("test", TEST if test is None else test)
    goal = one_goal(min_precision, min_recall, best_f1)
    check_free(out)
    loaded = opt.read(
        edges,
        labels,
        features,
        unlabelled=unlabelled,
        strict_ids=strict_ids,
        impute=impute,
        one_hot=one_hot,
    )
    if test is not None and loaded.split is not None:
        print("Note: --test is not used: the labels come with a split column.", file=sys.stderr)
    opt.use_threads(threads, loaded.graph)
    with progress_bar() as begin:
        run = fit_run(
            loaded,
            classifier,
            out,
            test=TEST if test is None else test,
            positive=positive,
            goal=goal,
            refit=refit,
            options=given,
            begin=begin,
        )
    print_run(run, out)
