"""What to label next: a batch of nodes whose labels would teach most.

The nodes without a label are gathered into as many groups as there are labels to ask for, by what
is seen around them (features, or who their neighbours are, smoothed over two steps): one node of
each group is asked, so that no batch is twenty neighbours of one hub. A rule says which:

- "uncertainty": the entropy of the belief, -Σ_i P_i log P_i;
- "margin": how close the two likeliest classes are;
- "change": what its label would change at its neighbours through H, expected under the belief,
  Σ_y P(v)_y ‖(e_y - P(v)) H̄‖² · Σ_u (1 - max P(u)) / d_u over its neighbours u;
- "centre": how close it is to the middle of its group: it stands for many;
- "mixed": the mean of the ranks by "change", "uncertainty" and "centre";
- "random": any node at all, groups or not.

On generated graphs "change" is ahead of "random" by 1 point at h = 0.1 and 6 at h = 0.5, and 0.7
behind at h = 0.9, where all are right (`benchmarks/suggestions.py`); it is the default.
"""

from __future__ import annotations

import warnings
from typing import Any, Literal, get_args

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.stats import rankdata
from sklearn.cluster import MiniBatchKMeans

from cpgnn.classifier import CPGNNClassifier
from cpgnn.compatibility import initial_H_bar
from cpgnn.engine.text import count
from cpgnn.errors import check_choice, check_count, must_be
from cpgnn.graph import Graph

Rule = Literal["change", "mixed", "uncertainty", "margin", "centre", "random"]
MOST_NODES = 20_000
"""Nodes without a label that are considered; of more, a random choice."""
WIDTH = 64
"""Numbers that describe what is seen around a node."""
COLUMNS = ["id", "label", "rank", "class", "probability", "why"]


