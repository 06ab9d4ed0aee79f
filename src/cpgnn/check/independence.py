"""Does the graph say something about the classes? A permutation test that trains nothing.

If the graph ignores the classes, the labels could as well be dealt to the labelled nodes in any
other order. Three things are looked at, for the labels at hand and for labels dealt anew:

- C_ij, the pairs of classes at the two ends of an edge: how far they are from independent,
  χ² = Σ_ij (C_ij − E_ij)² / E_ij with E_ij = C_i· C_·j / C··;
- the same two steps apart;
- how far the classes differ in their number of neighbours, by ranks: Σ_c n_c (r̄_c − r̄)².

A p-value is the share of deals that go as far as the labels at hand, corrected for looking three
times by the smallest p-value of every deal (Westfall and Young).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain, combinations, islice
from math import factorial, prod
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.stats import rankdata

from cpgnn.graph import Graph

LEVEL = 0.05
DEALS = 9_999
"""Ways to deal the labels that are tried; all of them, where there are no more."""
MOST_PAIRS = 10_000
"""Pairs of nodes that are counted; of more, a random choice."""
MOST_STEPS = 1_000_000
"""Paths of two steps that are followed to find pairs."""
MOST_WORK = 30_000_000
"""Labels and pairs looked at in all. Large graphs get fewer deals, but at least 999."""
BATCH = 2_000_000

Pairs = tuple[np.ndarray, np.ndarray]
"""Pairs of nodes [2, m], and how much each counts [m]."""
Statistic = Callable[[np.ndarray, int], np.ndarray]
"""Of deals [b, n] of c classes: how far each is from chance, [b]."""


@dataclass(frozen=True)
class Independence:
    """How often labels would look as connected as these if the graph ignored them."""

    p_edge: float | None
    """Corrected p-value for the two ends of an edge; None where no edge joins two labels."""
    p_two_steps: float | None
    """For nodes that share a neighbour but no edge."""
    p_degree: float | None
    """For the number of neighbours; None where it is the same for all."""
    deals: int
    """Ways to deal the labels behind these values."""
    exact: bool
    """Whether there are no others."""
    least: float = 0.0
    """No p-value can be smaller: classes of one size can change names, and nothing changes."""

    @classmethod
    def of(
        cls, graph: Graph, labelled: np.ndarray, *, seed: int = 0, deals: int = DEALS
    ) -> Independence | None:
        """The test over these nodes; None where there is nothing to look at, or only one class.

        Every edge counts once, whatever its weight.
        """
        rng = np.random.default_rng(seed)
        near = list(_near(graph, labelled[graph.labels[labelled] >= 0], rng))
        some = rng.permutation(labelled)[:MOST_PAIRS]
        nodes = np.unique(np.concatenate([some, *(ends.ravel() for ends, _ in near)]))
        nodes = nodes[graph.labels[nodes] >= 0]
        classes, y = np.unique(graph.labels[nodes], return_inverse=True)
        degree = rankdata(graph.num_neighbours[nodes])
        looks: dict[str, Statistic] = {
            name: partial(_chi_square, np.searchsorted(nodes, ends), weight)
            for name, (ends, weight) in zip(("edge", "two_steps"), near, strict=True)
            if len(weight)
        }
        if len(nodes) and np.ptp(degree) > 0:
            looks["degree"] = partial(_rank_spread, degree - degree.mean())
        if len(classes) < 2 or not looks:
            return None
        sizes = np.bincount(y)
        ways = factorial(len(y)) // prod(factorial(int(size)) for size in sizes)
        alike = prod(factorial(int(count)) for count in np.bincount(sizes))
        work = len(y) + sum(len(weight) for _, weight in near)
        tried = min(ways, deals, max(999, MOST_WORK // work))
        exact = ways == tried
        dealt = _every_deal(y) if exact else (rng.permutation(y) for _ in range(tried))
        observed, *drawn = (
            np.stack([look(batch, len(classes)) for look in looks.values()], axis=1)
            for batch in chain([y[None]], _batches(dealt, max(1, BATCH // work)))
        )
        drawn = drawn if exact else [observed, *drawn]
        p = dict(zip(looks, corrected(observed[0], np.concatenate(drawn)), strict=True))
        p_values = p.get("edge"), p.get("two_steps"), p.get("degree")
        return cls(*p_values, deals=tried, exact=exact, least=alike / ways)

    @property
    def p(self) -> float:
        return min(p for p in (self.p_edge, self.p_two_steps, self.p_degree) if p is not None)

    @property
    def speaks(self) -> bool:
        """Whether the graph says something about the classes, at the level 0.05."""
        return self.p <= LEVEL

    def __str__(self) -> str:
        if not self.speaks:
            few = f" With so few labels it cannot be below {self.least:.2g}."
            return (
                "Nothing shows that the classes depend on the edges: shuffled labels look just as "
                f"connected (p = {self.p:.2g}).{few * (self.least > LEVEL)}"
            )
        told = {
            "the classes at the two ends of an edge are not independent": self.p_edge,
            "nor are those two steps apart": self.p_two_steps,
            "classes differ in their number of neighbours": self.p_degree,
        }
        if self.p_edge is None or self.p_edge > LEVEL:
            told = {
                "the classes two steps apart are not independent": self.p_two_steps,
                "classes differ in their number of neighbours": self.p_degree,
            }
        clauses = [f"{what} (p = {p:.1g})" for what, p in told.items() if p and p <= LEVEL]
        return f"The graph says something about the classes: {'; '.join(clauses)}."

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "speaks": self.speaks, "in_words": str(self)}


def corrected(observed: np.ndarray, drawn: np.ndarray) -> list[float]:
    """p-values of k statistics [k], corrected for there being k, from b draws [b, k] of them."""

    def p_values(values: np.ndarray) -> np.ndarray:
        ranks = [np.searchsorted(np.sort(D), v) for D, v in zip(drawn.T, values.T, strict=True)]
        return 1 - np.stack(ranks, axis=1) / len(drawn)

    smallest = p_values(drawn).min(axis=1)
    return [float((smallest <= p).mean()) for p in p_values(observed[None])[0]]


def _chi_square(ends: np.ndarray, weight: np.ndarray, y: np.ndarray, c: int) -> np.ndarray:
    """χ² over pairs of nodes [2, m] with weights [m], for each of the deals y [b, n]."""
    b = len(y)
    key = y[:, ends[0]] * c + y[:, ends[1]] + c * c * np.arange(b)[:, None]
    C = np.bincount(key.ravel(), np.tile(weight, b), minlength=b * c * c).reshape(b, c, c)
    C = C + C.transpose(0, 2, 1)
    sums = C.sum(axis=2)
    E = sums[:, :, None] * sums[:, None, :] / C.sum(axis=(1, 2), keepdims=True)
    parts = np.divide((C - E) ** 2, E, out=np.zeros_like(C), where=E > 0)
    return parts.sum(axis=(1, 2)).round(6)


def _rank_spread(rank: np.ndarray, y: np.ndarray, c: int) -> np.ndarray:
    """Σ_c n_c r̄_c² of ranks less their mean [n], for each of the deals y [b, n]."""
    b, sizes = len(y), np.bincount(y[0], minlength=c)
    key = (y + c * np.arange(b)[:, None]).ravel()
    sums = np.bincount(key, np.tile(rank, b), minlength=b * c).reshape(b, c)
    return (sums**2 / sizes).sum(axis=1).round(6)


def _near(graph: Graph, nodes: np.ndarray, rng: np.random.Generator) -> Iterator[Pairs]:
    """Pairs of these nodes that an edge joins, then pairs that share a neighbour but no edge.

    A neighbour of d of them gives its pairs the weight 1 / (d - 1): hubs, which everybody shares,
    tell least.
    """
    to_nodes = graph.adjacency[:, nodes]
    to_nodes.data = np.ones(to_nodes.nnz)
    joined = to_nodes[nodes]
    yield _above(joined, nodes, rng)
    d = np.diff(to_nodes.indptr).astype(np.int64)
    middle = rng.permutation(np.flatnonzero((d > 1) & (d**2 <= MOST_STEPS // 10)))
    middle = middle[np.cumsum(d[middle] ** 2) <= MOST_STEPS]
    L = to_nodes[middle]
    shared = sp.csr_array(L.T @ sp.diags_array(1 / (d[middle] - 1)) @ L)
    yield _above(shared - shared.multiply(joined), nodes, rng)


def _above(M: sp.sparray, nodes: np.ndarray, rng: np.random.Generator) -> Pairs:
    """The pairs above the diagonal of M; of too many, a choice in proportion to its values."""
    M = sp.triu(M, 1)
    M.eliminate_zeros()
    ends, weight = nodes[np.stack(M.coords)], M.data.astype(np.float64)
    if len(weight) > MOST_PAIRS:
        chosen = rng.choice(len(weight), MOST_PAIRS, replace=False, p=weight / weight.sum())
        ends, weight = ends[:, chosen], np.ones(MOST_PAIRS)
    return ends, weight


def _every_deal(y: np.ndarray) -> Iterator[np.ndarray]:
    """Every way to deal these labels, once."""
    made = np.zeros_like(y)

    def deal(free: list[int], sizes: list[int]) -> Iterator[np.ndarray]:
        if not sizes:
            yield made.copy()
            return
        for chosen in combinations(free, sizes[-1]):
            made[list(chosen)] = len(sizes) - 1
            yield from deal([i for i in free if i not in chosen], sizes[:-1])

    return deal(list(range(len(y))), np.bincount(y).tolist())


def _batches(rows: Iterator[np.ndarray], size: int) -> Iterator[np.ndarray]:
    while batch := list(islice(rows, size)):
        yield np.stack(batch)
