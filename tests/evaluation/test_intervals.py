import numpy as np
import pytest
import scipy.sparse as sp

from cpgnn import Graph, compatibility_matrix, edge_frequency, enhanced_belief
from cpgnn.errors import InputError
from cpgnn.evaluation.intervals import DAMPING, edge_frequency_interval
from cpgnn.synthetic.generate import generate_graph, mixhop_compatibility

NOBODY = np.empty(0, dtype=np.int64)


def beliefs(labels, c, accuracy, seed=0):
    """One-hot beliefs that are right with this probability, else uniform over the others."""
    rng = np.random.default_rng(seed)
    wrong = (labels + rng.integers(1, c, size=len(labels))) % c
    return np.eye(c)[np.where(rng.random(len(labels)) < accuracy, labels, wrong)]


@pytest.fixture(scope="module")
def graph():
    return generate_graph([600, 300, 100], mixhop_compatibility(3, 0.2), seed=1)


def parts(graph, share, seed=0):
    nodes = np.random.default_rng(seed).permutation(graph.num_nodes)[: int(share * graph.num_nodes)]
    return nodes[::2], nodes[1::2]


def test_with_every_label_it_is_definition_2_and_certain(graph):
    train, val = parts(graph, 1.0)
    B = beliefs(graph.labels, 3, 0.4)
    made = edge_frequency_interval(graph.adjacency, graph.labels, train, val, B)
    H = compatibility_matrix(graph)
    for matrix in (made.share, made.low, made.high):
        np.testing.assert_allclose(matrix, H, atol=1e-12)
    assert made.method == "known edges and predictions"
    assert made.evidence.all()
    np.testing.assert_allclose(made.edges / made.edges.sum(axis=1, keepdims=True), H)


def test_without_validation_nodes_it_is_the_beliefs_alone(graph):
    train, _ = parts(graph, 0.2)
    B = np.random.default_rng(0).dirichlet(np.ones(3), size=graph.num_nodes)
    made = edge_frequency_interval(graph.adjacency, graph.labels, train, NOBODY, B)
    expected = edge_frequency(graph.adjacency, enhanced_belief(B, graph.labels, train))
    np.testing.assert_array_equal(made.share, expected)
    assert made.method == "beliefs"
    assert made.optimistic
    assert np.isnan(made.low).all()
    assert np.isnan(made.high).all()


def test_labels_of_other_nodes_are_never_looked_at(graph):
    train, val = parts(graph, 0.3)
    B = beliefs(graph.labels, 3, 0.8)
    hidden = np.full(graph.num_nodes, -1)
    hidden[train], hidden[val] = graph.labels[train], graph.labels[val]
    seen, blind = (
        edge_frequency_interval(graph.adjacency, y, train, val, B) for y in (graph.labels, hidden)
    )
    np.testing.assert_array_equal(seen.share, blind.share)
    np.testing.assert_array_equal(seen.high, blind.high)


def pairs_graph(n, p, seed=0):
    """n nodes of class 0, each joined to one neighbour of its own: class 1 with probability p,
    else class 2. The labelled row nodes are a sample of independent coin tosses."""
    rng = np.random.default_rng(seed)
    labels = np.concatenate([np.zeros(n, dtype=np.int64), np.where(rng.random(n) < p, 1, 2)])
    return Graph.from_edges(np.arange(n), np.arange(n) + n, labels=labels)


def test_spread_against_the_binomial():
    """1,000 nodes of class 0, each with one neighbour that is of class 1 or 2 by a coin toss, and
    one without a label. A known edge counts w_u·w_v times, each w with mean 1 and variance s², s
    the damping, so edges that share no end spread by (1 + s²)² − 1 times the binomial variance;
    half of the edges are known, so f = ½."""
    n, p = 1000, 0.3
    other = np.where(np.random.default_rng(0).random(n) < p, 1, 2)
    graph = Graph.from_edges(
        np.tile(np.arange(n), 2),
        np.arange(n, 3 * n),
        labels=np.concatenate([np.zeros(n, dtype=np.int64), other, np.full(n, 2)]),
    )
    known = np.arange(2 * n)
    B = np.tile([1.0, 0.0, 0.0], (3 * n, 1))  # class 0 is never a neighbour: worth nothing
    made = edge_frequency_interval(
        graph.adjacency, graph.labels, known[::2], known[1::2], B, resamples=2000
    )
    k = (other == 1).mean()
    assert made.share[0, 1] == pytest.approx(k, rel=0.01)
    half = (made.high[0, 1] - made.low[0, 1]) / 2
    binomial = np.sqrt(k * (1 - k) / n)
    times = (1 + DAMPING**2) ** 2 - 1
    assert half == pytest.approx(1.645 * binomial * np.sqrt(times * (1 - 0.5**2)), rel=0.08)


