"""Options that several commands share, and what is done with them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer

from cpgnn.errors import LARGEST_SEED, InputError, check_share, must_be
from cpgnn.io.address import locate
from cpgnn.io.presence import (
    TABLES,
    check_ending,
    check_files,
    check_run_folder,
    check_spares,
)

if TYPE_CHECKING:
    from cpgnn.classifier import CPGNNClassifier
    from cpgnn.io import LoadedGraph
    from cpgnn.io.column_choice import ColumnOptions
    from cpgnn.run import run as run_module

Edges = Annotated[
    str,
    typer.Argument(
        help="Edges: source, target, perhaps weight, type. CSV, TSV, .gz, Excel, Parquet, SQL, "
        "GraphML, .npz."
    ),
]
Labels = Annotated[str | None, typer.Option(help="Labels: id, label[, split = train|val|test].")]
Features = Annotated[
    list[str] | None,
    typer.Option(help="Features: id, then numbers, dates or text; or .npz. May be repeated."),
]
Unlabelled = Annotated[
    str | None, typer.Option(help="A label that means unknown; an empty one always does.")
]
Relation = Annotated[
    str | None,
    typer.Option("--relation-column", help="Column of the edge file: the type of edge ('': none)."),
]
SplitTime = Annotated[
    str | None,
    typer.Option(help="Column of edges or labels with times: train before, test after a moment."),
]
Directed = Annotated[
    bool | None,
    typer.Option("--directed/--undirected", help="Whether edges lead from source to target only."),
]
OneWay = Annotated[
    str | None,
    typer.Option("--directed-types", help="Treat only these types of edges as directed."),
]
SpreadsheetSafe = Annotated[
    bool, typer.Option("--spreadsheet-safe", help="Put a ' before cells that look like formulas.")
]
Progress = Annotated[
    Literal["auto", "log", "off"],
    typer.Option(help="Show a bar on terminals (auto), log lines (log), or nothing (off)."),
]
Threads = Annotated[int | None, typer.Option(min=1, max=1024, help="Number of threads.")]
Seed = Annotated[int, typer.Option(min=0, max=LARGEST_SEED, help="Seed for everything random.")]


@dataclass(frozen=True)
class Found:
    """How a command finds and reads the columns of its tables."""

    strict_ids: Annotated[
        bool, typer.Option("--strict-ids", help="Reject ids that do not occur in the edges.")
    ] = False
    source: Annotated[
        str | None, typer.Option(help="Column of the edge file: the source node.")
    ] = None
    target: Annotated[
        str | None, typer.Option(help="Column of the edge file: the target node.")
    ] = None
    weight: Annotated[str | None, typer.Option(help="Column of the edge file: the weight.")] = None
    node_id: Annotated[
        str | None, typer.Option("--id", help="Column of labels and features: the node id.")
    ] = None
    feature: Annotated[str | None, typer.Option(help="Feature columns to use: a,b,c.")] = None
    ignore: Annotated[str | None, typer.Option(help="Feature columns to leave out: a,b,c.")] = None
    decimal: Annotated[
        Literal[".", ","] | None,
        typer.Option(help="Decimal sign, if numbers can be read in two ways."),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Whether tables have a header; detected by default."
        ),
    ] = None
    encoding: Annotated[
        str | None, typer.Option(help="Encoding of tables that are not UTF-8, such as cp1250.")
    ] = None


@dataclass(frozen=True)
class Tables(Found):
    """The same for a command that reads a graph with its labels."""

    unlabelled: Unlabelled = None
    merge_rare: Annotated[
        int | None,
        typer.Option(
            min=2, max=10**9, help="Merge classes with fewer labels than this into 'other'."
        ),
    ] = None
    impute: Annotated[
        Literal["median"] | None,
        typer.Option(help="Fill missing feature values with the median, for trees too."),
    ] = None
    one_hot: Annotated[
        bool, typer.Option("--one-hot", help="Read numbers with words among them as categories.")
    ] = False
    relation_column: Relation = None
    kind_column: Annotated[
        str | None,
        typer.Option(
            "--kind-column", help="Column of labels, features: the kind of node ('': none)."
        ),
    ] = None
    directed: Directed = None
    directed_types: OneWay = None
    label: Annotated[str | None, typer.Option(help="Column of the label file: the class.")] = None


def reads_tables(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every option of `Tables`, or of `Found`, in place of its parameter `tables`.

    That the files are there is checked before anything slow is imported.
    """
    own = inspect.signature(command, eval_str=True).parameters
    kind = own["tables"].annotation
    shared = inspect.signature(kind, eval_str=True).parameters

    @wraps(command)
    def with_options(**given: Any) -> None:
        check_files(given["edges"], given.get("labels"), *(given["features"] or ()))
        tables = kind(**{name: given.pop(name) for name in shared})
        command(**given, tables=tables)

    parameters = [
        parameter
        for name, one in own.items()
        for parameter in (shared.values() if name == "tables" else [one])
    ]
    with_options.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in parameters}
    return with_options


def by_name(given: dict[str, Any]) -> dict[str, Any]:
    """All options of a command that reads tables, from its `locals()`."""
    return given | vars(given.pop("tables"))


