"""The folder of a run: written whole or not at all, opened again, and shown as a page."""

from __future__ import annotations

import json
import warnings
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import cpgnn
from cpgnn.classifier import Begin, CPGNNClassifier
from cpgnn.compatibility import compatibility_error, recover_compatibility, sinkhorn_knopp
from cpgnn.errors import InputError, NumericalNotice, must_be
from cpgnn.evaluation.thresholds import Flag, Goal, flagged
from cpgnn.graph import Graph
from cpgnn.homophily import compatibility_matrix
from cpgnn.io import (
    FeatureColumns,
    LoadedGraph,
    atomic_folder,
    atomic_write,
    check_free,
    read_graph_npz,
    write_graph,
    write_table,
)
from cpgnn.report.contents import Contents, gather
from cpgnn.report.page import render
from cpgnn.run.fit import Run, train_run
from cpgnn.splits import Split

CONFIG, GRAPH, MODEL = "config.json", "graph.npz", "model"
PREDICTIONS = "predictions.parquet"
METRICS, HISTORY, REPORT = "metrics.json", "history.csv", "report.html"


def fit_run(
    loaded: LoadedGraph,
    classifier: CPGNNClassifier,
    out: Path | str,
    *,
    test: float = 0.2,
    positive: str | None = None,
    goal: Goal | None = None,
    refit: bool = False,
    options: dict[str, Any] | None = None,
    begin: Begin | None = None,
) -> Run:
    """Fits, evaluates on held-out labels and writes the folder `out`, whole or not at all.

    With a `goal`, nodes are flagged as `positive` from a threshold on that the validation nodes
    choose. With `refit`, the epochs that validation chose are repeated on all labels, for the
    predictions only: the scores stay those of the model that did not see the test labels.
    """
    check_free(out)
    run = train_run(
        loaded, classifier, test=test, positive=positive, goal=goal, refit=refit, begin=begin
    )
    write_run(run, out, options or {})
    return run


def load_run(folder: Path | str) -> Run:
    """Opens what `fit_run` wrote; scores are read from metrics.json by whoever wants them.

    A run of a part of a larger graph (`cpgnn spark fit`) has no graph: predicting needs one.
    """
    folder = Path(folder)
    if not (folder / CONFIG).is_file():
        got = "one without config.json" if folder.is_dir() else "no folder"
        raise must_be(f"{folder}", "be a folder that 'cpgnn fit' wrote", got)
    try:
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        written = str(config["cpgnn_version"])
    except (ValueError, KeyError, TypeError):
        raise _not_a_config(folder) from None
    try:
        return _opened(folder, config)
    except InputError as error:
        if written == cpgnn.__version__:
            raise
        raise InputError(
            f"{error} The run is from cpgnn {written}, and this is {cpgnn.__version__}."
        ) from None


def _not_a_config(folder: Path) -> InputError:
    return InputError(
        f"{folder / CONFIG} must be the JSON that 'cpgnn fit' writes. Got something else. "
        "Fit again."
    )


def _opened(folder: Path, config: dict[str, Any]) -> Run:
    try:
        positive, refit = config["positive"], bool(config["refit"])
        kept = config.get("features")
        columns = None if kept is None else FeatureColumns.from_dict(kept)
        kept_flag = config.get("flag")
        flag = None if kept_flag is None else Flag(str(kept_flag[0]), float(kept_flag[1]))
    except (ValueError, LookupError, TypeError):
        raise _not_a_config(folder) from None
    graph = read_graph_npz(folder / GRAPH) if (folder / GRAPH).exists() else None
    classifier = CPGNNClassifier.load(folder / MODEL, graph)
    split = classifier.split_
    if refit and graph is not None:
        split = _written_split(folder, graph)
    return Run(classifier, split, None, positive, refit, columns=columns, flag=flag)