@pytest.mark.parametrize("accuracy", [0.5, 0.7])
def test_it_beats_beliefs_that_err(graph, accuracy):
    """The reason for being: on a graph whose H is known, closer to it than B̃ᵀAB̃."""
    H = compatibility_matrix(graph)
    errors = []
    for seed in range(3):
        train, val = parts(graph, 0.4, seed)
        B = beliefs(graph.labels, 3, accuracy, seed)
        made = edge_frequency_interval(graph.adjacency, graph.labels, train, val, B)
        known = np.concatenate([train, val])
        blurred = edge_frequency(graph.adjacency, enhanced_belief(B, graph.labels, known))
        errors.append([np.abs(made.share - H).mean(), np.abs(blurred - H).mean()])
        assert made.optimistic
    ours, theirs = np.mean(errors, axis=0)
    assert ours < 0.6 * theirs


def test_a_good_model_is_not_marked(graph):
    train, val = parts(graph, 0.4)
    B = beliefs(graph.labels, 3, 0.9)
    assert not edge_frequency_interval(graph.adjacency, graph.labels, train, val, B).optimistic


def test_classes_labelled_to_different_shares_do_not_bias_it(graph):
    """All of the rare class, a tenth of the others: known edges alone would overstate it."""
    H = compatibility_matrix(graph)
    rng = np.random.default_rng(0)
    known = np.flatnonzero((graph.labels == 2) | (rng.random(graph.num_nodes) < 0.15))
    known = rng.permutation(known)
    B = beliefs(graph.labels, 3, 0.9)
    made = edge_frequency_interval(graph.adjacency, graph.labels, known[::2], known[1::2], B)
    counted = made.edges / made.edges.sum(axis=1, keepdims=True)
    assert np.abs(made.share - H).mean() < np.abs(counted - H).mean() / 2


def payments(seed):
    """2,000 accounts: 50 thieves send to 100 mules, which send to everybody; nobody else is odd."""
    rng = np.random.default_rng(seed)
    y = rng.permutation(np.repeat([0, 1, 2], [1850, 50, 100]))
    to = np.array([[0.97, 0.01, 0.02], [0.15, 0.02, 0.83], [0.9, 0.02, 0.08]])
    source = np.repeat(np.arange(2000), 5)
    kinds = (rng.random(len(source))[:, None] > to[y[source]].cumsum(axis=1)).sum(axis=1)
    target = np.empty(len(source), dtype=np.int64)
    for k in range(3):
        target[kinds == k] = rng.choice(np.flatnonzero(y == k), (kinds == k).sum())
    pairs = np.unique(np.sort(np.stack([source, target]), axis=0)[:, source != target], axis=1)
    return Graph.from_edges(*pairs, num_nodes=2000, labels=y), rng


@pytest.mark.parametrize("seed", range(3))
def test_rare_classes_that_a_model_names_too_seldom(seed):
    """Half of the nodes are labelled, at random, so known edges are a fair sample. The model's
    probabilities are fair too, but hardly ever is a rare class the most probable: of held-out
    labels never, of the others sometimes. Neither may be taken for the number of their nodes."""
    graph, rng = payments(seed)
    y, H = graph.labels, compatibility_matrix(graph)
    known = rng.permutation(2000)[:1000]
    B = 0.7 * np.array([0.925, 0.025, 0.05]) + 0.3 * np.eye(3)[y]
    guess = np.setdiff1d(np.arange(2000), known)
    B[guess] = B[guess] + 0.3 * (np.eye(3)[y[guess]] - B[guess])  # surer where all labels train
    made = edge_frequency_interval(graph.adjacency, y, known[:0], known, B)
    counted = made.edges / made.edges.sum(axis=1, keepdims=True)
    assert np.abs(made.share - H).mean() < 0.04
    assert np.abs(made.share - H).mean() < 2.5 * np.abs(counted - H).mean()
    assert ((made.low <= H) & (made.high >= H)).mean() >= 7 / 9


