"""Sets of classes that keep a promise: the class of a node is in its set nine times in ten.

Nodes whose labels the model has not seen (calibration nodes) show how strange the right class may
look to it. A class y looks as strange at node v as s(v, y) = 1 - Q(v)_y; the set of v holds every
class that looks no stranger than the right class did at a share 1 - α of the calibration nodes:

    q = the ⌈(m + 1)(1 - α)⌉-th smallest of s(u, y_u) over m nodes u,   set(v) = {y : s(v, y) ≤ q}.

If v could as well have been one of the calibration nodes (exchangeability), the class of v is in
set(v) with probability at least 1 - α, whatever the model. Per class, q is taken over the nodes of
each class, and the promise holds for each class.

Q hears the neighbours once more, through H rather than as if like joined like:

    Q(v)_i ∝ P(v)_i · exp(λ · mean_u log Σ_j H_ij P(u)_j)     over the neighbours u of v,

where Σ_j H_ij P(u)_j is how well the belief of u suits a neighbour of class i. This reads no label,
so it treats calibration nodes and all others alike. λ is chosen on nodes that q is not taken from.
A blend has heard the neighbours through H by itself: its λ is 0, and all nodes are left for q.

Where models out of fold calibrate, which know fewer labels than the model, P is taken as P^r / Σ
P^r with r = mean spread of their log P / that of the model's on other nodes, at most 1. Else the
model would be surer, of wrong classes too, than the beliefs that q is from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pydantic import Field
from scipy.stats import betabinom, ks_2samp

from cpgnn.engine.formatting import between, percent
from cpgnn.engine.records import Bound, Count, Number, Share
from cpgnn.engine.text import count, in_a_cell, shorten, some
from cpgnn.errors import check_choice, check_share, either, must_be
from cpgnn.evaluation.calibration import spread
from cpgnn.evaluation.metrics import Scored, share
from cpgnn.graph import Graph

Per = Literal["all", "class"]
STRENGTHS = (0.0, 1.0, 2.0, 4.0, 8.0)
"""λ that are tried."""
LEAST_TO_CHOOSE = 30
"""Nodes without which λ stays 0."""
ENOUGH, OF_EACH = 200, 30
"""Validation nodes, in all and of every class, that calibrate alone even where training nodes were
held out in turn."""
FLOOR = 1e-3
"""The least that a belief is taken to suit: one neighbour alone rules nothing out."""
UNFAIR = 0.01
"""Level of the test whether labelled nodes are like the nodes without a label."""
OUT_OF_FOLD = "labelled nodes, out of fold"
MANY = 100
"""Labels out of fold with which a promise is no longer rough."""


def conformal_quantile(scores: np.ndarray, alpha: float) -> float:
    """The ⌈(m + 1)(1 - α)⌉-th smallest of m scores; infinite where m is too small for one."""
    k = _rank(len(scores), alpha)
    return float(np.sort(scores)[k - 1]) if k <= len(scores) else np.inf


def _rank(m: int, alpha: float) -> int:
    return max(1, int(np.ceil((m + 1) * (1 - alpha) - 1e-9)))


def suits(P: np.ndarray, H: np.ndarray) -> np.ndarray:
    """log Σ_j H_ij P(u)_j, [n, c]: how well the belief of u suits a neighbour of class i."""
    return np.asarray(np.log(np.maximum(P @ H.T, FLOOR)))


def mean_around(A: sp.csr_array, S: np.ndarray) -> np.ndarray:
    """mean_u S(u) over the neighbours u, [n, c]; 0 for nodes without any."""
    degree = np.asarray(A.sum(axis=1, dtype=np.float64)).ravel()
    return np.asarray((A @ S) / np.where(degree > 0, degree, 1.0)[:, None])


def strangeness(
    P: np.ndarray, messages: np.ndarray, strength: float, restraint: float = 1.0
) -> np.ndarray:
    """s = 1 - Q, [n, c]; `restraint`: r."""
    with np.errstate(divide="ignore"):
        log_Q = restraint * np.log(P) + strength * messages
    Q = np.exp(log_Q - log_Q.max(axis=1, keepdims=True))
    return 1 - Q / Q.sum(axis=1, keepdims=True)


@dataclass(frozen=True)
class Promise:
    """What was promised, what it rests on, and how it was kept on held-out nodes."""

    coverage: Annotated[float, Field(gt=0, lt=1)]
    per: Per
    thresholds: tuple[Bound, ...]
    """q for each class; infinite where there were too few nodes to leave the class out."""
    strength: Annotated[float, Field(ge=0)]
    """λ."""
    nodes: tuple[Count, ...]
    """Calibration nodes of each class."""
    source: str
    """Which nodes they are."""
    held_out: Scored | None = None
    """Share of held-out nodes whose set has their class."""
    mean_size: Number | None = None
    """Mean number of classes in the sets of all nodes that are predicted."""
    p_fair: Share | None = None
    """How often nodes drawn at random would differ from those without a label as much as labelled
    ones do that the model did not learn from, in how sure it is (Kolmogorov–Smirnov): calibration
    nodes, or, where these were judged out of fold, the held-out ones. None where too few are."""
    restraint: Annotated[float, Field(gt=0, le=1)] = 1.0
    """r."""

    @property
    def is_unfair(self) -> bool:
        return self.p_fair is not None and self.p_fair < UNFAIR

    @property
    def is_rough(self) -> bool:
        """Whether few labels calibrate, which had a say in the choice of the model before."""
        finite = not np.isinf(self.thresholds).all()
        return finite and self.source == OUT_OF_FOLD and sum(self.nodes) < MANY

    @property
    def broken(self) -> bool:
        """Whether the held-out nodes speak against it, at a level of 2.5 %.

        With m calibration nodes the share that is covered follows Beta(k, m + 1 - k),
        k = ⌈(m + 1)(1 - α)⌉: also a promise that is kept varies from one draw to the next.
        """
        m, kept = sum(self.nodes), self.held_out
        k = _rank(m, 1 - self.coverage)
        if kept is None or not kept.n or k > m:
            return False
        hits = round(kept.value * kept.n)
        return bool(betabinom.cdf(hits, kept.n, k, m + 1 - k) < 0.025)

    def sentences(self) -> list[str]:
        """What was promised and what that rests on, for people."""
        who = "of the nodes of every class" if self.per == "class" else "of all nodes"
        said = [
            f"For {percent(self.coverage, 0)} {who}, the node's set contains its class, "
            f"calibrated on {count(sum(self.nodes), 'node')} ({self.source})."
        ]
        if np.isinf(self.thresholds).any():
            least = int(np.ceil(self.coverage / (1 - self.coverage) - 1e-9))
            which = "any class" if self.per == "all" else "some classes"
            said.append(f"Too few to leave {which} out: that takes {least}.")
        if self.is_rough:
            said.append(
                "That is a rough promise: so few labels, which also helped to choose the model, "
                "can miss it by ten points or more."
            )
        if self.mean_size is not None:
            said.append(f"A set has {self.mean_size:.2f} classes on average.")
        if self.held_out is not None and self.held_out.n:
            kept = self.held_out
            said.append(
                f"Of {count(kept.n, 'held-out node')}, {percent(kept.value)} have their class in "
                f"the set (95 % interval {between(kept.low, kept.high)})"
                + (": the promise was not kept." if self.broken else ".")
            )
        said.append(
            "The promise holds for nodes like the labelled ones: not if these were picked rather "
            "than drawn at random, and not for nodes that come later and differ."
        )
        if self.is_unfair:
            said.append(
                "The labelled nodes are not like the nodes without a label: the model is surer "
                f"of one kind than of the other (p = {self.p_fair:.1g}), so do not rely on it."
            )
        return said


@dataclass(frozen=True, eq=False)
class PredictionSets:
    """For every node the classes that remain."""

    contains: np.ndarray
    """[n, c] whether the set of node v holds class y."""
    class_names: tuple[str, ...]
    node_ids: pd.Index
    promise: Promise

    @property
    def sizes(self) -> np.ndarray:
        """[n] classes in each set."""
        return np.asarray(self.contains.sum(axis=1))

    @property
    def empty(self) -> np.ndarray:
        """Nodes whose set is empty: no class looks right."""
        return np.flatnonzero(self.sizes == 0)

    @property
    def full(self) -> np.ndarray:
        """Nodes whose set has every class: nothing can be ruled out."""
        return np.flatnonzero(self.sizes == len(self.class_names))

    def names(self, node: int) -> list[str]:
        """The classes in the set of the node at this position."""
        return [self.class_names[j] for j in np.flatnonzero(self.contains[node])]

    def sentences(self, unlabelled: np.ndarray) -> list[str]:
        """The promise in words, and the nodes without a label (or all nodes, where there are none
        without) that the model knows least about, by name."""
        of = unlabelled if unlabelled.any() else np.ones(len(self), dtype=bool)
        without = " without a label" if unlabelled.any() else ""
        said = self.promise.sentences()
        for nodes, why in (
            (self.full, "all classes in the set, so nothing can be ruled out"),
            (self.empty, "an empty set, so no class looks right"),
        ):
            nodes = nodes[of[nodes]]
            if len(nodes):
                ids = [shorten(str(name)) for name in self.node_ids[nodes]]
                who = count(len(nodes), f"node{without} has", f"nodes{without} have")
                said.append(f"{who} {why}: {some(ids)}.")
        return said

    def also(self, node: int, called: str) -> str:
        """What else the node could be than the class it was given, in words."""
        names = self.names(node)
        others = [name for name in names if name != called]
        promise = f"by a promise kept {percent(self.promise.coverage, 0)} of the time"
        if not names:
            return f"No class looks right ({promise})."
        if called not in names:
            return f"Could rather be {either(others)} ({promise})."
        if not others:
            return f"Could be no other class ({promise})."
        if len(names) == len(self.class_names):
            return f"Could be any class ({promise})."
        return f"Could also be {either(others)} ({promise})."

    def texts(self) -> np.ndarray:
        """[n] the classes of each set, separated by "|"; see `in_a_cell`."""
        patterns, which = np.unique(self.contains, axis=0, return_inverse=True)
        names = np.array([in_a_cell(name) for name in self.class_names], dtype=object)
        made = np.array(["|".join(names[row]) for row in patterns] or [""], dtype=object)
        return made[which.ravel()] if len(self.contains) else made[:0]

    def to_frame(self) -> pd.DataFrame:
        """One row per node: id, set, set_size."""
        table = {"id": self.node_ids, "set": self.texts(), "set_size": self.sizes}
        return pd.DataFrame(table)

    def __len__(self) -> int:
        return len(self.contains)


@dataclass(frozen=True, eq=False)
class Evidence:
    """Nodes whose labels the model has not seen, and what it says about them."""

    nodes: np.ndarray
    """Nodes that set the thresholds."""
    choosing: np.ndarray
    """Nodes that choose λ, none of them among `nodes`."""
    source: str
    probabilities: np.ndarray
    """[n, c] of all nodes: as if unlabelled for these, and as they are for all others."""


def evidence(
    P: np.ndarray,
    labels: np.ndarray,
    val: np.ndarray,
    held: np.ndarray,
    out_of_fold: tuple[np.ndarray, np.ndarray] | None = None,
    *,
    seed: int = 0,
) -> Evidence:
    """Which nodes can calibrate a model that says P [n, c].

    Without `out_of_fold`: validation nodes. Those `held` back from the choice of the epoch set the
    thresholds and the others choose λ; where none were held back they do both, a third and two
    thirds of them.

    `out_of_fold`: nodes [m] and what was said of them [m, c] by models that had not seen their
    labels. All of these set the thresholds (cross-conformal prediction), and the model of all
    labels is made no surer than those of the folds (r). They helped to choose the model, which
    suits them a little too well: with few of them, sets hold the right class less often than
    promised. Validation nodes set the thresholds alone where there are at least 200, and 30 of
    every class. λ is 0: what is said out of fold of a neighbour knows the label of the node.
    """
    if out_of_fold is not None and not _suffice(labels[val], P.shape[1]):
        nodes, said = out_of_fold
        P = P.copy()
        P[nodes] = said
        return Evidence(nodes, nodes[:0], OUT_OF_FOLD, P)
    if out_of_fold is not None:
        return Evidence(val, val[:0], "validation nodes, which also chose the model", P)
    held = np.intersect1d(held, val)
    if len(held):
        source = "validation nodes held back from the choice of the epoch"
        return Evidence(held, np.setdiff1d(val, held), source, P)
    choosing, rest = deal(val, labels, seed)
    return Evidence(rest, choosing, "validation nodes, which also chose the epoch", P)


def _suffice(labels: np.ndarray, num_classes: int) -> bool:
    return len(labels) >= ENOUGH and np.bincount(labels, minlength=num_classes).min() >= OF_EACH


def deal(nodes: np.ndarray, labels: np.ndarray, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A third of the nodes to choose λ, drawn class by class, and the rest; few are not shared."""
    if len(nodes) < 3 * LEAST_TO_CHOOSE:
        return nodes[:0], nodes
    rng = np.random.default_rng(seed)
    turn = np.concatenate(
        [rng.permutation(np.flatnonzero(labels[nodes] == c)) for c in np.unique(labels[nodes])]
    )
    return np.sort(nodes[turn[::3]]), np.sort(nodes[np.delete(turn, np.s_[::3])])