def _written_split(folder: Path, graph: Graph) -> Split:
    """How the measured model used the labels; the refitted one has trained on all of them."""
    path = folder / PREDICTIONS
    try:
        part = pd.read_parquet(path, columns=["split"])["split"].to_numpy()
    except (OSError, ValueError, KeyError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise must_be(str(path), "be the table that 'cpgnn fit' writes", reason) from None
    if len(part) != graph.num_nodes:
        raise must_be(str(path), f"have {graph.num_nodes:,} rows", f"{len(part):,}")
    return Split.from_masks(*(part == name for name in ("train", "val", "test")))


def write_report(folder: Path | str, out: Path | str | None = None) -> Path:
    """Writes the report on a run (again): one HTML page, report.html in its folder unless named."""
    folder = Path(folder)
    run = load_run(folder)
    if not (folder / GRAPH).exists():
        hint = "A run of 'cpgnn spark fit' has no report."
        raise must_be(f"{folder}", "hold the graph it was fitted on", f"no {GRAPH}", hint)
    out = folder / REPORT if out is None else Path(out)
    _write_page(gather(run.classifier, *_records(folder), folder.resolve().name), out)
    return out


def report_run(run: Run, out: Path | str, name: str) -> None:
    """Writes the report on a run that was just trained; `name` is what the page calls it."""
    metrics = json.loads(_json(summary(run)))
    epochs = history(run.measured or run.classifier)
    _write_page(gather(run.classifier, metrics, epochs, name), Path(out))


def _write_page(contents: Contents, out: Path) -> None:
    page = render(contents)
    with atomic_write(out) as file:
        file.write(page.encode("utf-8"))


def _records(folder: Path) -> tuple[dict[str, Any], pd.DataFrame]:
    """metrics.json and history.csv of a run."""
    try:
        metrics = dict(json.loads((folder / METRICS).read_text(encoding="utf-8")))
        epochs = pd.read_csv(folder / HISTORY)
        missing = {"model", "num_layers", "labelled", "kept_epoch", "test"} - metrics.keys()
    except (OSError, ValueError, TypeError):
        missing = {"all that they say"}
    if missing:
        raise InputError(
            f"{folder} must hold {METRICS} and {HISTORY} as 'cpgnn fit' writes them. Got ones "
            f"without {', '.join(sorted(missing))}. Fit again."
        )
    return metrics, epochs


def predictions(
    classifier: CPGNNClassifier, graph: Graph | None = None, split: Split | None = None
) -> pd.DataFrame:
    """One row a node: id, class, label, split, and `p_<class>` for every class.

    Labels and `split` are those of the fit; in another graph, of the nodes that it shares.
    """
    P = classifier.predict_proba(graph)
    fitted: Graph | None = getattr(classifier, "graph_", None)
    names = np.array([str(name) for name in classifier.classes_], dtype=object)
    shown = graph or classifier.graph_
    label = part = np.full(shown.num_nodes, "", dtype=object)
    if fitted is not None:
        at = np.arange(fitted.num_nodes)
        if graph is not None:  # -1, the empty last entry: a new node
            at = fitted.node_ids.astype(str).get_indexer(graph.node_ids.astype(str))
        label, part = (column[at] for column in _labels_and_parts(fitted, split))
    table = {
        "id": shown.node_ids.astype(str),
        "class": names[P.argmax(axis=1)],
        "label": label,
        "split": part,
    }
    table |= {f"p_{name}": P[:, i] for i, name in enumerate(names)}
    return pd.DataFrame(table)


def _labels_and_parts(graph: Graph, split: Split | None) -> tuple[np.ndarray, np.ndarray]:
    """The label and the part of the split of every node, as text, and an empty entry behind."""
    part = np.full(graph.num_nodes + 1, "", dtype=object)
    if split is not None:
        part[split.train], part[split.val], part[split.test] = "train", "val", "test"
    own = np.array([str(name) for name in graph.class_names] + [""], dtype=object)
    return np.append(own[graph.labels], ""), part


def review_list(table: pd.DataFrame, positive: str) -> pd.DataFrame:
    """The nodes without a label, most probably `positive` first: where to look next."""
    unlabelled = table[table["label"] == ""]
    ranked = unlabelled.sort_values([f"p_{positive}", "id"], ascending=[False, True])
    columns = ["rank", "id", "class", "flagged", f"p_{positive}"]
    ranked = ranked.assign(rank=np.arange(1, len(ranked) + 1))
    return ranked[[column for column in columns if column in ranked]]


def matrix_table(matrix: np.ndarray, class_names: list[str]) -> pd.DataFrame:
    """A class matrix with the names of its rows in the first column."""
    frame = pd.DataFrame(matrix, columns=class_names)
    frame.insert(0, "class", class_names)
    return frame


def write_run(
    run: Run, out: Path | str, options: dict[str, Any], *, with_graph: bool = True
) -> None:
    """Writes the folder `out`, whole or not at all; the graph and its predictions if wanted."""
    with atomic_folder(out) as partial:
        _write(run, partial, options)
        if with_graph:
            _write_graph(run, partial)
            report_run(run, partial / REPORT, Path(out).resolve().name)


def _write_graph(run: Run, folder: Path) -> None:
    table = predictions(run.classifier, split=run.split)
    if run.flag is not None:
        table = flagged(table, run.flag)
    write_table(folder / "predictions.csv", table)
    write_table(folder / PREDICTIONS, table)
    if run.positive is not None:
        name = str(run.classifier.classes_[run.positive])
        write_table(folder / "review.csv", review_list(table, name))
    write_graph(folder / GRAPH, replace(run.graph, notices=()))


def _write(run: Run, folder: Path, options: dict[str, Any]) -> None:
    classifier = run.classifier
    names = [str(name) for name in classifier.classes_]
    write_table(folder / "compatibility.csv", matrix_table(classifier.compatibility_, names))
    write_table(folder / "edge_frequency.csv", matrix_table(classifier.edge_frequency_, names))
    intervals = classifier.edge_frequency_interval_.table(names)
    write_table(folder / "edge_frequency_intervals.csv", intervals)
    write_table(folder / HISTORY, history(run.measured or classifier))
    (folder / METRICS).write_text(_json(summary(run)), encoding="utf-8")
    config = {
        "cpgnn_version": cpgnn.__version__,
        "options": options,
        "positive": run.positive,
        "refit": run.refitted,
        "flag": None if run.flag is None else [run.flag.class_name, run.flag.value],
        "architecture": asdict(classifier.architecture_) if classifier.architecture_ else None,
        "settings": asdict(classifier.settings_),
        "features": None if run.columns is None else run.columns.as_dict(),
        "notices": list(run.graph.notices),
    }
    (folder / CONFIG).write_text(_json(config), encoding="utf-8")
    classifier.save(folder / MODEL)


def history(classifier: CPGNNClassifier) -> pd.DataFrame:
    """One row an epoch; where all labels are known, also how far the learned matrix then was.

    `compatibility_error` is the mean distance per cell of Ĥ from the true H, both doubly
    stochastic. The truth is looked at here, after training, and chooses nothing.
    """
    table, graph = classifier.history_, classifier.graph_
    if (graph.labels < 0).any() or not classifier.H_bars_:
        return table
    with warnings.catch_warnings():  # a slow Sinkhorn is a matter for the kept matrix alone
        warnings.simplefilter("ignore", NumericalNotice)
        true = sinkhorn_knopp(np.nan_to_num(compatibility_matrix(graph))).matrix
        errors = {
            epoch: compatibility_error(recover_compatibility(H_bar), true)
            for epoch, H_bar in classifier.H_bars_.items()
        }
    second = table["phase"] == 2
    return table.assign(compatibility_error=table["epoch"].where(second).map(errors))


def summary(run: Run) -> dict[str, Any]:
    """What metrics.json holds."""
    classifier = run.measured or run.classifier
    kept = classifier.kept_
    trained = run.classifier.num_layers_ > 0
    return {
        "model": str(classifier.architecture_),
        "num_layers": classifier.num_layers_,
        "compatibility": "learned" if trained else "initial estimate, not trained",
        "nodes": run.graph.num_nodes,
        "edges": run.graph.num_edges,
        "labelled": {
            "train": len(run.split.train),
            "val": len(run.split.val),
            "test": len(run.split.test),
        },
        "kept_epoch": None if kept is None else asdict(kept),
        "self_trained": classifier.self_trained_,
        "trials": [
            {key: _finite(value) for key, value in row.items()}
            for row in classifier.trials_.to_dict("records")
        ],
        "test": None if run.evaluation is None else run.evaluation.as_dict(),
        "without_graph": None if run.without_graph is None else run.without_graph.as_dict(),
        "edge_frequency": classifier.edge_frequency_interval_.as_dict(),
        "calibration": None if run.calibration is None else run.calibration.as_dict(),
        "flag": None if run.flag is None else run.flag.as_dict(),
    }


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not np.isfinite(value) else value


def _json(value: Any) -> str:
    def plain(item: Any) -> Any:
        return item.item() if isinstance(item, np.generic) else str(item)

    return json.dumps(value, indent=2, ensure_ascii=False, default=plain) + "\n"