def suggest(
    fitted: CPGNNClassifier,
    k: int = 20,
    *,
    rule: Rule = "change",
    among: np.ndarray | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """k nodes to label next, most telling first: a table to fill in.

    Columns: id, label (empty), rank, class and probability (what the model thinks now), why. Nodes
    without an edge are asked only if there are no others: their labels teach nobody else. `among`:
    positions of the nodes that can be asked; None: all without a label.
    """
    check_count("k", k, least=1)
    check_choice("rule", rule, get_args(Rule))
    own = fitted.prediction()
    graph, P = own.graph, own.probabilities
    pool = candidates(graph, np.random.default_rng(seed), among)
    group, near = groups(graph, pool, min(k, len(pool)), seed)
    H_bar = initial_H_bar(fitted.compatibility_)
    score = scores(rule, graph, P, H_bar, pool, near, seed)
    chosen = np.argsort(-score)[:k] if rule == "random" else _one_each(score, group)
    stands_for = np.bincount(group) * (int((graph.labels < 0).sum()) / len(pool))
    names = [str(name) for name in fitted.classes_]
    degree = np.diff(graph.adjacency.indptr)
    rows = []
    for rank, i in enumerate(chosen, start=1):
        v = pool[i]
        why = _why(P[v], names, int(degree[v]), round(stands_for[group[i]]))
        best = int(P[v].argmax())
        rows.append((str(graph.node_ids[v]), "", rank, names[best], float(P[v, best]), why))
    return pd.DataFrame(rows, columns=COLUMNS)


def candidates(
    graph: Graph, rng: np.random.Generator, among: np.ndarray | None = None
) -> np.ndarray:
    """Nodes without a label, with an edge where there are such; at most `MOST_NODES`."""
    open_ = np.flatnonzero(graph.labels < 0)
    if among is not None:
        open_ = np.intersect1d(open_, among)
    if not len(open_):
        raise must_be("The graph", "have nodes without a label to ask for", "labels for all")
    linked = open_[np.diff(graph.adjacency.indptr)[open_] > 0]
    pool = linked if len(linked) else open_
    return np.sort(rng.permutation(pool)[:MOST_NODES])


def groups(graph: Graph, pool: np.ndarray, k: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """The group of each node of the pool, and how close it is to the middle of its group."""
    Z = surroundings(graph, seed)[pool]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # fewer different nodes than groups is fine
        made = MiniBatchKMeans(k, random_state=seed, n_init=3, batch_size=4096).fit(Z)
    group = made.labels_
    return group, -np.linalg.norm(Z - made.cluster_centers_[group], axis=1)


def surroundings(graph: Graph, seed: int = 0) -> np.ndarray:
    """What is seen from every node, [n, 64]: a random projection of the features (of the rows of A
    where there are none), averaged over the neighbours twice."""
    rng = np.random.default_rng(seed)
    X: Any = graph.adjacency if graph.features is None else graph.features
    R = rng.normal(size=(X.shape[1], WIDTH)).astype(np.float32) / np.sqrt(WIDTH)
    Z = np.asarray(X @ R, dtype=np.float32)
    Z = (Z - Z.mean(axis=0)) / np.maximum(Z.std(axis=0), 1e-9)
    around = graph.matrix("row")
    near = around @ Z
    Z = np.hstack([Z, near, around @ near])
    return np.asarray(Z, dtype=np.float32)


def scores(
    rule: Rule,
    graph: Graph,
    P: np.ndarray,
    H_bar: np.ndarray,
    pool: np.ndarray,
    near: np.ndarray,
    seed: int,
) -> np.ndarray:
    """How much each node of the pool should be asked, by the rule."""
    if rule == "random":
        return np.random.default_rng(seed).random(len(pool))
    if rule == "centre":
        return near
    if rule == "margin":
        top = np.sort(P[pool], axis=1)
        return np.asarray(top[:, -2] - top[:, -1])
    entropy = -(P[pool] * np.log(np.maximum(P[pool], 1e-12))).sum(axis=1)
    if rule == "uncertainty":
        return np.asarray(entropy)
    change = expected_change(graph.adjacency, P, H_bar)[pool]
    if rule == "change":
        return change
    return np.asarray(sum(rankdata(score) for score in (change, entropy, near)) / len(pool))


def expected_change(A: sp.csr_array, P: np.ndarray, H_bar: np.ndarray) -> np.ndarray:
    """Σ_y P(v)_y ‖(e_y - P(v)) H̄‖² · Σ_u (1 - max P(u)) / d_u for every node v, [n]."""
    # Σ_y P_y ‖e_y H̄ - P H̄‖² = Σ_y P_y ‖H̄_y‖² - ‖P H̄‖²
    told = P @ (H_bar**2).sum(axis=1) - ((P @ H_bar) ** 2).sum(axis=1)
    degree = np.asarray(A.sum(axis=1, dtype=np.float64)).ravel()
    unsure = (1 - P.max(axis=1)) / np.where(degree > 0, degree, 1.0)
    return np.asarray(told * (A.T @ unsure))


def _one_each(score: np.ndarray, group: np.ndarray) -> np.ndarray:
    """The best of every group, the best first."""
    order = np.argsort(-score, kind="stable")
    _, first = np.unique(group[order], return_index=True)
    return np.asarray(order[np.sort(first)])


def _why(p: np.ndarray, names: list[str], degree: int, alike: int) -> str:
    first, second = np.argsort(-p)[:2]
    doubt = (
        f"unsure between {names[first]} and {names[second]}"
        if p[first] - p[second] < 0.3
        else f"thought to be {names[first]}"
    )
    return f"{doubt}; {count(degree, 'neighbour')}; stands for about {count(alike, 'node')} like it"


def with_known_labels(asked: pd.DataFrame, graph: Graph) -> pd.DataFrame:
    """The nodes to ask for, then those with a label: a table of labels once it is filled in."""
    known = np.flatnonzero(graph.labels >= 0)
    names = np.array([str(name) for name in graph.class_names], dtype=object)
    ids = graph.node_ids[known].astype(str)
    rest = pd.DataFrame({"id": ids, "label": names[graph.labels[known]]})
    return pd.concat([asked[["id", "label"]], rest], ignore_index=True)