def make_promise(
    graph: Graph, evidence: Evidence, H: np.ndarray, *, coverage: float = 0.9, per: Per = "all"
) -> Promise:
    """Thresholds from the evidence; `graph.labels` are read at its nodes only."""
    check_share("coverage", coverage, zero=False)
    check_choice("per", per, get_args(Per))
    y, P = graph.labels, evidence.probabilities
    if not len(evidence.nodes):
        raise must_be(
            "A fit",
            "have labelled nodes that it did not learn from, to calibrate sets of classes",
            "none",
            "Give 'validation' a share above 0, or mark some nodes 'val' in the split.",
        )
    messages, alpha = mean_around(graph.adjacency, suits(P, H)), 1 - coverage
    strength = _chosen_strength(P, messages, y, evidence.choosing, alpha)
    r, nodes = _restraint(graph, evidence), evidence.nodes
    own = strangeness(P[nodes], messages[nodes], strength)[np.arange(len(nodes)), y[nodes]]
    S = strangeness(P, messages, strength, r)
    counts = np.bincount(y[nodes], minlength=P.shape[1])
    if per == "class":
        groups = [own[y[nodes] == c] for c in range(P.shape[1])]
        thresholds = tuple(conformal_quantile(group, alpha) for group in groups)
    else:
        thresholds = (conformal_quantile(own, alpha),) * P.shape[1]
    others, drawn, p_fair = np.flatnonzero(graph.unlabelled), nodes, None
    if evidence.source == OUT_OF_FOLD:  # another model judged those: compare what this one says
        drawn = np.setdiff1d(np.flatnonzero(y >= 0), drawn)
    if len(others) >= LEAST_TO_CHOOSE <= len(drawn):
        p_fair = float(ks_2samp(S[drawn].min(axis=1), S[others].min(axis=1)).pvalue)
    sizes, source = tuple(counts.tolist()), evidence.source
    return Promise(coverage, per, thresholds, strength, sizes, source, p_fair=p_fair, restraint=r)


