"""The generator against Algorithm 1: closed forms, a plain O(n²) reference, wrong generators."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from itertools import permutations
from operator import mul
from random import Random

import numpy as np
import pytest
from scipy import stats

from cpgnn.errors import GraphNotice, InputError
from cpgnn.graph import Graph
from cpgnn.synthetic import generate
from cpgnn.synthetic.generate import generate_graph, mixhop_compatibility, uniform_compatibility

LEVELS = [round(0.1 * k, 1) for k in range(11)]
PAPER_SIZES = [1000] * 10


def class_pair_counts(graph: Graph) -> np.ndarray:
    """YᵀAY, [c, c]."""
    Y = np.eye(graph.num_classes)[graph.labels]
    return Y.T @ (graph.adjacency @ Y)


def realised_compatibility(graph: Graph) -> np.ndarray:
    """Definition 2: YᵀAY with rows that sum to 1."""
    counts = class_pair_counts(graph)
    return counts / counts.sum(axis=1, keepdims=True)


# -- target matrices ----------------------------------------


def test_mixhop_compatibility_by_hand():
    """Five classes: distances 1, 2, 2, 1, so w = (2, 1, 1, 2)/6."""
    H = mixhop_compatibility(5, h=0.4, base=2)
    np.testing.assert_allclose(H[0], [0.4, 0.2, 0.1, 0.1, 0.2])
    np.testing.assert_allclose(H[1], [0.2, 0.4, 0.2, 0.1, 0.1])


@pytest.mark.parametrize(("base", "distance"), [(1e200, 1), (1e-200, 5)])
def test_an_extreme_base_leaves_the_nearest_or_the_farthest_class(base, distance):
    H = mixhop_compatibility(10, h=0.2, base=base)
    at = {distance, 10 - distance}
    wanted = [0.2] + [0.8 / len(at) * (j in at) for j in range(1, 10)]
    np.testing.assert_allclose(H[0], wanted, atol=1e-12)


@pytest.mark.parametrize("h", LEVELS)
@pytest.mark.parametrize("c", [2, 3, 4, 10])
def test_target_matrices_are_symmetric_and_stochastic(c, h):
    for H in (mixhop_compatibility(c, h), uniform_compatibility(c, h)):
        np.testing.assert_array_equal(H, H.T)
        np.testing.assert_allclose(H.sum(axis=1), 1)
        assert (np.diag(H) == h).all()


def test_uniform_compatibility_spreads_evenly():
    np.testing.assert_allclose(uniform_compatibility(4, 0.1)[~np.eye(4, dtype=bool)], 0.3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((1, 0.5), "'num_classes' must be at least 2. Got 1."),
        ((3, 1.5), r"'h' must lie in \[0, 1\]. Got 1.5."),
        ((3, 0.5, 0.0), "'base' must be a positive number. Got 0.0."),
    ],
)
def test_target_matrix_errors(arguments, message):
    with pytest.raises(InputError, match=message):
        mixhop_compatibility(*arguments)


# -- what the paper's parameters give ----------------------------------------


@pytest.mark.parametrize(("bootstrap", "edges"), [("paper", 59_649), ("authors", 59_648)])
@pytest.mark.parametrize("h", [0.0, 0.5])
def test_edge_count_of_the_paper(bootstrap, edges, h):
    graph = generate_graph(PAPER_SIZES, mixhop_compatibility(10, h), bootstrap=bootstrap)
    assert graph.num_edges == edges
    assert graph.num_nodes == 10_000
    assert np.bincount(graph.labels).tolist() == PAPER_SIZES
    assert graph.features is None
    assert graph.notices == ()


def test_authors_at_full_homophily_leave_the_first_of_each_class_alone():
    """70 bootstrap nodes in 10 classes: at most 60 can join an earlier node of their class."""
    H = mixhop_compatibility(10, 1.0)
    for seed in range(3):
        graph = generate_graph(PAPER_SIZES, H, bootstrap="authors", seed=seed)
        one_class = graph.labels[0] == graph.labels[1]
        assert graph.num_edges == 59_640 - one_class


@pytest.mark.parametrize("h", LEVELS)
@pytest.mark.parametrize("bootstrap", ["paper", "authors"])
@pytest.mark.filterwarnings("ignore::cpgnn.errors.GraphNotice")  # paper, h = 1: see below
def test_realised_compatibility_meets_the_target(bootstrap, h):
    H = mixhop_compatibility(10, h)
    graphs = [generate_graph(PAPER_SIZES, H, bootstrap=bootstrap, seed=seed) for seed in range(3)]
    mean = np.mean([realised_compatibility(graph) for graph in graphs], axis=0)
    assert np.abs(mean - H).max() <= 0.02


def tail_exponent(degrees: np.ndarray, least: int) -> float:
    """Maximum likelihood of α in p(k) ∝ k^−α over k ≥ least (Clauset et al. 2009, eq. 3.7)."""
    tail = degrees[degrees >= least]
    return float(1 + len(tail) / np.log(tail / (least - 0.5)).sum())


@pytest.mark.parametrize("h", [0.0, 0.3, 0.9])
def test_degrees_have_a_power_law_tail(h):
    """Preferential attachment: α = 3. Uniform attachment and random graphs fail both checks."""
    graph = generate_graph(PAPER_SIZES, mixhop_compatibility(10, h))
    assert 2.6 < tail_exponent(graph.degrees, 15) < 3.2
    assert graph.degrees.max() > 100

    rng = np.random.default_rng(0)
    random = rng.binomial(9_999, 12 / 9_999, size=10_000)
    uniform = 6 + np.bincount((rng.random(60_000) * np.repeat(np.arange(10_000), 6)).astype(int))
    for degrees in (random, uniform):
        assert tail_exponent(degrees, 15) > 3.8
        assert degrees.max() < 100


# -- distribution: one step in closed form ----------------------------------------


CHAIN_DEGREES = np.array([1, 2, 2, 2, 2, 1])


def one_step_probabilities(H: np.ndarray, degree: np.ndarray = CHAIN_DEGREES) -> Counter[tuple]:
    """P(class of the new node, classes and degrees of its two targets): chain of 6, sizes 3, 2, 2.

    Every order of the labels is equally likely; the targets are drawn one after the other.
    """
    orders = set(permutations([0, 0, 0, 1, 1, 2, 2]))
    probability: Counter[tuple] = Counter()
    for labels in orders:
        w = H[labels[6], list(labels[:6])] * degree
        for first, second in permutations(range(6), 2):
            if w[first] and w[second]:
                p = w[first] / w.sum() * w[second] / (w.sum() - w[first])
                probability[step_key(labels, (first, second))] += p / len(orders)
    return probability


def step_key(labels, targets) -> tuple:
    ends = sorted((int(labels[u]), 1 if u in (0, 5) else 2) for u in targets)
    return int(labels[6]), *ends


def is_drawn_from(observed: Counter[tuple], probability: Counter[tuple]) -> float:
    """p-value of χ², cells of fewer than 5 expected counts taken together."""
    total = observed.total()
    cells = [(observed[key], p * total) for key, p in probability.items() if p * total >= 5]
    seen, expected = np.array(cells).T
    rare = total - expected.sum()
    if rare > 1:
        seen, expected = np.append(seen, total - seen.sum()), np.append(expected, rare)
    return stats.chisquare(seen, expected * seen.sum() / expected.sum()).pvalue


@pytest.mark.parametrize("patience", [32, 0])
def test_one_step_follows_the_closed_form(monkeypatch, patience):
    """Both ways of drawing: again and again (patience 32), and weighing what is left (0)."""
    monkeypatch.setattr(generate, "PATIENCE", patience)
    monkeypatch.setattr(generate, "BLOCK", 8)
    H = np.array([[0.1, 0.7, 0.2], [0.3, 0.0, 0.7], [0.5, 0.2, 0.3]])
    observed: Counter[tuple] = Counter()
    for seed in range(1000):
        graph = generate_graph([3, 2, 2], H, num_bootstrap=6, edges_per_node=2, seed=seed)
        observed[step_key(graph.labels, graph.adjacency[[6]].indices)] += 1
    probability = one_step_probabilities(H)
    assert set(observed) <= set(probability)
    assert is_drawn_from(observed, probability) > 1e-3
    for wrong in ((uniform_compatibility(3, 1 / 3),), (H.T,), (H, np.ones(6))):
        assert is_drawn_from(observed, one_step_probabilities(*wrong)) < 1e-6


# -- distribution: whole graphs against a plain O(n²) reference ---------------------------------

SIZES, N_0, M = [30, 20, 10], 10, 3
TARGETS = {
    "full": np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.1, 0.8, 0.1]]),
    "zeros": np.array([[0.0, 0.5, 0.5], [0.6, 0.0, 0.4], [0.1, 0.9, 0.0]]),
}
REPEATS = 500
Weigh = Callable[[float, float], float]


def plain_graph(H: np.ndarray, bootstrap: str, seed: int, weigh: Weigh) -> tuple:
    """Algorithm 1 as printed: weigh every node for every new one. Labels and dense adjacency."""
    rng = Random(seed)
    n, authors = sum(SIZES), bootstrap == "authors"
    head = [c for c in range(3) for _ in range(M if authors else 0)]
    body = [c for c in range(3) for _ in range(SIZES[c] - (M if authors else 0))]
    y = rng.sample(head, len(head)) + rng.sample(body, len(body))
    A, degree = np.zeros((n, n)), [0] * n

    def join(u: int, v: int) -> None:
        A[u, v] = A[v, u] = 1
        degree[u] += 1
        degree[v] += 1

    def attach(v: int, m: int) -> None:
        seen = [max(d, 1) if authors else d for d in degree[:v]]
        w = [weigh(H[y[v], y[u]], seen[u]) for u in range(v)]
        for _ in range(m):
            if any(w):
                [u] = rng.choices(range(v), w)
                w[u] = 0.0
                join(u, v)

    for v in range(2 if authors else 1, N_0):
        if authors and (H == 0).any():
            attach(v, 1)
        else:
            join(v - 1, v)
    for v in range(N_0, n):
        attach(v, M)
    return np.array(y), A


def summary(y: np.ndarray, A: np.ndarray) -> list[float]:
    """Numbers that see the degrees, the order of arrival and the classes."""
    degree, Y = A.sum(axis=1), np.eye(3)[y]
    pairs = Y.T @ A @ Y
    early = degree[:N_0].sum()
    return [
        degree.max(),
        degree[0],
        degree[4],
        early,
        degree @ degree,
        *pairs[[0, 0, 1], [0, 1, 2]],
    ]


def compare(ours: np.ndarray, other: np.ndarray) -> float:
    """Least p-value of χ² for "same distribution" over the columns, Bonferroni-corrected."""
    p_values = []
    for a, b in zip(ours.T, other.T, strict=True):
        cuts = np.quantile(np.concatenate([a, b]), np.arange(8) / 8)
        edges = np.append(np.unique(cuts), np.inf)
        table = np.stack([np.histogram(x, edges)[0] for x in (a, b)])
        p_values.append(stats.chi2_contingency(table[:, table.any(axis=0)]).pvalue)
    return min(1.0, min(p_values) * len(p_values))


@cache
def our_summaries(target: str, bootstrap: str) -> np.ndarray:
    """Small blocks: small graphs need few random numbers, and block ends must not matter."""
    setting = {"num_bootstrap": N_0, "edges_per_node": M, "bootstrap": bootstrap}
    rows = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generate, "BLOCK", 64)
        for seed in range(REPEATS):
            graph = generate_graph(SIZES, TARGETS[target], seed=seed, **setting)
            rows.append(summary(graph.labels, graph.adjacency.toarray()))
    return np.array(rows)


def plain_summaries(
    target: str, bootstrap: str, weigh: Weigh = mul, repeats: int = REPEATS
) -> np.ndarray:
    graphs = (plain_graph(TARGETS[target], bootstrap, s, weigh) for s in range(repeats))
    return np.array([summary(*graph) for graph in graphs])


@pytest.mark.parametrize(
    ("target", "bootstrap"), [("full", "paper"), ("full", "authors"), ("zeros", "authors")]
)
def test_agrees_with_the_plain_algorithm(target, bootstrap):
    assert compare(our_summaries(target, bootstrap), plain_summaries(target, bootstrap)) > 1e-3


@pytest.mark.parametrize(
    "wrong",
    [
        lambda H, degree: H,
        lambda H, degree: degree,
        lambda H, degree: H * (degree + 1),
        lambda H, degree: H**0.5 * degree,
    ],
    ids=["ignores degree", "ignores H", "one degree too many", "root of H"],
)
def test_wrong_generators_are_told_apart(wrong):
    """The control of the test above: the same comparison rejects what is not Algorithm 1."""
    theirs = plain_summaries("full", "paper", wrong, repeats=300)
    assert compare(our_summaries("full", "paper"), theirs) < 1e-6


def test_bootstraps_are_told_apart():
    assert compare(our_summaries("full", "paper"), our_summaries("full", "authors")) < 1e-6


# -- structure ----------------------------------------


@pytest.mark.parametrize("bootstrap", ["paper", "authors"])
def test_same_seed_same_graph(bootstrap):
    def make(seed: int) -> Graph:
        H = mixhop_compatibility(3, 0.3)
        return generate_graph([200, 100, 50], H, 30, 4, seed=seed, bootstrap=bootstrap)

    one, same, other = make(7), make(7), make(8)
    assert (one.adjacency != same.adjacency).nnz == 0
    np.testing.assert_array_equal(one.labels, same.labels)
    assert (one.adjacency != other.adjacency).nnz > 0


def test_paper_bootstrap_is_a_chain():
    graph = generate_graph([40, 40], uniform_compatibility(2, 0.2), 20, 3)
    head = graph.adjacency.toarray()[:20, :20]
    np.testing.assert_array_equal(head, np.eye(20, k=1) + np.eye(20, k=-1))


def test_authors_bootstrap_leaves_node_0_out_and_balances_the_head():
    graph = generate_graph([40, 80], uniform_compatibility(2, 0.2), 20, 3, bootstrap="authors")
    head = graph.adjacency.toarray()[:20, :20]
    chain = np.eye(20, k=1) + np.eye(20, k=-1)
    chain[0, 1] = chain[1, 0] = 0
    np.testing.assert_array_equal(head, chain)
    assert np.bincount(graph.labels[:6]).tolist() == [3, 3]
    assert np.bincount(graph.labels).tolist() == [40, 80]


@pytest.mark.parametrize("h", [0.0, 1.0])
def test_authors_keep_zero_compatibility_exactly(h):
    H = mixhop_compatibility(10, h)
    for seed in range(3):
        graph = generate_graph(PAPER_SIZES, H, bootstrap="authors", seed=seed)
        assert (class_pair_counts(graph)[H == 0] == 0).all()


def test_paper_breaks_zero_compatibility_in_the_chain_only():
    H = mixhop_compatibility(10, 0.0)
    graph = generate_graph(PAPER_SIZES, H)
    source, target = graph.adjacency.nonzero()
    alike = graph.labels[source] == graph.labels[target]
    assert alike.any()
    assert (np.maximum(source, target)[alike] < 70).all()


def test_every_later_node_brings_m_edges():
    graph = generate_graph([500, 500], uniform_compatibility(2, 0.9), 10, 7)
    source, target = graph.adjacency.nonzero()
    brought = np.bincount(source[target < source], minlength=1000)
    assert brought[:10].tolist() == [0] + [1] * 9
    assert (brought[10:] == 7).all()


# -- inputs on the edge ----------------------------------------


def test_too_few_compatible_nodes_are_all_joined():
    """Two classes that only meet each other, one of them with three nodes: no node can find 6."""
    H = mixhop_compatibility(2, 0.0)
    start = time.process_time()
    with pytest.warns(GraphNotice, match="could reach fewer than 6 compatible nodes"):
        graph = generate_graph([3, 8_000], H, num_bootstrap=6)
    assert time.process_time() - start < 10
    assert len(graph.notices) == 1
    rare = np.flatnonzero(graph.labels == 0)
    late = np.flatnonzero(graph.labels == 1)
    late = late[late > rare.max()]
    assert len(late) > 0
    assert (graph.adjacency[late][:, rare].sum(axis=1) == graph.degrees[late]).all()


def test_a_class_missing_from_the_paper_bootstrap_stays_alone_at_full_homophily():
    sizes, H = [50, 50], np.eye(2)
    for seed in range(100):
        with pytest.warns(GraphNotice) as caught:
            graph = generate_graph(sizes, H, num_bootstrap=3, edges_per_node=2, seed=seed)
        if len(set(graph.labels[:3].tolist())) == 1:
            break
    missing = 1 - graph.labels[0]
    assert (graph.degrees[graph.labels == missing] == 0).all()
    assert "50 of these could reach none" in str(caught[0].message)


def test_near_exclusive_classes_take_bounded_time():
    """A node whose first choices are three nodes must still find six, not redraw for ever."""
    H = np.array([[1e-9, 1 - 1e-9], [1 - 1e-9, 1e-9]])
    start = time.process_time()
    graph = generate_graph([3, 8_000], H, num_bootstrap=10)
    assert time.process_time() - start < 10
    assert graph.num_edges == 9 + 6 * (8_003 - 10)
    assert graph.notices == ()


def test_one_class_is_barabasi_albert():
    graph = generate_graph([300], [[1.0]], 5, 3)
    assert graph.num_edges == 4 + 3 * 295


GOOD = {
    "class_sizes": [30, 30],
    "compatibility": [[0.2, 0.8], [0.8, 0.2]],
    "num_bootstrap": 12,
    "edges_per_node": 3,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"class_sizes": [30, 0]}, "'class_sizes' must be at least 1 each. Got 0."),
        (
            {"class_sizes": [30, 2.5]},
            "'class_sizes' must be a list of integers, one for each class.",
        ),
        ({"class_sizes": []}, "'class_sizes' must be a list of integers, one for each class."),
        (
            {"compatibility": [["a", "b"], ["c", "d"]]},
            "'compatibility' must be a matrix of numbers",
        ),
        (
            {"compatibility": np.eye(3)},
            r"'compatibility' must be 2 × 2, one row for each class. Got \(3",
        ),
        ({"compatibility": [[1.2, -0.2], [0, 1]]}, r"must have entries in \[0, 1\]. Got -0.2 to"),
        ({"compatibility": np.full((2, 2), np.nan)}, r"must have entries in \[0, 1\]. Got nan"),
        ({"compatibility": [[0.5, 0.5], [0.5, 0.4]]}, "must sum to 1. Got 0.9 in row 1."),
        ({"num_bootstrap": 60}, r"'num_bootstrap' must be below the number of nodes \(60\)."),
        ({"num_bootstrap": 2}, "'num_bootstrap' must be at least 3. Got 2."),
        ({"num_bootstrap": 5, "bootstrap": "authors"}, "must be at least 6. Got 5."),
        ({"class_sizes": [58, 2], "bootstrap": "authors"}, "be at least 3, the edges per node"),
        ({"edges_per_node": 0}, "'edges_per_node' must be at least 1. Got 0."),
        ({"edges_per_node": 2.0}, "'edges_per_node' must be a whole number. Got 2.0."),
        ({"bootstrap": "chain"}, "'bootstrap' must be 'paper' or 'authors'. Got 'chain'."),
        ({"seed": -1}, "'seed' must be at least 0. Got -1."),
    ],
)
def test_errors_say_what_must_be(change, message):
    assert generate_graph(**GOOD).num_nodes == 60
    with pytest.raises(InputError, match=message):
        generate_graph(**GOOD | change)


# -- speed ----------------------------------------


def cpu_seconds(size: int, repeats: int) -> float:
    """The least of a few runs: other work on the machine only ever adds."""
    H, seconds = mixhop_compatibility(10, 0.3), []
    for seed in range(repeats):
        start = time.process_time()
        generate_graph([size // 10] * 10, H, seed=seed)
        seconds.append(time.process_time() - start)
    return min(seconds)


def test_ten_thousand_nodes_are_fast():
    """Takes 0.1 s; a plain scan 100 s."""
    assert cpu_seconds(10_000, repeats=5) < 0.2


@pytest.mark.slow
def test_a_million_nodes_take_seconds():
    """Aim 15 s, of which it takes 10 to 13; a third more leaves room for slow machines."""
    assert cpu_seconds(1_000_000, repeats=1) < 20
