"""Options that several commands share, and what is done with them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from cpgnn.errors import LARGEST_SEED

if TYPE_CHECKING:
    import pandas as pd

    from cpgnn.classifier import CPGNNClassifier
    from cpgnn.io import FeatureColumns, LoadedGraph
    from cpgnn.io.column_choice import ColumnOptions

Edges = Annotated[
    str,
    typer.Argument(
        help="Edges: source, target, perhaps weight, type. CSV, TSV, .gz, Parquet, GraphML, .npz."
    ),
]
Labels = Annotated[str | None, typer.Option(help="Labels: id, label[, split = train|val|test].")]
Features = Annotated[
    list[str] | None,
    typer.Option(help="Features: id, then one numeric column each; or .npz. May be repeated."),
]
Unlabelled = Annotated[
    str | None, typer.Option(help="A label that means unknown; an empty one always does.")
]
StrictIds = Annotated[
    bool, typer.Option("--strict-ids", help="Reject ids that do not occur in the edges.")
]
Impute = Annotated[
    Literal["median"] | None,
    typer.Option(help="Give trees, too, the median where a feature value is missing."),
]
OneHot = Annotated[
    bool, typer.Option("--one-hot", help="Read numbers with words among them as categories.")
]
Source = Annotated[str | None, typer.Option(help="Column of the edges: where each begins.")]
Target = Annotated[str | None, typer.Option(help="Column of the edges: where each ends.")]
Weight = Annotated[str | None, typer.Option(help="Column of the edges: how much each counts.")]
Relation = Annotated[
    str | None,
    typer.Option("--relation-column", help="Column of the edges: what each means ('': none)."),
]
Kind = Annotated[
    str | None,
    typer.Option("--kind-column", help="Column of labels, features: what a node is ('': none)."),
]
SplitTime = Annotated[
    str | None,
    typer.Option(help="Column of edges or labels with times: learn before, test after a moment."),
]
Directed = Annotated[
    bool, typer.Option("--directed", help="Edges lead from source to target; both ways differ.")
]
OneWay = Annotated[
    str | None, typer.Option("--directed-types", help="Only edges of these types do: a,b,c.")
]
Id = Annotated[str | None, typer.Option("--id", help="Column of labels and features: the node.")]
Label = Annotated[str | None, typer.Option(help="Column of the labels: the class.")]
Feature = Annotated[str | None, typer.Option(help="Columns of the features to use: a,b,c.")]
Ignore = Annotated[str | None, typer.Option(help="Columns of the features not to use: a,b,c.")]
Decimal = Annotated[
    Literal[".", ","] | None, typer.Option(help="Decimal sign where numbers could be read twice.")
]
Header = Annotated[
    bool | None,
    typer.Option("--header/--no-header", help="Whether tables have a header; found by default."),
]
MergeRare = Annotated[
    int | None, typer.Option(min=2, help="Merge classes with fewer labels into 'other'.")
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option("--spreadsheet-safe", help="Write cells that look like formulas with a ' before."),
]
Progress = Annotated[
    Literal["auto", "log", "off"],
    typer.Option(help="A bar on terminals only (auto), plain lines anywhere (log), or nothing."),
]
Threads = Annotated[int | None, typer.Option(min=1, max=1024, help="Number of threads.")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed for everything random.")]

Folder = Annotated[Path, typer.Option(help="Folder to write; must be empty or not exist.")]
Run = Annotated[Path, typer.Argument(help="A folder written by 'cpgnn fit'.")]

Preset = Annotated[
    Literal["default", "paper", "authors"], typer.Option(help="Training settings to start from.")
]
Epochs = Annotated[
    int | None, typer.Option(min=1, help="Epochs in total; a fifth of them are pretraining.")
]
Positive = Annotated[
    str | None, typer.Option(help="The class to look for; of two classes, the rarer by default.")
]
Normalization = Annotated[
    Literal["none", "sym", "row"], typer.Option(help="How to scale A for propagation.")
]


NOT_REPEATED = ("out", "progress", "config")
"""Options of a fit that do not shape its result."""


def repeated(context: typer.Context, config: Path | None) -> Path | None:
    """Options of an earlier fit become the defaults of this one."""
    if config is None:
        return None
    from cpgnn.engine.records import read_record
    from cpgnn.errors import must_be
    from cpgnn.run.records import OptionsRecord

    path = config / "config.json" if config.is_dir() else config
    options = read_record(OptionsRecord, path).options
    known = {parameter.name for parameter in context.command.params}
    strange = sorted(set(options) - known)
    if strange or "edges" not in options:
        got = f"{strange[0]!r}" if strange else "none of the edges"
        raise must_be(f"{path}", "hold options of 'cpgnn fit'", got, "Was it written by another?")
    if isinstance(options.get("features"), str):  # as runs were written that knew only one file
        options["features"] = [options["features"]]
    context.default_map = {k: v for k, v in options.items() if k not in NOT_REPEATED}
    return config


def budget(fast: bool, thorough: bool) -> str:
    """What was asked for; not both."""
    from cpgnn.errors import must_be

    if fast and thorough:
        raise must_be("The budget", "be --fast or --thorough", "both")
    return "fast" if fast else "thorough" if thorough else "normal"


def use_threads(threads: int | None) -> None:
    """The number of threads that was asked for; None: what suits each graph."""
    import torch

    from cpgnn.engine import threads as engine

    engine.use_threads(threads)
    torch.set_num_threads(threads or 1)


def columns(
    source: str | None,
    target: str | None,
    weight: str | None,
    node_id: str | None,
    label: str | None = None,
    feature: str | None = None,
    ignore: str | None = None,
    decimal: Literal[".", ","] | None = None,
    header: bool | None = None,
    *,
    relation: str | None = None,
    kind: str | None = None,
    directed: bool | str = False,
    fitted: Mapping[str, Any] | None = None,
) -> ColumnOptions:
    """The options that choose columns, as `read_graph` takes them.

    What is not given is as in the options of an earlier fit, for files that have such columns.
    """
    given = {
        "source": source,
        "target": target,
        "weight": weight,
        "id": node_id,
        "label": label,
        "feature": feature,
        "ignore": ignore,
        "decimal": decimal,
        "relation_column": relation,
        "kind_column": kind,
    }
    before = {"id" if key == "node_id" else key: value for key, value in (fitted or {}).items()}
    if header is None and isinstance(before.get("header"), bool):
        header = before["header"]
    optional = [key for key in given if not given[key] and isinstance(before.get(key), str)]
    given |= {key: before[key] for key in optional}
    lists = {key: (given.pop(key) or "").split(",") for key in ("feature", "ignore")}
    several: dict[str, Any] = {
        key: [name for name in names if name] for key, names in lists.items()
    }
    if not directed:
        optional.append("directed")
        directed = before.get("directed_types") or bool(before.get("directed"))
    several["directed"] = directed.split(",") if isinstance(directed, str) else directed
    return cast("ColumnOptions", {**given, **several, "header": header, "optional": optional})


def without_passwords(
    *, edges: str, labels: str | None, features: Sequence[str] | None
) -> dict[str, Any]:
    """The files as they are written down with a run."""
    from cpgnn.io.address import locate

    one = {"edges": edges, "labels": labels}
    shown: dict[str, Any] = {key: str(locate(path)) for key, path in one.items() if path}
    return shown | ({"features": [str(locate(path)) for path in features]} if features else {})


def load(given: Mapping[str, Any], *, keep_rows: bool | int = False) -> LoadedGraph:
    """The graph of a command that reads one: `given` are all of its options, by their names."""
    names = ("source", "target", "weight", "node_id", "label", "feature", "ignore", "decimal")
    chosen = columns(
        *(given[name] for name in (*names, "header")),
        relation=given["relation_column"],
        kind=given["kind_column"],
        directed=given["directed_types"] or given["directed"],
    )
    if "split_time" in given:
        chosen["split_time"] = given["split_time"]
    plain = ("edges", "labels", "features", "unlabelled", "strict_ids", "impute", "one_hot")
    return read(
        *(given[name] for name in plain),
        keep_rows=keep_rows,
        columns=chosen,
        merge_rare=given["merge_rare"],
    )


def read(
    edges: str,
    labels: str | None = None,
    features: Sequence[str] | None = None,
    unlabelled: str | None = None,
    strict_ids: bool = False,
    impute: Literal["median"] | None = None,
    one_hot: bool = False,
    *,
    keep_rows: bool | int = False,
    merge_rare: int | None = None,
    like: FeatureColumns | None = None,
    known: pd.Index | None = None,
    columns: ColumnOptions | None = None,
) -> LoadedGraph:
    """The user's files as a graph, with a spinner meanwhile and the notices afterwards."""
    from cpgnn.cli.printing import print_notices
    from cpgnn.cli.progress import waiting
    from cpgnn.io import read_graph

    with waiting("reading"):
        loaded = read_graph(
            edges,
            labels,
            features,
            unlabelled=unlabelled,
            strict_ids=strict_ids,
            impute=impute,
            one_hot=one_hot,
            keep_rows=keep_rows,
            merge_rare=merge_rare,
            like=like,
            known=known,
            **(columns or {}),
        )
    print_notices(loaded.graph)
    return loaded


def classifier(
    prior: str, layers: int | None, *, epochs: int | None, test: float, **parameters: Any
) -> CPGNNClassifier:
    """The classifier of a fit, checked before any file is read."""
    from cpgnn.classifier import CPGNNClassifier
    from cpgnn.splits import check_share

    if epochs is not None:
        parameters |= {"pretrain_epochs": epochs // 5, "epochs": epochs - epochs // 5}
    made = CPGNNClassifier(prior, layers, **parameters)
    made.check_params()
    check_share("test", test)
    return made