def _restraint(graph: Graph, evidence: Evidence) -> float:
    """r: how much surer models out of fold are than the model is of the other nodes, at most 1."""
    rest = np.setdiff1d(np.flatnonzero(graph.predicted), evidence.nodes)
    if evidence.source != OUT_OF_FOLD or not len(rest):
        return 1.0
    log_P = np.log(np.maximum(evidence.probabilities, np.finfo(np.float64).tiny))
    unseen, said = (float(spread(log_P[nodes]).mean()) for nodes in (evidence.nodes, rest))
    return min(1.0, unseen / said)


def _chosen_strength(
    P: np.ndarray, messages: np.ndarray, y: np.ndarray, nodes: np.ndarray, alpha: float
) -> float:
    """The λ whose sets are smallest on these nodes, with a threshold from these nodes."""
    if len(nodes) < LEAST_TO_CHOOSE:
        return 0.0

    def mean_size(strength: float) -> float:
        S = strangeness(P[nodes], messages[nodes], strength)
        q = conformal_quantile(S[np.arange(len(nodes)), y[nodes]], alpha)
        return float((q >= S).sum(axis=1).mean())

    return min(STRENGTHS, key=mean_size)


def prediction_sets(
    promise: Promise,
    graph: Graph,
    P: np.ndarray,
    H: np.ndarray,
    class_names: tuple[str, ...],
) -> PredictionSets:
    """The sets of all nodes of a graph from their probabilities P [n, c]."""
    messages = mean_around(graph.adjacency, suits(P, H))
    S = strangeness(P, messages, promise.strength, promise.restraint)
    contains = np.array(promise.thresholds) >= S
    return PredictionSets(contains, class_names, graph.node_ids, promise)


def kept_on(sets: PredictionSets, nodes: np.ndarray, labels: np.ndarray) -> Scored:
    """How many of these nodes have their class in their set, with a 95 % interval."""
    return share(int(sets.contains[nodes, labels[nodes]].sum()), len(nodes))
