"""The folder of a run: written whole or not at all, and shown as a page."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import cpgnn
from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.loop import Begin
from cpgnn.engine.records import json_text
from cpgnn.errors import must_be
from cpgnn.evaluation.conformal import Per
from cpgnn.evaluation.relation_frequencies import relation_table
from cpgnn.evaluation.thresholds import Goal
from cpgnn.io import LoadedGraph, atomic_folder, atomic_write, check_free, write_graph, write_table
from cpgnn.io.names import check_graph_names
from cpgnn.io.presence import CONFIG, REPORT
from cpgnn.report.contents import gather
from cpgnn.report.page import render
from cpgnn.run.fit import train_run
from cpgnn.run.load import GRAPH, HISTORY, METRICS, MODEL, PREDICTIONS, SECONDS, load_run
from cpgnn.run.manifest import write_manifest
from cpgnn.run.predictions import matrix_table, review_list, run_predictions
from cpgnn.run.run import Run
from cpgnn.splits import PARTS


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
        "headers": run.headers,
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