Folder = Annotated[Path, typer.Option(help="Folder to write; must be empty or not exist.")]
Run = Annotated[Path, typer.Argument(help="A folder written by 'cpgnn fit'.")]

Preset = Annotated[
    Literal["default", "paper", "authors"], typer.Option(help="Training settings to start from.")
]
Epochs = Annotated[
    int | None,
    typer.Option(min=1, max=10**9, help="Epochs in total; a fifth of them are pretraining."),
]
Positive = Annotated[
    str | None, typer.Option(help="The class to look for; of two, the rarer one by default.")
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
    from cpgnn.run.records import OptionsRecord

    path = config / "config.json" if config.is_dir() else config
    options = read_record(OptionsRecord, path).options
    known = {parameter.name for parameter in context.command.params}
    strange = sorted(set(options) - known)
    if strange or "edges" not in options:
        got = f"{strange[0]!r}" if strange else "no edges"
        hint = "Was it written by another command?"
        raise must_be(f"{path}", "hold options of 'cpgnn fit'", got, hint)
    if isinstance(options.get("features"), str):  # as runs were written that knew only one file
        options["features"] = [options["features"]]
    context.default_map = {k: v for k, v in options.items() if k not in NOT_REPEATED}
    return config


def budget(fast: bool, thorough: bool) -> str:
    """The budget that was asked for; asking for two is an error."""
    if fast and thorough:
        raise InputError("Choose --fast or --thorough, not both.")
    return "fast" if fast else "thorough" if thorough else "normal"


def use_threads(threads: int | None) -> None:
    """The number of threads that was asked for; None: what suits each graph."""
    import torch

    from cpgnn.engine import threads as engine

    engine.use_threads(threads)
    torch.set_num_threads(threads or 1)


COLUMNS = (
    *("source", "target", "weight", "node_id", "label", "feature", "ignore", "decimal"),
    *("encoding", "relation_column", "kind_column"),
)


def columns(given: Mapping[str, Any], fitted: Mapping[str, Any] | None = None) -> ColumnOptions:
    """The options of a command that choose columns, as `read_graph` takes them.

    What is not given is as in the options of an earlier fit, for files that have such columns.
    """
    before = fitted or {}
    optional = [key for key in COLUMNS if not given.get(key) and isinstance(before.get(key), str)]
    chosen = {key: (before if key in optional else given).get(key) for key in COLUMNS}
    for key in ("feature", "ignore"):
        chosen[key] = [name for name in (chosen[key] or "").split(",") if name]
    header, directed = given.get("header"), given.get("directed_types") or given.get("directed")
    if header is None and isinstance(before.get("header"), bool):
        header = before["header"]
    if directed is None and fitted is not None:
        optional.append("directed")
        directed = before.get("directed_types") or bool(before.get("directed"))
    chosen["directed"] = directed.split(",") if isinstance(directed, str) else directed
    chosen["id"], optional = chosen.pop("node_id"), [key.removeprefix("node_") for key in optional]
    chosen |= {"header": header, "optional": optional, "split_time": given.get("split_time")}
    return cast("ColumnOptions", chosen)


def without_passwords(
    *, edges: str, labels: str | None, features: Sequence[str] | None
) -> dict[str, Any]:
    """The files as they are recorded with a run."""
    one = {"edges": edges, "labels": labels}
    shown: dict[str, Any] = {key: str(locate(path)) for key, path in one.items() if path}
    return shown | ({"features": [str(locate(path)) for path in features]} if features else {})


def load(
    given: Mapping[str, Any], fitted: Mapping[str, Any] | None = None, **how: Any
) -> LoadedGraph:
    """The graph of a command, with a spinner meanwhile and the notices afterwards.

    `given` are the options of the command, by their names, `fitted` those of the fit before it;
    `how` are more arguments of `read_graph`.
    """
    from cpgnn.cli.printing import print_notices
    from cpgnn.cli.progress import waiting
    from cpgnn.io import read_graph

    files = given["edges"], given.get("labels"), given.get("features")
    plain = ("unlabelled", "strict_ids", "impute", "one_hot", "merge_rare")
    how |= {name: given[name] for name in plain if name in given}
    with waiting("reading"):
        loaded = read_graph(*files, **how, **columns(given, fitted))
    print_notices(loaded.graph)
    return loaded


def fitted_runs(
    *runs: Path, out: Path | None = None, threads: int | None = None
) -> list[run_module.Run]:
    """Fitted runs; they and the table to write are checked before anything slow is imported."""
    for run in runs:
        check_run_folder(run)
    if out is not None:
        check_ending(out, *TABLES)
        check_spares("out", out, *runs)

    from cpgnn.cli.progress import waiting
    from cpgnn.run.load import load_run

    use_threads(threads)
    with waiting("reading the run"):
        return [load_run(run) for run in runs]


def classifier(
    prior: str, layers: int | None, *, epochs: int | None, test: float, **parameters: Any
) -> CPGNNClassifier:
    """The classifier of a fit, checked before any file is read."""
    from cpgnn.classifier import CPGNNClassifier

    if epochs is not None:
        parameters |= {"pretrain_epochs": epochs // 5, "epochs": epochs - epochs // 5}
    made = CPGNNClassifier(prior, layers, **parameters)
    made.check_params()
    check_share("test", test)
    return made
