"""`cpgnn spark`: the same commands for Parquet tables that one machine does not hold."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpgnn.cli import options as opt
from cpgnn.errors import CPGNNError, wrong_value

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cpgnn.spark import Given

app = typer.Typer(
    help="The same on Apache Spark, for Parquet tables.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Edges = Annotated[str, typer.Argument(help="Edges: Parquet with source, target[, weight].")]
Labels = Annotated[str | None, typer.Option(help="Labels: Parquet with id, label[, split].")]
Features = Annotated[
    str | None, typer.Option(help="Features: Parquet with id and numeric columns.")
]
Master = Annotated[
    str | None, typer.Option(help="Where to run, e.g. local[2]; by default as for spark-submit.")
]
Conf = Annotated[
    list[str] | None, typer.Option(help="A Spark setting, KEY=VALUE; may be repeated.")
]
Work = Annotated[
    str | None,
    typer.Option(help="Folder that all executors can reach; a job that died resumes from it."),
]
Kinds = Annotated[str | None, typer.Option(help="Kinds of nodes: Parquet with id, kind.")]

MaxEdges = Annotated[
    int, typer.Option(min=1, max=2**62, help="Largest receptive field to train on.")
]
Sample = Annotated[
    bool, typer.Option("--sample", help="If it is larger, use a random share of the labels.")
]


@app.command("stats")
def stats(
    edges: Edges,
    labels: Labels = None,
    features: Features = None,
    kinds: Kinds = None,
    relation_column: opt.Relation = None,
    unlabelled: opt.Unlabelled = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Describe a graph, and say what is risky about it."""
    options = locals()
    from cpgnn.check.counted import counted
    from cpgnn.check.finding import worst_first
    from cpgnn.cli.printing import in_words, print_stats

    with _spark(master, conf) as spark:
        from cpgnn import spark as library

        found = library.stats(_given(spark, options), unlabelled=unlabelled)
    print_stats(found)
    for finding in worst_first(counted(found)):
        advice = in_words(finding.advice)
        print(f"{finding.severity}: {finding.title}. {finding.detail} {advice}")


