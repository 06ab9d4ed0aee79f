"""Everything a report says, gathered from a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

import cpgnn
from cpgnn.check import Finding, find
from cpgnn.homophily import compatibility_matrix
from cpgnn.report.answer import Answer, answer
from cpgnn.report.charts import Chart, Series, line_chart
from cpgnn.report.grids import Grid, confusion_grid, share_grid
from cpgnn.report.learning import learning_charts
from cpgnn.report.nodes import node_data

if TYPE_CHECKING:
    from cpgnn.classifier import CPGNNClassifier
    from cpgnn.evaluation import calibration as evaluation
    from cpgnn.run.run import Run

LISTED = 8
"""Most and least certain nodes in the lists."""


@dataclass(frozen=True)
class Listed:
    """A node in a list: its id, its class and how sure, its label if it has one."""

    id: str
    called: str
    probability: float
    label: str


@dataclass(frozen=True)
class Calibration:
    """How far probabilities can be believed, before and after the temperature."""

    chart: Chart
    before: float
    after: float
    """Expected calibration error on the test nodes."""
    temperature: float
    set_on: int
    """Validation nodes that set the temperature; 0 means it was left at 1."""
    n: int

    @property
    def corrected(self) -> bool:
        return self.set_on > 0


@dataclass(frozen=True, eq=False)
class Contents:
    """One report."""

    name: str
    version: str
    model: str
    facts: tuple[tuple[str, str], ...]
    answer: Answer
    matrix: Grid
    true_matrix: Grid | None
    propagated: tuple[Grid, ...]
    """The doubly stochastic matrices: learned, and the estimate it started from."""
    optimistic: bool
    confusion: Grid | None
    charts: tuple[Chart, ...]
    calibration: Calibration | None
    findings: tuple[Finding, ...]
    certain: tuple[Listed, ...]
    uncertain: tuple[Listed, ...]
    listed_from: str
    data: dict[str, Any]
    """What the search box searches."""


def gather(run: Run, name: str) -> Contents:
    """The report on a run; `name` is what the page calls it."""
    classifier, graph, P = run.classifier, run.graph, run.prediction.probabilities
    names = tuple(run.class_names)
    complete = bool((graph.labels >= 0).all())
    interval = classifier.edge_frequency_interval_
    certain, uncertain, listed_from = _extremes(classifier, P)
    propagated = [share_grid("Learned", classifier.compatibility_, names)]
    if classifier.initial_compatibility_ is not None:
        started = share_grid("Estimate it started from", classifier.initial_compatibility_, names)
        propagated.append(started)
    return Contents(
        name=name,
        version=cpgnn.__version__,
        model=run.model,
        facts=_facts(run),
        answer=answer(run),
        matrix=share_grid(
            "Estimated", interval.share, names, interval.low, interval.high, interval.evidence
        ),
        true_matrix=share_grid("True", compatibility_matrix(graph), names) if complete else None,
        propagated=tuple(propagated),
        optimistic=interval.optimistic,
        confusion=confusion_grid(run.evaluation.confusion, names) if run.evaluation else None,
        charts=learning_charts(
            run.history, run.kept, classifier.settings_.select_by.replace("_", " ")
        ),
        calibration=_calibration(run.calibration),
        findings=find(graph, classifier.split_),
        certain=_listed(classifier, P, certain),
        uncertain=_listed(classifier, P, uncertain),
        listed_from=listed_from,
        data={
            "classes": list(names),
            "run": name,
            "temperature": classifier.temperature_,
            "layers": classifier.num_layers_,
            "nodes": node_data(classifier, P, np.concatenate([certain, uncertain])),
        },
    )


def _facts(run: Run) -> tuple[tuple[str, str], ...]:
    split, predicted = run.split, run.classifier.self_trained_
    more = (("sure predictions it learned from as well", f"{predicted:,}"),) if predicted else ()
    return (
        ("nodes", f"{run.graph.num_nodes:,}"),
        ("edges", f"{run.graph.num_edges:,}"),
        ("classes", f"{len(run.class_names):,}"),
        ("labels to learn from", f"{len(split.train):,}"),
        *more,
        ("to choose the epoch", f"{len(split.val):,}"),
        ("held out for the scores", f"{len(split.test):,}"),
        ("model", run.model),
    )


def _extremes(classifier: CPGNNClassifier, P: np.ndarray) -> tuple[np.ndarray, np.ndarray, str]:
    """Positions of the most and the least certain nodes, and among which nodes."""
    graph, test = classifier.graph_, classifier.split_.test
    pools = {
        "nodes without a label": np.flatnonzero(graph.labels < 0),
        "held-out nodes": test,
        "all nodes": np.arange(graph.num_nodes),
    }
    enough = (name for name, pool in pools.items() if len(pool) >= 2 * LISTED)
    where = next(enough, "all nodes")
    among = pools[where]
    order = among[np.argsort(-P[among].max(axis=1), kind="stable")]
    half = min(LISTED, len(order) // 2)
    return order[:half], order[len(order) - half :][::-1], where


def _listed(
    classifier: CPGNNClassifier, P: np.ndarray, positions: np.ndarray
) -> tuple[Listed, ...]:
    graph, names = classifier.graph_, classifier.classes_
    return tuple(
        Listed(
            str(graph.node_ids[i]),
            str(names[P[i].argmax()]),
            float(P[i].max()),
            str(names[graph.labels[i]]) if graph.labels[i] >= 0 else "",
        )
        for i in positions
    )


def _calibration(measured: evaluation.Calibration | None) -> Calibration | None:
    """Nothing where no labels were held out."""
    if measured is None:
        return None
    ideal = np.array([0.0, 1.0])
    series = [Series("ideal", "ideal", ideal, ideal)]
    corrected = measured.num_nodes > 0
    if corrected:
        series.append(_dots("before", "b", measured.before))
    series.append(_dots("after" if corrected else "this model", "a", measured.after))
    chart = line_chart(
        "Is it right as often as it says?",
        "Each dot: nodes of about the same certainty, and how many of them were right.",
        series,
        x_name="how sure it says it is",
        top=1.0,
        percent="xy",
    )
    return Calibration(
        chart,
        measured.before.error,
        measured.after.error,
        measured.temperature,
        measured.num_nodes,
        int(measured.after.count.sum()),
    )


def _dots(name: str, style: str, bins: evaluation.Reliability) -> Series:
    """The bins of a reliability diagram that hold a node."""
    known = ~np.isnan(bins.confidence)
    return Series(name, style, bins.confidence[known], bins.accuracy[known], dots=True)
