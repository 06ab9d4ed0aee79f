"""Opening the folder of a run; files that do not fit each other are refused by name."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import cpgnn
from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.loop import Epoch
from cpgnn.engine.records import damaged, plain, read_record
from cpgnn.engine.saving import MODEL_FILES
from cpgnn.engine.text import first_line
from cpgnn.errors import InputError, tidy
from cpgnn.evaluation.thresholds import Flag
from cpgnn.graph import Graph
from cpgnn.io import FeatureColumns, read_graph_npz, read_table
from cpgnn.io.address import Place
from cpgnn.io.columns_of_kinds import with_kinds
from cpgnn.io.names import check_graph_names, check_names
from cpgnn.io.presence import CONFIG, check_run_folder
from cpgnn.run.manifest import check_unchanged
from cpgnn.run.records import ConfigRecord, MetricsRecord, SecondsRecord, VersionRecord
from cpgnn.run.run import Run
from cpgnn.selection.fitting import TRIAL_COLUMNS
from cpgnn.splits import PARTS, Split

GRAPH, MODEL = "graph.npz", "model"
PREDICTIONS = "predictions.parquet"
METRICS, HISTORY = "metrics.json", "history.csv"
SECONDS = "seconds.json"
"""What trials cost: apart from what is the same whenever a run is repeated."""


def load_run(folder: Path | str) -> Run:
    """Opens what `fit_run` wrote; files that do not fit each other are refused by name.

    A run on a part of a larger graph (`cpgnn spark fit`) has no graph: predicting needs one.
    """
    folder = Path(folder)
    check_run_folder(folder)
    written = read_record(VersionRecord, folder / CONFIG).cpgnn_version
    try:
        return _opened(folder)
    except InputError as error:
        if written == cpgnn.__version__:
            raise
        raise InputError(
            f"{error} The run is from cpgnn {tidy(written)}, and this is {cpgnn.__version__}."
        ) from None


def _opened(folder: Path) -> Run:
    config = read_record(ConfigRecord, folder / CONFIG)
    columns = None if config.features is None else config.features.made()
    graph = None
    if (folder / GRAPH).exists():
        graph = read_graph_npz(folder / GRAPH)
        check_graph_names(graph, folder / GRAPH)
    classifier = CPGNNClassifier.load(folder / MODEL, graph)
    metrics = read_record(MetricsRecord, folder / METRICS)
    split = classifier.split_
    if config.refit and graph is not None:
        split = _written_split(folder / PREDICTIONS, graph)
    check_names("A class name", [str(name) for name in classifier.classes_], folder / MODEL)
    for misfit, name, what in _misfits(folder, config, metrics, classifier, split):
        if misfit:
            raise damaged(folder / name, what)
    read = [CONFIG, METRICS, HISTORY, *(f"{MODEL}/{name}" for name in MODEL_FILES)]
    if graph is not None:
        read += [GRAPH, PREDICTIONS] if config.refit else [GRAPH]
    check_unchanged(folder, read)
    for name, entry, told, own in _told_twice(config, columns, metrics, classifier):
        if told is not None and plain(told) != plain(own):
            raise damaged(folder / name, f"{entry}: {folder / MODEL} says something else")
    kept, test, calibration = metrics.kept_epoch, metrics.test, metrics.calibration
    flag = None if config.flag is None else Flag(*config.flag)
    return Run(
        classifier=classifier,
        split=split,
        positive=config.positive,
        refitted=config.refit,
        model=metrics.model,
        kept=Epoch(**dict(kept)) if kept else None,
        trials=_read_trials(folder, metrics),
        history=_read_history(folder / HISTORY),
        evaluation=test.made() if test else None,
        known_only=metrics.test_known_only.made() if metrics.test_known_only else None,
        without_graph=metrics.without_graph,
        calibration=calibration.made() if calibration else None,
        flag=metrics.flag.made() if metrics.flag else flag,
        promise=metrics.sets,
        edge_findings=metrics.edge_findings,
        columns=with_kinds(columns, graph) if columns and graph is not None else columns,
        headers=config.headers,
        options=config.options,
        measured=None if config.refit else classifier,
    )


def _misfits(
    folder: Path,
    config: ConfigRecord,
    metrics: MetricsRecord,
    classifier: CPGNNClassifier,
    split: Split,
) -> Iterator[tuple[bool, str, str]]:
    """Whether a file speaks of another graph or other classes; which file, and what it says."""
    graph: Graph | None = getattr(classifier, "graph_", None)
    names, flag, sets = [str(name) for name in classifier.classes_], metrics.flag, metrics.sets
    c, other = len(names), f"{folder / CONFIG} says something else"
    yield len(set(names)) < c, MODEL, "two classes have the same name"
    named = None if config.positive is None else names[config.positive : config.positive + 1]
    yield named == [], CONFIG, f"positive: there are only {c} classes"
    if config.flag is not None:
        asked = config.flag[0]
        yield asked not in names, CONFIG, f"flag: there is no class {asked[:40]!r}"
    if graph is not None:
        theirs = [str(name) for name in graph.class_names]
        yield theirs != names, GRAPH, f"its classes are not those of {folder / MODEL}"
    if flag is not None:
        unknown, own = flag.class_name not in names, (flag.class_name, flag.value)
        yield unknown, METRICS, f"flag: there is no class {flag.class_name[:40]!r}"
        yield config.flag not in (None, own), METRICS, f"flag: {other}"
    for test in (metrics.test, metrics.test_known_only):
        if test is not None:
            classes = "test.per_class: its classes are not those of the model"
            yield list(test.per_class) != names, METRICS, classes
            allowed = (None, *(named or names[:1]))
            yield test.positive not in allowed, METRICS, f"test.positive: {other}"
    if sets is not None:
        fits = len(sets.thresholds) == len(sets.nodes) == c >= (sets.mean_size or 0)
        yield not fits, METRICS, f"sets: they should be of {c} classes"
    if graph is None:
        return
    n, m = graph.num_nodes, graph.num_edges
    differs = (metrics.nodes, metrics.edges) != (n, m)
    yield differs, METRICS, f"nodes, edges: the graph has {n} and {m}"
    parts = {part: getattr(split, part) for part in PARTS}
    sizes = {part: len(nodes) for part, nodes in parts.items()}
    yield metrics.labelled != sizes, METRICS, "labelled: the split has other numbers of nodes"
    unlabelled = any((graph.labels[nodes] < 0).any() for nodes in parts.values())
    yield unlabelled, GRAPH, "a node of the split has no label"


def _told_twice(
    config: ConfigRecord,
    columns: FeatureColumns | None,
    metrics: MetricsRecord,
    fitted: CPGNNClassifier,
) -> Iterator[tuple[str, str, Any, Any]]:
    """File, entry, and what it and the model say of the same thing; None: not told."""
    found, calibration = fitted.edge_frequency_interval_, metrics.calibration
    yield CONFIG, "settings", config.settings, fitted.settings_
    yield CONFIG, "architecture", config.architecture, fitted.architecture_
    yield CONFIG, "features", columns and columns.matrix_names, fitted.feature_names_in_
    yield METRICS, "num_layers", metrics.num_layers, fitted.num_layers_
    yield METRICS, "self_trained", metrics.self_trained, fitted.self_trained_
    if not config.refit:  # what is measured is not the model that was kept
        yield METRICS, "kept_epoch", metrics.kept_epoch, fitted.kept_
    told = calibration and [calibration.temperature, calibration.contrast]
    yield METRICS, "calibration", told, list(fitted.scaling_)
    yield METRICS, "edge_frequency", metrics.edge_frequency, found.as_dict()


def _read_trials(folder: Path, metrics: MetricsRecord) -> pd.DataFrame:
    trials = pd.DataFrame([dict(trial) for trial in metrics.trials], columns=TRIAL_COLUMNS)
    if (folder / SECONDS).is_file():
        cost = read_record(SecondsRecord, folder / SECONDS).trials
        if len(cost) != len(trials):
            raise damaged(folder / SECONDS, f"trials: {METRICS} has {len(trials)} of them")
        trials["cpu_seconds"] = cost
    return trials


def _written_split(path: Path, graph: Graph) -> Split:
    """How the measured model used the labels; the refitted one was trained on all of them."""
    try:
        part = read_table(path, pick=_split_column).table.column(0).to_numpy()
    except InputError as error:
        raise damaged(path, first_line(error)) from None
    rows = np.flatnonzero(graph.predicted)  # of several kinds of nodes, only one is predicted
    if len(part) != len(rows):
        raise damaged(path, f"it has {len(part):,} rows for {len(rows):,} nodes")
    return Split(*(rows[part == name] for name in PARTS))


def _split_column(path: Place, header: tuple[str, ...] | None, width: int) -> list[int]:
    if header is None or "split" not in header:
        raise InputError("it has no column 'split'")
    return [header.index("split")]


def _read_history(path: Path) -> pd.DataFrame:
    wanted = [field.name for field in fields(Epoch)]
    if path.is_file() and path.stat().st_size <= 2:  # no epoch was asked for
        return pd.DataFrame(columns=wanted)
    file = read_table(path, ids=(), numbers=True, header=True)
    names = list(file.header or ())
    if names not in (wanted, [*wanted, "compatibility_error"]):
        raise damaged(path, f"its columns should be {', '.join(wanted)}")
    table = file.table.rename_columns(names).to_pandas()
    if any(kind.kind != "f" for kind in table.dtypes) or np.isinf(table.to_numpy()).any():
        raise damaged(path, "every cell should be a finite number, or empty")
    counts = table[["phase", "epoch"]]
    if not ((counts >= 0) & (counts < 2**53) & (counts % 1 == 0)).all(axis=None):
        raise damaged(path, "phase and epoch should be counts")
    return table.astype({"phase": "int64", "epoch": "int64"})
