"""Everything a report says, gathered from a run."""

from __future__ import annotations

from typing import Any

import numpy as np

from cpgnn.check import find
from cpgnn.check.finding import worst_first
from cpgnn.engine.formatting import carried, matrix_title, percent, ratio, what_decides
from cpgnn.engine.text import count
from cpgnn.evaluation.calibration import AS_THEY_ARE, LEAST, Calibration, Reliability
from cpgnn.evaluation.verdict import measured
from cpgnn.explanation.sentences import PARTS, USES
from cpgnn.explanation.terms import ECHO, OWN_PRIOR
from cpgnn.homophily import compatibility_matrix, homophily_ratio
from cpgnn.relations.derived import counted
from cpgnn.relations.relation import TWO_HOPS
from cpgnn.report.answer import answer
from cpgnn.report.charts import Chart, Series, line_chart
from cpgnn.report.grids import Grid, confusion_grid, share_grid
from cpgnn.report.labels import labels
from cpgnn.report.learning import learning_charts
from cpgnn.report.nodes import node_data
from cpgnn.report.suspects import extremes
from cpgnn.run.run import Run

MOST_RELATIONS, MOST_WAYS = 8, 5
"""Relations whose matrices are drawn, and ways to hear neighbours that are listed at once."""


def gather(run: Run, name: str) -> dict[str, Any]:
    """What page.html shows of a run; `name` is what the page calls it."""
    classifier, graph, P = run.classifier, run.graph, run.prediction.probabilities
    names, what, test = tuple(run.class_names), counted(graph), run.evaluation
    F, caption = classifier.edge_frequency_interval_, matrix_title(what)
    true = None
    if (graph.labels >= 0).all():
        H = compatibility_matrix(graph)
        true = share_grid("The truth: the same, counted with all labels", H, names)
    propagated = [share_grid("Learned", classifier.compatibility_, names)]
    if (initial := classifier.initial_compatibility_) is not None:
        by = ", by paths between labels" if classifier.initial_from_ == "paths" else ""
        propagated.append(share_grid(f"Estimate it started from{by}", initial, names))
    confusion = None
    if test is not None:
        who = f"{measured(test, short=True)} by their label (row) and the class they got (column)"
        confusion = confusion_grid(test.confusion, names, who)
    listed, chosen_by = extremes(run), classifier.settings_.select_by.replace("_", " ")
    return {
        "name": name,
        "run": run,
        "facts": _facts(run),
        "answer": answer(run),
        "matrix": share_grid(
            f"{caption}; small: {percent(F.confidence, 0)} interval", F, names, counted=what
        ),
        "true_matrix": true,
        "propagated": propagated,  # the doubly stochastic ones
        "relations": _relations(run),
        "confusion": confusion,
        "charts": learning_charts(run.history, run.kept, chosen_by),
        "tried": _tried(run, chosen_by),
        "reliability": _reliability(run.calibration) if run.calibration else None,
        "not_calibrated": _not_calibrated(run),
        "findings": worst_first([*run.edge_findings, *find(graph, classifier.split_)]),
        "set_sizes": _set_sizes(run),
        "labels": labels(run),
        "nodes": listed,
        "data": {
            "classes": list(names),
            "run": name,
            "layers": classifier.num_layers_,
            "far": TWO_HOPS in classifier.evidence_,
            "own": OWN_PRIOR,
            "echo": ECHO,
            "uses": ["", USES["train"], USES["val"], USES["test"]],
            "nodes": node_data(classifier, P, listed.positions),
        },
    }


def _relations(run: Run) -> tuple[Grid, ...]:
    """One matrix for each relation, the weightiest first; none if there is only one."""
    evidence, grids = run.classifier.evidence_, []
    for name, F in list(run.relations.items())[:MOST_RELATIONS]:
        grids.append(share_grid(f"{name}: {carried(evidence, name)}", F, tuple(run.class_names)))
    return tuple(grids)


