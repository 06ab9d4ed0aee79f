"""The baselines' formulas derived a second time: dense NumPy on a few nodes, and PyG's layers."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from scipy.sparse.linalg import ArpackNoConvergence

from cpgnn.baselines import GAT, GCN, H2GCN, GCNCheby, GraphSAGE, MixHop, gat, h2gcn, operators
from cpgnn.baselines.operators import largest_eigenvalue, two_hops
from cpgnn.graph import Graph
from toys import Toy, array, planted, toy

EXAMPLES = [
    toy(0, 6, isolated=0),
    toy(1, 6),
    toy(2, 9, sparse=True),
    toy(3, 9, num_features=None),
    toy(4, 12, density=0.2, isolated=3),
]
on_toys = pytest.mark.parametrize("example", EXAMPLES, ids=range(len(EXAMPLES)))


def relu(Z: np.ndarray) -> np.ndarray:
    return np.maximum(Z, 0)


def symmetric(A: np.ndarray) -> np.ndarray:
    """D^-½ A D^-½, with 0 for nodes without edges."""
    degree = A.sum(axis=1)
    scale = np.where(degree > 0, 1 / np.sqrt(np.maximum(degree, 1)), 0)
    return scale[:, None] * A * scale


def with_loops(example: Toy) -> np.ndarray:
    return symmetric(example.A + np.eye(example.n))


def close(model: torch.nn.Module, example: Toy, expected: np.ndarray) -> None:
    model.eval()
    np.testing.assert_allclose(array(model(example.graph)), expected, rtol=1e-4, atol=1e-5)


@on_toys
def test_gcn(example: Toy) -> None:
    model = GCN(example.graph, hidden=8)
    W_1, W_2, A_hat = array(model.W_1), array(model.W_2), with_loops(example)
    close(model, example, A_hat @ relu(A_hat @ example.X @ W_1) @ W_2)


@on_toys
def test_gcn_cheby(example: Toy) -> None:
    model = GCNCheby(example.graph, hidden=8)
    laplacian = np.eye(example.n) - symmetric(example.A)
    L = 2 / np.linalg.eigvals(laplacian).real.max() * laplacian - np.eye(example.n)
    T = [np.eye(example.n), L, 2 * L @ L - np.eye(example.n)]
    R = relu(sum(T[i] @ example.X @ W for i, W in enumerate(np.split(array(model.W_1), 3, 1))))
    close(model, example, sum(T[i] @ R @ W for i, W in enumerate(np.split(array(model.W_2), 3, 1))))


def test_the_largest_eigenvalue_of_the_laplacian_of_some_graphs() -> None:
    n = 60
    complete = np.ones((n, n)) - np.eye(n)
    bipartite = np.kron([[0, 1], [1, 0]], np.ones((n // 2, n // 2)))
    circle = np.roll(np.eye(n - 1), 1, axis=0) + np.roll(np.eye(n - 1), -1, axis=0)
    for A, expected in (
        (complete, n / (n - 1)),
        (complete[:5, :5], 5 / 4),
        (bipartite, 2.0),
        (circle, 1 + np.cos(np.pi / (n - 1))),  # an odd one
        (np.zeros((n, n)), 1.0),
    ):
        graph = Graph.from_scipy(sp.csr_array(A), labels=np.arange(len(A)) % 2)
        assert largest_eigenvalue(graph) == pytest.approx(expected, abs=1e-5)


def test_an_eigenvalue_that_is_not_found_counts_as_its_bound(monkeypatch) -> None:
    def gives_up(*_, **__):
        raise ArpackNoConvergence("gave up after %s", np.array([]), np.array([]))

    monkeypatch.setattr(operators, "eigsh", gives_up)
    assert largest_eigenvalue(planted(n=80)) == 2.0


@on_toys
def test_graphsage(example: Toy) -> None:
    model = GraphSAGE(example.graph, hidden=8)
    mean = example.A / np.maximum(example.A.sum(axis=1, keepdims=True), 1)
    R = example.X
    for W in (model.W_1, model.W_2):
        R = relu(np.hstack([R, mean @ R]) @ array(W))
    close(model, example, R @ array(model.W_3))


@on_toys
def test_mixhop(example: Toy) -> None:
    model = MixHop(example.graph, hidden=8)
    with torch.no_grad():
        model.q.copy_(torch.tensor([0.5, -1.0, 0.2]))
        model.shift.normal_(generator=torch.Generator().manual_seed(0))
    assert model.widths == [3, 3, 2]
    length = np.linalg.norm(example.X, axis=1, keepdims=True)
    X = example.X / np.where(length > 0, length, 1)
    A_hat = with_loops(example)
    powers = [np.eye(example.n), A_hat, A_hat @ A_hat]
    Z = np.hstack([P @ X @ array(W) for P, W in zip(powers, model.W, strict=True)])
    Z = (Z - Z.mean(axis=0)) / np.sqrt(Z.var(axis=0) + 1e-3) + array(model.shift)
    weight = np.exp(array(model.q)) / np.exp(array(model.q)).sum()
    V = np.split(array(model.V), 3, axis=1)
    parts = zip(weight, powers, V, strict=True)
    close(model, example, sum(w * P @ relu(Z) @ v for w, P, v in parts))


def distances(A: np.ndarray) -> np.ndarray:
    """Length of the shortest path between every two nodes, by breadth-first search."""
    n = len(A)
    distance = np.full((n, n), np.inf)
    for start in range(n):
        distance[start, start], front, steps = 0, {start}, 0
        while front:
            steps += 1
            front = {int(v) for u in front for v in np.flatnonzero(A[u])}
            front = {v for v in front if distance[start, v] == np.inf}
            for v in front:
                distance[start, v] = steps
    return distance


@on_toys
def test_two_hops_are_the_pairs_at_distance_two(example: Toy) -> None:
    expected = symmetric((distances(example.A) == 2).astype(float))
    np.testing.assert_allclose(two_hops(example.graph).toarray(), expected, rtol=1e-6)
    assert two_hops(example.graph) is two_hops(example.graph)


@on_toys
@pytest.mark.parametrize("with_relu", [True, False])
@pytest.mark.parametrize("folded", [True, False])
def test_h2gcn(
    example: Toy, with_relu: bool, folded: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Without dropout W is folded in; with it, the rounds are written out.
    monkeypatch.setattr(h2gcn, "dropped", lambda values, p: values)
    graph = example.graph.with_features(example.graph.features)  # a copy without cached matrices
    model = H2GCN(graph, hidden=8, relu=with_relu)
    S_1, S_2 = symmetric(example.A), symmetric((distances(example.A) == 2).astype(float))
    R = example.X @ array(model.W_0)
    rounds = [relu(R) if with_relu else R]
    for _ in range(2):
        rounds.append(np.hstack([S_1 @ rounds[-1], S_2 @ rounds[-1]]))
    expected = np.hstack(rounds) @ array(model.W)
    model.train(not folded)
    np.testing.assert_allclose(array(model(graph)), expected, rtol=1e-4, atol=1e-5)
    nodes = np.array([4, 0, 2])
    some = array(model(graph.view().of(nodes)))
    np.testing.assert_allclose(some, expected[nodes], rtol=1e-4, atol=1e-5)


@on_toys
def test_gat(example: Toy) -> None:
    model = GAT(example.graph, hidden=4, heads=3)
    with torch.no_grad():
        model.attention_1.bias.normal_(generator=torch.Generator().manual_seed(0))
        model.attention_2.bias.normal_(generator=torch.Generator().manual_seed(1))
    linked = example.A + np.eye(example.n) > 0

    def attend(Z: np.ndarray, receive: np.ndarray, send: np.ndarray) -> np.ndarray:
        score = (Z @ receive)[:, None] + (Z @ send)[None, :]
        alpha = np.where(linked, np.exp(np.where(score > 0, score, 0.2 * score)), 0)
        return alpha / alpha.sum(axis=1, keepdims=True) @ Z

    heads = np.split(example.X @ array(model.W_1), 3, axis=1)
    one, two = model.attention_1, model.attention_2
    columns = zip(heads, array(one.att_dst)[0], array(one.att_src)[0], strict=True)
    R = np.hstack([attend(*column) for column in columns]) + array(one.bias)
    Z = np.where(R > 0, R, np.exp(np.minimum(R, 0)) - 1) @ array(model.W_2)
    expected = attend(Z, array(two.att_dst)[0, 0], array(two.att_src)[0, 0])
    close(model, example, expected + array(two.bias))


def edge_index(example: Toy) -> torch.Tensor:
    return torch.from_numpy(np.stack(np.nonzero(example.A)))


def test_gcn_is_that_of_pyg() -> None:
    from torch_geometric.nn import GCNConv

    example = toy(6, 12)
    model = GCN(example.graph, hidden=8).eval()
    first, second = GCNConv(4, 8, bias=False), GCNConv(8, 3, bias=False)
    with torch.no_grad():
        first.lin.weight.copy_(model.W_1.T)
        second.lin.weight.copy_(model.W_2.T)
        edges = edge_index(example)
        R = first(torch.from_numpy(example.X).float(), edges).relu()
        torch.testing.assert_close(model(example.graph), second(R, edges))


def test_gcn_cheby_is_that_of_pyg() -> None:
    from torch_geometric.nn import ChebConv
    from torch_geometric.utils import get_laplacian

    example = toy(6, 12)
    model = GCNCheby(example.graph, hidden=8).eval()
    edges = edge_index(example)
    places, values = get_laplacian(edges, normalization="sym")
    L = torch.zeros(12, 12).index_put(tuple(places), values, accumulate=True)
    largest = torch.linalg.eigvalsh(L)[-1]
    assert largest < 1.99
    first, second = ChebConv(4, 8, K=3, bias=False), ChebConv(8, 3, K=3, bias=False)
    with torch.no_grad():
        for conv, W in ((first, model.W_1), (second, model.W_2)):
            for part, block in zip(conv.lins, W.chunk(3, dim=1), strict=True):
                part.weight.copy_(block.T)
        R = first(torch.from_numpy(example.X).float(), edges, lambda_max=largest).relu()
        expected = second(R, edges, lambda_max=largest)
        torch.testing.assert_close(model(example.graph), expected)


def test_graphsage_is_that_of_pyg() -> None:
    from torch_geometric.nn import SAGEConv

    example = toy(6, 12)
    model = GraphSAGE(example.graph, hidden=8).eval()
    R, edges = torch.from_numpy(example.X).float(), edge_index(example)
    with torch.no_grad():
        for W in (model.W_1, model.W_2):
            half = len(W) // 2
            conv = SAGEConv(half, 8, bias=False)
            conv.lin_r.weight.copy_(W[:half].T)
            conv.lin_l.weight.copy_(W[half:].T)
            R = conv(R, edges).relu()
        torch.testing.assert_close(model(example.graph), R @ model.W_3)


def test_gat_drops_inputs_attention_and_values_in_training_alone(monkeypatch) -> None:
    example = toy(6, 12)
    shapes: list[tuple[float, ...]] = []

    def noted(values, p, training=True):
        shapes.append((*values.shape, p if training else 0.0))
        return values

    monkeypatch.setattr(gat, "dropped", noted)
    monkeypatch.setattr(torch.nn.functional, "dropout", noted)
    model = GAT(example.graph, hidden=4, heads=3, dropout=0.6)
    model(example.graph)
    entries = int((example.A > 0).sum()) + 12
    assert sorted(shapes) == sorted(
        [(entries, 3, 0.6), (12, 3, 4, 0.6), (12, 12, 0.6), (entries, 1, 0.6), (12, 1, 3, 0.6)]
    )
    shapes.clear()
    model.eval()(example.graph)
    assert {shape[-1] for shape in shapes} == {0.0}
