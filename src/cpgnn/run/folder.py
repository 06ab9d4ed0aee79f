"""The folder of a run: written whole or not at all, opened again, and shown as a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import cpgnn
from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.loop import Begin, Epoch
from cpgnn.engine.records import damaged, json_text, plain, read_record, reason
from cpgnn.engine.saving import MODEL_FILES
from cpgnn.engine.text import first_line
from cpgnn.errors import InputError, must_be, tidy
from cpgnn.evaluation.conformal import Per
from cpgnn.evaluation.relation_frequencies import relation_table
from cpgnn.evaluation.thresholds import Flag, Goal
from cpgnn.graph import Graph
from cpgnn.io import (
    FeatureColumns,
    LoadedGraph,
    atomic_folder,
    atomic_write,
    check_free,
    read_graph_npz,
    read_table,
    write_graph,
    write_table,
)
from cpgnn.io.address import Place
from cpgnn.io.names import check_graph_names, check_names
from cpgnn.io.presence import CONFIG, check_run_folder
from cpgnn.report.contents import gather
from cpgnn.report.page import render
from cpgnn.run.fit import train_run
from cpgnn.run.manifest import check_unchanged, write_manifest
from cpgnn.run.predictions import matrix_table, review_list, run_predictions
from cpgnn.run.records import ConfigRecord, MetricsRecord, SecondsRecord, VersionRecord
from cpgnn.run.run import Run
from cpgnn.selection.fitting import TRIAL_COLUMNS
from cpgnn.splits import PARTS, Split

GRAPH, MODEL = "graph.npz", "model"
PREDICTIONS = "predictions.parquet"
METRICS, HISTORY, REPORT = "metrics.json", "history.csv", "report.html"
SECONDS = "seconds.json"
"""What trials cost: apart from what is the same whenever a run is repeated."""


def fit_run(
    loaded: LoadedGraph,
    classifier: CPGNNClassifier,
    out: Path | str,
    *,
    test: float = 0.2,
    positive: str | None = None,
    goal: Goal | None = None,
    coverage: float | None = None,
    coverage_per: Per = "all",
    refit: bool = False,
    options: dict[str, Any] | None = None,
    begin: Begin | None = None,
    spreadsheet_safe: bool = False,
) -> Run:
    """Fits, evaluates on held-out labels and writes the folder `out`, whole or not at all.

    With a `goal`, nodes above a threshold chosen on the validation nodes are flagged as `positive`.
    With a `coverage`, every node gets the set of classes that holds its own in that share of cases,
    of all nodes or (`coverage_per="class"`) of the nodes of each class.
    With `refit`, the epochs that validation chose are repeated on all labels, for the predictions
    only: the scores stay those of the model that did not see the test labels. `spreadsheet_safe`
    as in `write_table`, for the `.csv` files of the folder.
    """
    check_free(out)
    check_graph_names(loaded.graph)
    run = train_run(
        loaded,
        classifier,
        test=test,
        positive=positive,
        goal=goal,
        coverage=coverage,
        coverage_per=coverage_per,
        refit=refit,
        begin=begin,
    )
    run = replace(run, options=options or {})
    write_run(run, out, spreadsheet_safe=spreadsheet_safe)
    return run


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
    try:
        columns = None if config.features is None else FeatureColumns.from_dict(config.features)
    except (ValueError, LookupError, TypeError, ArithmeticError) as error:
        raise damaged(folder / CONFIG, reason(("features",), str(error))) from None
    graph = None
    if (folder / GRAPH).exists():
        graph = read_graph_npz(folder / GRAPH)
        check_graph_names(graph, folder / GRAPH)
    classifier = CPGNNClassifier.load(folder / MODEL, graph)
    metrics = read_record(MetricsRecord, folder / METRICS)
    split = classifier.split_
    if config.refit and graph is not None:
        split = _written_split(folder / PREDICTIONS, graph)
    _check_fit(folder, config, metrics, classifier, split)
    read = [CONFIG, METRICS, HISTORY, *(f"{MODEL}/{name}" for name in MODEL_FILES)]
    if graph is not None:
        read += [GRAPH, PREDICTIONS] if config.refit else [GRAPH]
    check_unchanged(folder, read)
    for name, entry, told, own in _told_twice(config, columns, metrics, classifier):
        if told is not None and plain(told) != plain(own):
            raise damaged(folder / name, f"{entry}: {folder / MODEL} says something else")
    kept, test, calibration = metrics.kept_epoch, metrics.test, metrics.calibration
    trials = pd.DataFrame([dict(trial) for trial in metrics.trials], columns=TRIAL_COLUMNS)
    if (folder / SECONDS).is_file():
        cost = read_record(SecondsRecord, folder / SECONDS).trials
        if len(cost) != len(trials):
            raise damaged(folder / SECONDS, f"trials: {METRICS} has {len(trials)} of them")
        trials["cpu_seconds"] = cost
    flag = None if config.flag is None else Flag(*config.flag)
    return Run(
        classifier=classifier,
        split=split,
        positive=config.positive,
        refitted=config.refit,
        model=metrics.model,
        kept=Epoch(**dict(kept)) if kept else None,
        trials=trials,
        history=_read_history(folder / HISTORY),
        evaluation=test.made() if test else None,
        known_only=metrics.test_known_only.made() if metrics.test_known_only else None,
        without_graph=metrics.without_graph,
        calibration=calibration.made() if calibration else None,
        flag=metrics.flag.made() if metrics.flag else flag,
        promise=metrics.sets,
        edge_findings=metrics.edge_findings,
        columns=columns,
        options=config.options,
        measured=None if config.refit else classifier,
    )


def _check_fit(
    folder: Path,
    config: ConfigRecord,
    metrics: MetricsRecord,
    classifier: CPGNNClassifier,
    split: Split,
) -> None:
    """The files speak of the same graph and the same classes."""
    graph: Graph | None = getattr(classifier, "graph_", None)
    names = [str(name) for name in classifier.classes_]
    path, c = folder / CONFIG, len(names)
    check_names("A class name", names, folder / MODEL)
    if len(set(names)) < c:
        raise damaged(folder / MODEL, "two classes have the same name")
    if config.positive is not None and config.positive >= c:
        raise damaged(path, f"positive: there are only {c} classes")
    if config.flag is not None and config.flag[0] not in names:
        raise damaged(path, f"flag: there is no class {config.flag[0][:40]!r}")
    if graph is not None and [str(name) for name in graph.class_names] != names:
        raise damaged(folder / GRAPH, f"its classes are not those of {folder / MODEL}")
    path = folder / METRICS
    flag = metrics.flag
    if flag is not None and flag.class_name not in names:
        raise damaged(path, f"flag: there is no class {flag.class_name[:40]!r}")
    if flag is not None and config.flag not in (None, (flag.class_name, flag.value)):
        raise damaged(path, f"flag: {folder / CONFIG} says something else")
    for test in (metrics.test, metrics.test_known_only):
        if test is not None and list(test.per_class) != names:
            raise damaged(path, "test.per_class: its classes are not those of the model")
        if test is not None and test.positive not in (None, *names[config.positive or 0 :][:1]):
            raise damaged(path, f"test.positive: {folder / CONFIG} says something else")
    sets = metrics.sets
    if sets is not None and not len(sets.thresholds) == len(sets.nodes) == c:
        raise damaged(path, f"sets: they should be of {c} classes")
    if graph is None:
        return
    if (metrics.nodes, metrics.edges) != (graph.num_nodes, graph.num_edges):
        raise damaged(path, f"nodes, edges: the graph has {graph.num_nodes} and {graph.num_edges}")
    parts = {part: getattr(split, part) for part in PARTS}
    if metrics.labelled != {part: len(nodes) for part, nodes in parts.items()}:
        raise damaged(path, "labelled: the split has other numbers of nodes")
    if any((graph.labels[nodes] < 0).any() for nodes in parts.values()):
        raise damaged(folder / GRAPH, "a node of the split has no label")


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
    yield METRICS, "calibration", calibration and calibration.temperature, fitted.temperature_
    yield METRICS, "edge_frequency", metrics.edge_frequency, found.as_dict()


def _written_split(path: Path, graph: Graph) -> Split:
    """How the measured model used the labels; the refitted one was trained on all of them."""
    try:
        part = read_table(path, pick=_split_column).table.column(0).to_numpy()
    except InputError as error:
        raise damaged(path, first_line(error)) from None
    if len(part) != graph.num_nodes:
        raise damaged(path, f"it has {len(part):,} rows for {graph.num_nodes:,} nodes")
    return Split.from_masks(*(part == name for name in PARTS))


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


def write_report(folder: Path | str, out: Path | str | None = None) -> Path:
    """Writes the report on a run (again): one HTML page, report.html in its folder unless named."""
    folder = Path(folder)
    run = load_run(folder)
    if not (folder / GRAPH).exists():
        hint = "A run of 'cpgnn spark fit' has no report."
        raise must_be(f"{folder}", "hold the graph it was fitted on", f"no {GRAPH}", hint)
    out = folder / REPORT if out is None else Path(out)
    report_run(run, out, folder.resolve().name)
    return out


def report_run(run: Run, out: Path | str, name: str) -> None:
    """Writes the report on a run; `name` is what the page calls it."""
    page = render(gather(run, name))
    with atomic_write(Path(out)) as file:
        file.write(page.encode("utf-8"))


def write_run(
    run: Run, out: Path | str, *, with_graph: bool = True, spreadsheet_safe: bool = False
) -> None:
    """Writes the folder `out`, whole or not at all; the graph and its predictions if wanted."""
    with atomic_folder(out) as partial:
        _write(run, partial, safe=spreadsheet_safe)
        if with_graph:
            _write_graph(run, partial, safe=spreadsheet_safe)
            report_run(run, partial / REPORT, Path(out).resolve().name)
        write_manifest(partial)


def _write_graph(run: Run, folder: Path, *, safe: bool) -> None:
    table = run_predictions(run)
    write_table(folder / "predictions.csv", table, spreadsheet_safe=safe)
    write_table(folder / PREDICTIONS, table)
    if run.positive is not None:
        name = str(run.classifier.classes_[run.positive])
        review = review_list(table, name)
        write_table(folder / "review.csv", review, spreadsheet_safe=safe)
    write_graph(folder / GRAPH, replace(run.graph, notices=()))


def _write(run: Run, folder: Path, *, safe: bool) -> None:
    classifier = run.classifier
    names = run.class_names
    for name, made in (
        ("compatibility.csv", matrix_table(classifier.compatibility_, names)),
        ("edge_frequency.csv", matrix_table(classifier.edge_frequency_, names)),
        ("edge_frequency_intervals.csv", classifier.edge_frequency_interval_.table(names)),
    ):
        write_table(folder / name, made, spreadsheet_safe=safe)
    if run.relations:
        made = relation_table(run.relations, classifier.evidence_, names)
        write_table(folder / "relations.csv", made, spreadsheet_safe=safe)
    write_table(folder / HISTORY, run.history)
    (folder / METRICS).write_text(json_text(summary(run)), encoding="utf-8")
    if (cost := run.trials["cpu_seconds"]).notna().any():
        (folder / SECONDS).write_text(json_text({"trials": list(cost)}), encoding="utf-8")
    config = {
        "cpgnn_version": cpgnn.__version__,
        "options": run.options,
        "positive": run.positive,
        "refit": run.refitted,
        "flag": None if run.flag is None else [run.flag.class_name, run.flag.value],
        "architecture": asdict(classifier.architecture_) if classifier.architecture_ else None,
        "settings": asdict(classifier.settings_),
        "features": None if run.columns is None else run.columns.as_dict(),
        "notices": list(run.graph.notices),
    }
    (folder / CONFIG).write_text(json_text(config), encoding="utf-8")
    classifier.save(folder / MODEL)


def summary(run: Run) -> dict[str, Any]:
    """What metrics.json holds, as `json_text` writes it."""
    classifier = run.classifier
    return {
        "model": run.model,
        "num_layers": classifier.num_layers_,
        "compatibility": "learned" if classifier.num_layers_ else "initial estimate, not trained",
        "nodes": run.graph.num_nodes,
        "edges": run.graph.num_edges,
        "labelled": {part: len(getattr(run.split, part)) for part in PARTS},
        "kept_epoch": run.kept,
        "self_trained": classifier.self_trained_,
        "trials": run.trials.drop(columns="cpu_seconds").to_dict("records"),
        "test": run.evaluation and run.evaluation.as_dict(),
        "test_known_only": run.known_only and run.known_only.as_dict(),
        "without_graph": run.without_graph and run.without_graph.as_dict(),
        "edge_frequency": classifier.edge_frequency_interval_.as_dict(),
        "calibration": run.calibration and run.calibration.as_dict(),
        "flag": run.flag and run.flag.as_dict(),
        "sets": run.promise,
        "edge_findings": run.edge_findings,
    }
