"""Synthetic graphs with a given compatibility matrix (the paper's Algorithm 1), near-linear.

The algorithm scans all nodes for every new one. Here each class keeps a list of edge end-points
that names a node once per degree: a class c is drawn ∝ H[y_v, c] · (length of its list), a node by
a uniform place in that list. The product is H[y_v, y_u] · d[u], the algorithm's own weight.
"""

from __future__ import annotations

import warnings
from array import array
from bisect import bisect
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import accumulate, chain, islice
from operator import mul
from typing import Any, Literal

import numpy as np

from cpgnn.errors import GraphNotice, advise, check_choice, check_count, must_be, wrong_value
from cpgnn.graph import Graph
from cpgnn.reference import Labelled, as_class_sizes, inject_features

Bootstrap = Literal["paper", "authors"]

PATIENCE = 32
"""Draws that may hit a node already chosen before the rest is weighed exactly."""
BLOCK = 1 << 14
"""Uniform numbers drawn at a time."""


# -- target matrices -----------------------------------------------------------------------


def mixhop_compatibility(num_classes: int, h: float, base: float = 2.0) -> np.ndarray:
    """H with h on the diagonal and more weight on classes that are close on a circle, [c, c].

    H[i, j] = (1 − h) · w(d), d = min(|i − j|, c − |i − j|), w(d) ∝ base^(d_max − d), Σ_{j≠i} w = 1.
    The paper follows MixHop and does not publish the base: 2 is a guess, 1 is uniform.
    """
    c = check_count("num_classes", num_classes, least=2)
    if not 0 <= h <= 1:
        raise wrong_value("h", "lie in [0, 1]", h)
    if not (np.isfinite(base) and base > 0):
        raise wrong_value("base", "be a positive number", base)
    step = np.abs(np.subtract.outer(np.arange(c), np.arange(c)))
    distance = np.minimum(step, c - step)
    largest = 1 if base > 1 else distance.max()  # where w is 1: no power can overflow
    w = np.float64(base) ** (largest - distance)
    np.fill_diagonal(w, 0.0)
    H = (1 - h) * w / w.sum(axis=1, keepdims=True)
    np.fill_diagonal(H, h)
    return H


def uniform_compatibility(num_classes: int, h: float) -> np.ndarray:
    """H with h on the diagonal and (1 − h)/(c − 1) everywhere else, [c, c]."""
    return mixhop_compatibility(num_classes, h, base=1.0)


# -- the generator ---------------------------------------------------------------------------


def generate_graph(
    class_sizes: Sequence[int],
    compatibility: Any,
    num_bootstrap: int = 70,
    edges_per_node: int = 6,
    seed: int = 0,
    bootstrap: Bootstrap = "paper",
    reference: Labelled | None = None,
) -> Graph:
    """A graph by preferential attachment that follows H (Algorithm 1), all nodes labelled.

    After n_0 bootstrap nodes, node v joins m nodes u, drawn one by one without replacement with
    probability ∝ H[y_v, y_u] · d[u], where d[u] is the degree of u before v was added.

    Arguments:
        class_sizes: N, nodes in each of the c classes; n is their sum.
        compatibility: H, [c, c], entries in [0, 1], rows sum to 1. Classes with H = 0 never meet,
            except in the chain of bootstrap="paper".
        num_bootstrap: n_0, nodes to begin with, max(2, m) ≤ n_0 < n.
        edges_per_node: m, edges added with each later node.
        seed: the same seed gives the same graph; the edges do not depend on `reference`.
        bootstrap: "paper" shuffles all labels and joins the n_0 nodes in a chain:
            n_0 − 1 + m·(n − n_0) edges. "authors" does what the authors' code does: the first m·c
            nodes (≤ n_0) hold every class m times; the chain leaves node 0 out (n_0 − 2 edges);
            d[u] counts at least 1; and if H has a zero, which a chain would break, each bootstrap
            node from the third on draws one compatible neighbour instead, or stays alone if there
            is none yet. With the paper's parameters that makes 59,648 edges, but at h = 1, where
            the first node of each class stays alone, 59,640 (59,639 if nodes 0 and 1 are of one
            class): the range that the paper reports.
        reference: features and labels of real nodes, injected class by class
            (`inject_features`); None makes a featureless graph.

    A node that can reach fewer than m nodes is joined to all of them, and a `GraphNotice` counts
    such nodes. This only happens with zeros in H: with bootstrap="paper" and h = 1, a class with
    fewer than m of the n_0 nodes starts with fewer edges, and one with none of them never gets any.
    """
    sizes = as_class_sizes(class_sizes)
    H = as_compatibility(compatibility, len(sizes))
    m = check_count("edges_per_node", edges_per_node, least=1)
    n_0 = _check_bootstrap(bootstrap, num_bootstrap, sizes, m)
    structure, injection = np.random.default_rng(check_count("seed", seed, least=0)).spawn(2)
    authors = bootstrap == "authors"
    labels = _shuffled_labels(sizes, m if authors else 0, structure)
    features = None if reference is None else inject_features(reference, labels, injection)

    growth = _Growth(labels, H, lone_weight=1 if authors else 0, rng=structure)
    first = 2 if authors else 1
    chained = bool(H.all()) or not authors
    for v in range(n_0):
        growth.add({} if v < first else growth.last() if chained else growth.draw(1))
    for _ in range(n_0, len(labels)):
        growth.add(growth.draw(m))

    graph = Graph.from_edges(
        *growth.edges(),
        num_nodes=len(labels),
        features=features,
        labels=labels,
        class_names=range(len(sizes)),
    )
    return _with_notice(graph, np.array(growth.counts[n_0:]), m)


