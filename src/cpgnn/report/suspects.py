"""Nodes to look at: the most and least certain, or the suspects where one class is looked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice

import numpy as np

from cpgnn.engine.formatting import quoted
from cpgnn.errors import InputError
from cpgnn.evaluation.thresholds import Flag
from cpgnn.explanation.contributions import explain
from cpgnn.explanation.explanation import Explanation
from cpgnn.explanation.sentences import sentences
from cpgnn.explanation.wording import because
from cpgnn.run.run import Run

LISTED = 8
LINE = 34
"""Letters that fit beside each other on a phone."""
COLUMNS = 2
"""Columns that are told of a node in a list."""


@dataclass(frozen=True)
class Listed:
    """A node in a list: its id, its class, how probable that is, its label and the reasons."""

    id: str
    called: str
    probability: float
    label: str
    why: str = ""
    flagged: bool = False


@dataclass(frozen=True, eq=False)
class Extremes:
    """Nodes at both ends, or around the threshold of the class that is looked for."""

    among: str
    """Which nodes they are taken from, and how many of these are flagged."""
    first: tuple[Listed, ...]
    first_are: str
    second: tuple[Listed, ...]
    second_are: str
    positions: np.ndarray
    positive: str = ""
    """The class that is looked for: then `first` are its suspects, and probabilities are its."""

    @property
    def long(self) -> bool:
        """Whether ids and classes need lines of their own on a phone."""
        listed = (*self.first, *self.second)
        node = max((len(one.id) for one in listed), default=0)
        return node + 2 * max((len(one.called) for one in listed), default=0) > LINE


def extremes(run: Run) -> Extremes:
    """The most and the least certain nodes; or the suspects of a class, with reasons."""
    searched = run.evaluation is None or run.evaluation.by_ranking
    if run.positive is not None and searched:
        return _suspects(run, run.positive)
    P, (where, among) = run.prediction.probabilities, _pool(run)
    order = among[np.argsort(-P[among].max(axis=1), kind="stable")]
    half = min(LISTED, len(order) // 2)
    sure, unsure = order[:half], order[len(order) - half :][::-1]
    return Extremes(
        f"Among {where}.",
        _listed(run, sure, why=_why(run, sure, because)),
        "Most certain",
        _listed(run, unsure),
        "Least certain: look at these yourself",
        np.concatenate([sure, unsure]),
    )


def _suspects(run: Run, target: int) -> Extremes:
    """The nodes that are most probably of this class, and those close to its threshold."""
    p, (where, among) = run.prediction.probabilities[:, target], _pool(run)
    name = run.class_names[target]
    order = among[np.argsort(-p[among], kind="stable")]
    flag = run.flag if run.flag is not None and run.flag.class_name == name else None
    text, border = f"Among {where}.", 0.5
    if flag is not None:
        border, flagged = flag.value, int((p[among] >= flag.value).sum())
        text = (
            f"Of {len(among):,} {where.removeprefix('all ')}, {flagged:,} "
            f"{'is' if flagged == 1 else 'are'} flagged: {quoted(name)} has a probability of at "
            f"least {border:.3g}."
        )
    suspects, rest = order[:LISTED], order[LISTED:]
    near = rest[np.argsort(np.abs(p[rest] - border), kind="stable")][:LISTED]
    return Extremes(
        text,
        _listed(run, suspects, target, flag, _why(run, suspects, reasons, target)),
        f"Most probably {quoted(name)}",
        _listed(run, near, target, flag),
        f"Closest to {border:.3g} among the others: look at these yourself",
        np.concatenate([suspects, near]),
        name,
    )


def _pool(run: Run) -> tuple[str, np.ndarray]:
    graph = run.graph
    pools = {
        "nodes without a label": np.flatnonzero(graph.unlabelled),
        "held-out nodes": run.split.test,
        "all nodes": np.flatnonzero(graph.predicted),
    }
    enough = (name for name, pool in pools.items() if len(pool) >= 2 * LISTED)
    where = next(enough, "all nodes")
    return where, pools[where]


def _listed(
    run: Run,
    nodes: np.ndarray,
    target: int | None = None,
    flag: Flag | None = None,
    why: list[str] | None = None,
) -> tuple[Listed, ...]:
    P, graph, names = run.prediction.probabilities, run.graph, [*run.class_names, ""]
    best = P[nodes].argmax(axis=1)
    shown = best if target is None else np.full(len(nodes), target)
    return tuple(
        Listed(
            str(graph.node_ids[v]),
            names[best[i]],
            float(P[v, shown[i]]),
            names[graph.labels[v]],
            why[i] if why else "",
            flag is not None and bool(P[v, shown[i]] >= flag.value),
        )
        for i, v in enumerate(nodes)
    )


def _why(
    run: Run, nodes: np.ndarray, told: Callable[[Explanation, int], str], target: int | None = None
) -> list[str] | None:
    """What is told of these nodes' explanations; None where too many walks come back to them."""
    ids = run.graph.node_ids.to_numpy()[nodes]
    try:
        made = explain(run.classifier, None, ids, features=COLUMNS).as_written(run.written)
    except InputError:
        return None
    made = made if target is None else made.in_favour_of(target)
    return [told(made, i) for i in range(len(made))]


def reasons(of: Explanation, i: int) -> str:
    """Its sentences without the first ones, on class and label: the page says these itself."""
    return " ".join(islice(sentences(of, i), 1 + int(of.labels[i] >= 0), None))