@app.command("check")
def check(
    edges: Edges,
    labels: Annotated[str, typer.Option(help="Labels: Parquet with id, label[, split].")],
    features: Features = None,
    kinds: Kinds = None,
    relation_column: opt.Relation = None,
    directed: opt.Directed = False,
    directed_types: opt.OneWay = None,
    unlabelled: opt.Unlabelled = None,
    compare: Annotated[bool, typer.Option(help="Train briefly with and without the graph.")] = True,
    positive: opt.Positive = None,
    seed: opt.Seed = 0,
    max_edges: MaxEdges = 20_000_000,
    sample: Sample = False,
    threads: opt.Threads = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Find what is wrong or risky. Exits with 1 if anything is, else with 0."""
    options = locals()
    from cpgnn.cli.findings import print_report
    from cpgnn.cli.progress import progress_bar

    opt.use_threads(threads)
    with _spark(master, conf) as spark, progress_bar() as begin:
        from cpgnn import spark as library

        report = library.check(
            _given(spark, options),
            unlabelled=unlabelled,
            max_edges=max_edges,
            sample=sample,
            compare=compare,
            positive=positive,
            seed=seed,
            begin=begin,
        )
    print_report(report)
    if not report.clean:
        raise typer.Exit(1)


@app.command("fit")
def fit(
    edges: Edges,
    labels: Annotated[str, typer.Option(help="Labels: Parquet with id, label[, split].")],
    out: Annotated[Path, typer.Option(help="Folder to write, on this machine.")],
    features: Features = None,
    kinds: Kinds = None,
    relation_column: opt.Relation = None,
    directed: opt.Directed = False,
    directed_types: opt.OneWay = None,
    prior: Annotated[
        str, typer.Option(help="As in 'fit'; of the paper's models only mlp, with --layers.")
    ] = "auto",
    layers: Annotated[
        int | None, typer.Option(min=1, max=1_000, help="Layers of propagation, for --prior mlp.")
    ] = None,
    preset: opt.Preset = "default",
    epochs: opt.Epochs = None,
    seed: opt.Seed = 0,
    test: Annotated[float, typer.Option(help="Share of labels held out for scoring.")] = 0.2,
    positive: opt.Positive = None,
    refit: Annotated[
        bool, typer.Option("--refit", help="Keep a model trained again on all labels.")
    ] = False,
    normalization: opt.Normalization = "none",
    unlabelled: opt.Unlabelled = None,
    max_edges: MaxEdges = 20_000_000,
    sample: Sample = False,
    threads: opt.Threads = None,
    master: Master = None,
    conf: Conf = None,
    work: Work = None,
) -> None:
    """Learn from labelled nodes and their surroundings."""
    options = locals()

    from cpgnn.cli.printing import print_notices, print_run
    from cpgnn.cli.progress import progress_bar
    from cpgnn.io import check_free

    parameters = {"preset": preset, "normalization": normalization, "seed": seed}
    classifier = opt.classifier(prior, layers, epochs=epochs, test=test, **parameters)
    check_free(out)
    opt.use_threads(threads)
    with _spark(master, conf) as spark, progress_bar() as begin:
        from cpgnn import spark as library

        run = library.fit(
            classifier,
            _given(spark, options),
            out,
            unlabelled=unlabelled,
            max_edges=max_edges,
            sample=sample,
            test=test,
            positive=positive,
            refit=refit,
            work=work,
            options={key: str(value) for key, value in options.items() if value is not None},
            begin=begin,
        )
    print_notices(run.graph)
    print_run(run, out)


@app.command("predict")
def predict(
    model: Annotated[Path, typer.Argument(help="A folder written by 'cpgnn fit' or 'spark fit'.")],
    edges: Edges,
    out: Annotated[str, typer.Option(help="Parquet folder to write; must not exist.")],
    features: Features = None,
    labels: Labels = None,
    kinds: Kinds = None,
    relation_column: opt.Relation = None,
    directed: opt.Directed = False,
    directed_types: opt.OneWay = None,
    master: Master = None,
    conf: Conf = None,
    work: Work = None,
) -> None:
    """Predict with a model fitted here or on one machine."""
    options = locals()
    _check_installed()
    from cpgnn.spark.model import Packed

    packed = Packed.read(model)
    with _spark(master, conf) as spark:
        from cpgnn import spark as library
        from cpgnn.spark.writing import check_new

        check_new(spark, out)
        table = library.predict(packed, _given(spark, options), work=work)
        rows = library.write_parquet(table, out)
    print(f"{rows:,} nodes written to {out}")


@contextmanager
def _spark(master: str | None, conf: list[str] | None) -> Iterator[SparkSession]:
    """A session whose errors are messages."""
    _check_installed()
    from cpgnn.spark.errors import spark_errors
    from cpgnn.spark.session import session

    pairs = [item.partition("=") for item in conf or ()]
    for key, equals, value in pairs:
        if not key.startswith("spark.") or not equals:
            got, hint = repr(key + equals + value), "For example: spark.driver.memory=4g."
            raise wrong_value("conf", "be a Spark setting and its value", got, hint)
    with spark_errors(), session(master, {key: value for key, _, value in pairs}) as spark:
        yield spark


def _given(spark: SparkSession, options: dict[str, Any]) -> Given:
    """The tables of a command, from its options by their names."""
    from cpgnn.spark.session import fit_partitions
    from cpgnn.spark.tables import Given

    types = options.get("directed_types")
    given = Given.read(
        spark,
        options["edges"],
        options["labels"],
        options["features"],
        kinds=options["kinds"],
        relation=options["relation_column"] or None,
        directed=types.split(",") if types else bool(options.get("directed")),
    )
    fit_partitions(given.edges)
    return given


def _check_installed() -> None:
    if util.find_spec("pyspark") is None:
        raise CPGNNError("pyspark is not installed. Try pip install 'cpgnn[spark]'.")