def test_few_edges_or_few_that_hold_the_weight_are_marked():
    """A ring of 200 nodes, of which 150 are labelled: two of a rare class, or one payment that is
    worth all others."""
    n, ring = 200, np.arange(200)
    A = sp.coo_array((np.ones(n), (ring, (ring + 1) % n)), shape=(n, n)).tocsr()
    A, B, known = A + A.T, np.eye(2), ring[:150]

    def marked(A, y):
        return edge_frequency_interval(A, y, known[:0], known, B[y]).optimistic

    assert not marked(A, ring % 2)
    assert marked(A, ((ring >= 148) & (ring < 152)).astype(np.int64))
    heavy = A.tolil()
    heavy[0, 1] = heavy[1, 0] = 1e6
    assert marked(heavy.tocsr(), ring % 2)


def test_pairs_without_evidence_are_marked():
    # 0-1 edges are known; class 2 is known on one node whose neighbours are not labelled.
    graph = Graph.from_edges([0, 2, 4, 6], [1, 3, 5, 7], labels=[0, 1, 0, 1, 2, 0, 0, 1])
    train, val = np.array([0, 1, 4]), np.array([2, 3])
    B = np.eye(3)[graph.labels]
    made = edge_frequency_interval(graph.adjacency, graph.labels, train, val, B)
    assert made.evidence.tolist() == [True, True, False]
    assert np.isnan(made.low[2]).all()
    assert np.isnan(made.high[2]).all()
    np.testing.assert_allclose(made.share[2], [1, 0, 0])
    table = made.table(["a", "b", "c"])
    assert table["evidence"].tolist() == ["yes"] * 6 + ["no"] * 3
    assert len(table) == 9


def test_a_pair_never_seen_has_the_upper_end_of_seeing_none():
    graph = pairs_graph(400, 1.0)  # class 0 meets class 1 only
    labels = np.append(graph.labels, [2, 2])
    A = sp.block_diag([graph.adjacency, sp.csr_array([[0, 1], [1, 0]])]).tocsr()
    known = np.concatenate([np.arange(200), 400 + np.arange(100)])
    B = np.eye(3)[labels]
    made = edge_frequency_interval(A, labels, known[::2], known[1::2], B)
    assert made.low[0, 2] == 0
    f = 100 / 200
    assert made.high[0, 2] == pytest.approx((1 - 0.05 ** (1 / 100)) * np.sqrt(1 - f**2))
    assert made.high[0, 1] == 1
    assert made.low[0, 1] < 1


def test_weights_of_edges_have_no_unit(graph):
    train, val = parts(graph, 0.3)
    B = beliefs(graph.labels, 3, 0.8)
    plain, heavy = (
        edge_frequency_interval(A, graph.labels, train, val, B)
        for A in (graph.adjacency, 1000 * graph.adjacency)
    )
    np.testing.assert_allclose(plain.share, heavy.share, atol=1e-9)
    np.testing.assert_allclose(plain.high, heavy.high, atol=1e-9)


def test_seeds_and_confidence(graph):
    train, val = parts(graph, 0.3)
    B = beliefs(graph.labels, 3, 0.8)

    def made(**changes):
        return edge_frequency_interval(graph.adjacency, graph.labels, train, val, B, **changes)

    np.testing.assert_array_equal(made(seed=1).low, made(seed=1).low)
    assert not np.array_equal(made(seed=1).low, made(seed=2).low)
    wide, narrow = made(confidence=0.95), made(confidence=0.5)
    assert (wide.high - wide.low > narrow.high - narrow.low).all()
    assert ((wide.low <= wide.share) & (wide.share <= wide.high)).all()
    with pytest.raises(InputError, match=r"'confidence' must lie in .* Did you mean 0\.9"):
        made(confidence=90)