def _set_sizes(run: Run) -> tuple[tuple[int, int, float], ...]:
    """Classes in a set, nodes that have such a set, and their share; every size but unused ones."""
    if run.sets is None:
        return ()
    c, sizes = len(run.class_names), run.sets.sizes[run.graph.predicted]
    counts = np.bincount(sizes, minlength=c + 1)
    shown = [k for k in range(c + 1) if counts[k] or k in (1, c)]
    return tuple((k, int(counts[k]), float(counts[k] / len(sizes))) for k in shown)


def _facts(run: Run) -> tuple[tuple[str, str], ...]:
    split, predicted, graph = run.split, run.classifier.self_trained_, run.graph
    h, by_weight = (homophily_ratio(graph, by_weight=by) for by in (False, True))
    facts = {
        "nodes": f"{graph.num_nodes:,}",
        "edges": f"{graph.num_edges:,}",
        "homophily ratio h, by edges" if graph.is_weighted else "homophily ratio h": ratio(h),
        "homophily ratio h, by weight": ratio(by_weight) if graph.is_weighted else "",
        "classes": f"{len(run.class_names):,}",
        "labels to learn from": f"{len(split.train):,}",
        "confident predictions used as labels": f"{predicted:,}" if predicted else "",
        "to choose the model": f"{len(split.val):,}" if len(split.val) else "",
        "held out": f"{len(split.test):,}",
        "model": run.model,
        "what decides": what_decides(run.classifier.evidence_),
    }
    return tuple((name, value) for name, value in facts.items() if value)


def _tried(run: Run, chosen_by: str) -> dict[str, Any] | None:
    """Of a blend: what was tried (name, what it is, score, log loss, CPU seconds, what became of
    it), and the rest: the ways to hear neighbours that did worst."""
    if not run.classifier.evidence_ or run.trials.empty:
        return None
    stages = run.trials["note"] == ""
    kept = run.trials.index[stages][0] if stages.any() else -1
    rows = tuple(
        (
            str(t["candidate"]),
            PARTS.get(str(t["candidate"]), ""),
            percent(t["score"]),
            f"{t['loss']:.3f}",
            "–" if np.isnan(t["cpu_seconds"]) else f"{t['cpu_seconds']:.2f}",
            "kept" if i == kept else str(t["note"]),
        )
        for i, t in run.trials.to_dict("index").items()
    )
    most = int((~stages).sum()) + MOST_WAYS
    return {"score": chosen_by, "rows": rows[:most], "rest": rows[most:]}


def _reliability(made: Calibration) -> Chart | None:
    """Nothing where a handful of nodes would be drawn as a line."""
    if made.too_few:
        return None
    ideal = np.array([0.0, 1.0])
    series = [Series("ideal", "ideal", ideal, ideal)]
    if made.num_nodes:
        series.append(_dots("before", "b", made.before))
    series.append(_dots("after" if made.num_nodes else "this model", "a", made.after))
    return line_chart(
        "Is it right as often as it says?",
        "Each dot: nodes of about the same certainty, and how many of them were right.",
        series,
        x_name="how sure it says it is",
        top=1.0,
        percent="xy",
    )


def _dots(name: str, style: str, bins: Reliability) -> Series:
    """The bins of a reliability diagram that hold a node."""
    known = ~np.isnan(bins.confidence)
    return Series(name, style, bins.confidence[known], bins.accuracy[known], dots=True)


def _not_calibrated(run: Run) -> str:
    """Why the probabilities were not corrected, if they were not."""
    made, val = run.calibration, len(run.split.val)
    if made is None:
        return ""
    if made.num_nodes == 0 and val < 2 * LEAST and not run.classifier.evidence_:
        return f"Correcting them takes {2 * LEAST} validation nodes; there are {val:,}."
    if made.num_nodes == 0:
        return "Calibration was turned off, so they are not corrected."
    if made.scaling == AS_THEY_ARE:
        nodes = count(made.num_nodes, "node")
        return f"The {nodes} set aside to correct them were all right, so they stay as they are."
    return ""
