"""What to label next: a batch of nodes whose labels would teach most.

By default ("auto", "cover") nodes are asked that bring labels near to what the model doubts:
`doubt.cover`. The other rules say which node of a cell is asked. The nodes, with and without a
label, are cut into cells of one size by what is seen around them: again and again in two halves,
across the direction in which they differ most. There is one cell for every label, those at hand and
those to ask for, and cells without a label are asked, one node each: no batch is twenty neighbours
of one hub, and none asks what earlier ones did. The most doubtful cells come first,
Σ_v (1 - max P(v)).

- "change": what its label would change at its neighbours through H, expected under the belief,
  Σ_y P(v)_y ‖(e_y - P(v)) H̄‖² · Σ_u (1 - max P(u)) / d_u over its neighbours u;
- "uncertainty": the entropy of the belief, -Σ_i P_i log P_i;
- "margin": how close the two likeliest classes are;
- "centre": how close it is to the middle of its cell;
- "spread": any node of any cell without a label: a fair sample, but for the cells;
- "random": any node at all.
"""

from __future__ import annotations

from typing import Literal, get_args

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.classifier import CPGNNClassifier
from cpgnn.compatibility import initial_H_bar
from cpgnn.doubt.cover import covering
from cpgnn.engine.text import count
from cpgnn.errors import check_choice, check_count, must_be, wrong_value
from cpgnn.graph import Graph
from cpgnn.priors.columns import hops, with_self
from cpgnn.priors.inputs import Basis, Inputs
from cpgnn.relations.derived import near
from cpgnn.splits import Split

Rule = Literal["auto", "cover", "change", "spread", "centre", "uncertainty", "margin", "random"]
MOST_NODES = 20_000
"""Nodes without a label that are considered; of more, a random choice."""
WIDTH = 64
"""Principal coordinates of the features that describe what is seen around a node."""
COLUMNS = ["id", "label", "rank", "class", "probability", "why"]


def suggest(
    fitted: CPGNNClassifier,
    k: int = 20,
    *,
    rule: Rule = "auto",
    among: np.ndarray | None = None,
    seed: int = 0,
) -> pd.DataFrame:
    """k nodes to label next, most telling first: a table to fill in.

    Columns: id, label (empty), rank, class and probability (what the model thinks now), why. Nodes
    without an edge are asked only if there are no others: their labels teach nobody else. `among`:
    positions of the nodes that can be asked; None: all without a label.

    `rule`: "auto" is "cover", which brings labels near to what the model doubts. "random": any
    nodes. The others cut the nodes into cells and ask one of each cell without a label: any
    ("spread"), the middle one ("centre"), the one whose class is least sure ("uncertainty",
    "margin"), or the one that would change its neighbours most through H ("change").
    """
    check_count("k", k, least=1)
    check_choice("rule", rule, get_args(Rule))
    own = fitted.prediction()
    graph, P = own.graph, own.probabilities
    rng = np.random.default_rng(seed)
    pool = candidates(graph, rng, among)
    if rule in ("auto", "cover"):
        chosen, alike = covering(own, pool, k, rng, seed)
    else:
        chosen, alike = in_cells(fitted, rule, pool, k, rng, seed)
    names = [str(name) for name in fitted.classes_]
    degree = graph.num_neighbours
    rows = []
    for rank, (v, nodes) in enumerate(zip(pool[chosen], alike, strict=True), start=1):
        why = _why(P[v], names, int(degree[v]), max(1, round(nodes)))
        best = int(P[v].argmax())
        rows.append((str(graph.node_ids[v]), "", rank, names[best], float(P[v, best]), why))
    return pd.DataFrame(rows, columns=COLUMNS)


def candidates(
    graph: Graph, rng: np.random.Generator, among: np.ndarray | None = None
) -> np.ndarray:
    """Nodes without a label whose class is asked for, with an edge where there are such; at most
    `MOST_NODES`."""
    open_ = np.flatnonzero(graph.unlabelled)
    if not len(open_):
        raise must_be("The graph", "have nodes without a label to ask for", "labels for all")
    if among is not None:
        open_ = np.intersect1d(open_, among)
    if not len(open_):
        must = "hold positions of nodes without a label whose class is asked for"
        raise wrong_value("among", must, "none of these")
    linked = open_[graph.num_neighbours[open_] > 0]
    pool = linked if len(linked) else open_
    return np.sort(rng.permutation(pool)[:MOST_NODES])


def in_cells(
    fitted: CPGNNClassifier,
    rule: Rule,
    pool: np.ndarray,
    k: int,
    rng: np.random.Generator,
    seed: int,
) -> tuple[np.ndarray, np.ndarray]:
    """k nodes of the pool (positions in it) by the rule, and how many nodes without a label are in
    the cell of each."""
    own = fitted.prediction()
    graph, P = own.graph, own.probabilities
    labelled = rng.permutation(np.flatnonzero(graph.labels >= 0))[:MOST_NODES]
    both = np.concatenate([pool, labelled])
    Z = surroundings(own.scaled, seed)[both]
    cell = cells(Z, min(k + len(labelled), len(both)), rng)
    score = scores(rule, graph, P, initial_H_bar(fitted.compatibility_), pool, rng)
    if rule == "centre":
        score = _closeness(Z, cell)[: len(pool)]
    chosen = np.argsort(-score)[:k]
    if rule != "random":
        doubt = None if rule == "spread" else 1 - P[pool].max(axis=1)
        chosen = _one_each(score, cell, doubt, rng)[:k]
    alike = np.bincount(cell[: len(pool)]) * (int(graph.unlabelled.sum()) / len(pool))
    return chosen, alike[cell[chosen]]