def _shuffled_labels(sizes: np.ndarray, head: int, rng: np.random.Generator) -> np.ndarray:
    """Labels [n] in random order; the first head·c nodes hold every class `head` times."""
    classes = np.arange(len(sizes))
    first = rng.permutation(np.repeat(classes, head))
    return np.concatenate([first, rng.permutation(np.repeat(classes, sizes - head))])


def _with_notice(graph: Graph, counts: np.ndarray, m: int) -> Graph:
    """Say how many of the nodes that should have brought m edges brought fewer, and how many 0."""
    short, alone = np.count_nonzero(counts < m), np.count_nonzero(counts == 0)
    if not short:
        return graph
    notice = (
        f"{short:,} of {graph.num_nodes:,} nodes could reach fewer than {m} compatible nodes and "
        f"were joined to all of them; {alone:,} of these could reach none."
    )
    warnings.warn(notice, GraphNotice, stacklevel=3)
    return replace(graph, notices=(*graph.notices, notice))


class _Growth:
    """A graph that grows node by node, held as each class's list of edge end-points.

    A node u stands weight[u] = max(d[u], lone_weight) times in the list of its class.
    """

    def __init__(
        self, labels: np.ndarray, H: np.ndarray, lone_weight: int, rng: np.random.Generator
    ) -> None:
        self.labels: list[int] = labels.tolist()
        self.H: list[list[float]] = H.tolist()
        self.lone_weight = lone_weight
        self.uniforms = chain.from_iterable(_uniform_pairs(rng))
        self.ends = [array("i") for _ in self.H]
        """For each class: its nodes, each as often as it weighs; 4 bytes for each end-point."""
        self.members = [array("i") for _ in self.H]
        """For each class: its nodes of positive weight, once."""
        self.rows: list[tuple[list[float], list[array[int]]]] = [([], []) for _ in self.H]
        """For each class y: H[y, c] and ends[c] of the classes c that can be drawn."""
        self.lone: set[int] = set()
        """Nodes without an edge."""
        self.weight: list[int] | None = None
        """The weight of every node; counted when it is first needed, then kept."""
        self.targets = array("i")
        """What each node was joined to when it came, node after node."""
        self.counts: list[int] = []
        """How many of the targets are whose."""

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Both ends of every edge."""
        source = np.repeat(np.arange(len(self.counts)), self.counts)
        return source, np.asarray(self.targets)

    # -- one more node ---------------------------------------------------------------------------

    def add(self, targets: dict[int, array[int]]) -> None:
        """Add the next node with an edge to each target; {node: end-points of its class}."""
        v, degree = len(self.counts), len(targets)
        if self.lone or self.weight is not None:
            for u, pool in targets.items():
                self._add_end(u, pool)
        else:
            for u, pool in targets.items():
                pool.append(u)
        self.targets.extend(targets)
        self.counts.append(degree)
        if not degree:
            self.lone.add(v)
        self._enter(v, degree or self.lone_weight)

    def _add_end(self, u: int, pool: array[int]) -> None:
        """One more edge for u; the first edge of a lone node may not change its weight."""
        if u in self.lone:
            self.lone.remove(u)
            self._enter(u, 1 - self.lone_weight)
            return
        pool.append(u)
        if self.weight is not None:
            self.weight[u] += 1

    def _enter(self, u: int, weight: int) -> None:
        """Give a node its first weight; if it is the first of its class, open the class."""
        if not weight:
            return
        y = self.labels[u]
        self.ends[y].extend(array("i", (u,)) * weight)
        self.members[y].append(u)
        if self.weight is not None:
            self.weight[u] = weight
        if len(self.members[y]) == 1:
            live = [c for c, nodes in enumerate(self.members) if nodes]
            for row, H_row in enumerate(self.H):
                reach = [c for c in live if H_row[c] > 0]
                self.rows[row] = [H_row[c] for c in reach], [self.ends[c] for c in reach]

    # -- the draw ------------------------------------------------------------------------------

    def last(self) -> dict[int, array[int]]:
        """The node before the next one."""
        u = len(self.counts) - 1
        return {u: self.ends[self.labels[u]]}

    def draw(self, m: int) -> dict[int, array[int]]:
        """Up to m nodes for the next node v, one by one, new u ∝ H[y_v, y_u] · weight[u]."""
        y = self.labels[len(self.counts)]
        H_y, pools = self.rows[y]
        chosen: dict[int, array[int]] = {}  # an ordered set: to draw a node again changes nothing
        if not pools:
            return chosen
        # Every pool listed has a positive weight. With the total taken off the cumulative weights,
        # no product, however rounded, falls behind the last. int(r·k) < k for r < 1, k < 2^53.
        cumulative = list(accumulate(map(mul, H_y, map(len, pools))))
        total = cumulative.pop()
        for x, r in islice(self.uniforms, m + PATIENCE):
            pool = pools[bisect(cumulative, x * total)]
            chosen[pool[int(r * len(pool))]] = pool
            if len(chosen) == m:
                return chosen
        while len(chosen) < m and (u := self._draw_from_rest(y, chosen)) is not None:
            chosen[u] = self.ends[self.labels[u]]
        return chosen

    def _draw_from_rest(self, y: int, chosen: Collection[int]) -> int | None:
        """One node outside `chosen`, ∝ H[y, y_u] · weight[u]; None if there is none.

        What drawing until a new node comes up gives, but in bounded time: first the class by
        what is left of its weight, then a node of that class.
        """
        weight = self._weights()
        rest = [len(ends) for ends in self.ends]
        for u in chosen:
            rest[self.labels[u]] -= weight[u]
        live = [c for c, left in enumerate(rest) if left and self.H[y][c] > 0]
        if not live:
            return None
        c = live[self._pick([self.H[y][c] * rest[c] for c in live])]
        ends = self.ends[c]
        for _, r in islice(self.uniforms, PATIENCE):
            if (u := ends[int(r * len(ends))]) not in chosen:
                return u
        others = [u for u in self.members[c] if u not in chosen]
        return others[self._pick([weight[u] for u in others])]

    def _pick(self, weights: Sequence[float]) -> int:
        """A position drawn ∝ weights, which are all positive."""
        cumulative = list(accumulate(weights))
        total = cumulative.pop()
        return bisect(cumulative, next(self.uniforms)[0] * total)

    def _weights(self) -> list[int]:
        if self.weight is None:
            self.weight = np.bincount(
                np.concatenate(self.ends), minlength=len(self.labels)
            ).tolist()
        return self.weight


def _uniform_pairs(rng: np.random.Generator) -> Iterator[Iterator[tuple[float, float]]]:
    """Pairs of uniform numbers in [0, 1), block by block: plain floats, as Python reads them."""
    while True:
        yield zip(rng.random(BLOCK).tolist(), rng.random(BLOCK).tolist(), strict=True)


# -- checks ------------------------------------------------------------------------------------


def as_compatibility(compatibility: Any, c: int) -> np.ndarray:
    try:
        H = np.asarray(compatibility, dtype=np.float64)
    except (TypeError, ValueError):
        raise wrong_value("compatibility", "be a matrix of numbers", repr(compatibility)) from None
    if H.shape != (c, c):
        raise wrong_value("compatibility", f"be {c} × {c}, one row for each class", H.shape)
    if not ((H >= 0) & (H <= 1)).all():
        raise wrong_value("compatibility", "have entries in [0, 1]", f"{H.min()} to {H.max()}")
    sums = H.sum(axis=1)
    row = int(np.abs(sums - 1).argmax())
    if abs(sums[row] - 1) > 1e-6:
        got, hint = f"{sums[row]:g} in row {row}", "Try H / H.sum(axis=1, keepdims=True)."
        raise must_be("Each row of 'compatibility'", "sum to 1", got, hint)
    return H


def _check_bootstrap(bootstrap: str, num_bootstrap: int, sizes: np.ndarray, m: int) -> int:
    check_choice("bootstrap", bootstrap, ("paper", "authors"))
    n, head = int(sizes.sum()), m * len(sizes)
    least = max(2, m)
    if bootstrap == "authors":
        least = max(2, head)
        if sizes.min() < m:
            must = advise(f"be at least {m}, the edges per node, with {{}}", bootstrap="authors")
            raise wrong_value("class_sizes", must, int(sizes.min()))
    n_0 = check_count("num_bootstrap", num_bootstrap, least=least)
    if n_0 >= n:
        raise wrong_value("num_bootstrap", f"be below the number of nodes ({n})", n_0)
    return n_0