def surroundings(scaled: Graph, seed: int = 0) -> np.ndarray:
    """What is seen from every node: principal coordinates of the features, [n, 3 · 64] with their
    means over one and two hops; of the edges where there are no features."""
    basis, A = Basis.of(scaled, seed), near(scaled)
    if basis.places is not None:
        return np.asarray(with_self(A) @ basis.places)
    everyone = np.arange(scaled.num_nodes)
    x = Inputs(scaled, basis, everyone, len(everyone), scaled.labels)
    return np.concatenate(hops(A, x.coordinates[:, :WIDTH]), axis=1)


def cells(Z: np.ndarray, k: int, rng: np.random.Generator) -> np.ndarray:
    """The cell of every row of Z [m, d], one of k of the same size, as far as m allows."""
    cell = np.zeros(len(Z), dtype=np.int64)
    parts = [(np.arange(len(Z)), 0, k)]
    while parts:
        rows, first, pieces = parts.pop()
        cell[rows] = first
        if pieces == 1:
            continue
        X = Z[rows] - Z[rows].mean(axis=0)
        v: np.ndarray = rng.normal(size=(Z.shape[1],)).astype(Z.dtype)
        for _ in range(4):  # towards the direction in which the rows differ most
            v = X.T @ (X @ v)
            v /= max(float(np.linalg.norm(v)), 1e-12)
        order = rows[np.lexsort((rng.random(len(rows)), X @ v))]
        left = pieces // 2
        here = round(len(rows) * left / pieces)
        parts += [(order[:here], first, left), (order[here:], first + left, pieces - left)]
    return cell


def scores(
    rule: Rule,
    graph: Graph,
    P: np.ndarray,
    H_bar: np.ndarray,
    pool: np.ndarray,
    rng: np.random.Generator,
) -> np.ndarray:
    """How much each node of the pool should be asked, by the rule."""
    if rule == "change":
        return expected_change(graph.adjacency, P, H_bar)[pool]
    if rule == "margin":
        top = np.sort(P[pool], axis=1)
        return np.asarray(top[:, -2] - top[:, -1])
    if rule == "uncertainty":
        return np.asarray(-(P[pool] * np.log(np.maximum(P[pool], 1e-12))).sum(axis=1))
    return rng.random(len(pool))


def expected_change(A: sp.csr_array, P: np.ndarray, H_bar: np.ndarray) -> np.ndarray:
    """Σ_y P(v)_y ‖(e_y - P(v)) H̄‖² · Σ_u (1 - max P(u)) / d_u for every node v, [n]."""
    # Σ_y P_y ‖e_y H̄ - P H̄‖² = Σ_y P_y ‖H̄_y‖² - ‖P H̄‖²
    told = P @ (H_bar**2).sum(axis=1) - ((P @ H_bar) ** 2).sum(axis=1)
    degree = np.asarray(A.sum(axis=1, dtype=np.float64)).ravel()
    unsure = (1 - P.max(axis=1)) / np.where(degree > 0, degree, 1.0)
    return np.asarray(told * (A.T @ unsure))


def _closeness(Z: np.ndarray, cell: np.ndarray) -> np.ndarray:
    """How close every row of Z is to the middle of its cell."""
    size = np.bincount(cell)
    member = sp.csr_array((1 / size[cell], (cell, np.arange(len(cell)))))
    return np.asarray(-np.linalg.norm(Z - (member @ Z)[cell], axis=1))


def _one_each(
    score: np.ndarray, cell: np.ndarray, doubt: np.ndarray | None, rng: np.random.Generator
) -> np.ndarray:
    """The best of every cell that has no label, most doubtful cells first (at random without a
    doubt), then those of the others; the labelled nodes are at the end of `cell`."""
    mine, taken = cell[: len(score)], np.bincount(cell[len(score) :], minlength=cell.max() + 1)
    order = np.argsort(-score, kind="stable")
    found, first = np.unique(mine[order], return_index=True)
    weight = rng.random(len(taken)) if doubt is None else np.bincount(mine, doubt, len(taken))
    turn = np.lexsort((-weight[found], taken[found] > 0))
    return np.asarray(order[first[turn]])


def _why(p: np.ndarray, names: list[str], degree: int, alike: int) -> str:
    first, second = np.argsort(-p)[:2]
    doubt = (
        f"unsure between {names[first]} and {names[second]}"
        if p[first] - p[second] < 0.3
        else f"thought to be {names[first]}"
    )
    return f"{doubt}; {count(degree, 'neighbour')}; stands for about {count(alike, 'node')} like it"


def with_known_labels(
    asked: pd.DataFrame, graph: Graph, *, split: Split | None = None, kind: str = "kind"
) -> pd.DataFrame:
    """The nodes to ask for, then those with a label: a table of labels once it is filled in.

    `split`: that of the labels, where a file gave it; nodes to ask for train then. A graph with
    several kinds of nodes gets a column `kind`, and rows for all nodes: nothing else may say what
    those without a label are.
    """
    ids = graph.node_ids.astype(str)
    names = np.array([*map(str, graph.class_names), ""], dtype=object)
    table = pd.DataFrame({"id": ids, "label": names[graph.labels]})
    if graph.kinds is not None:
        table[kind] = np.array(graph.kinds.names, dtype=object)[graph.kinds.codes]
    if split is not None:
        table["split"] = split.used_for(graph.num_nodes)
    known, wanted = graph.labels >= 0, ids.get_indexer(asked["id"])
    first = table.iloc[wanted].assign(label=asked["label"].to_numpy())
    if split is not None:
        first["split"] = "train"
    parts = [first, table[known]]
    if graph.kinds is not None:
        parts.append(table.iloc[np.setdiff1d(np.flatnonzero(~known), wanted)])
    return pd.concat(parts, ignore_index=True)
