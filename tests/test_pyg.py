"""The PyG module is our model: same weights, same logits, whatever PyG makes of a graph."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import cross_entropy
from torch_geometric.data import Data
from torch_geometric.loader import NeighborLoader
from torch_geometric.nn import GCNConv
from torch_geometric.sampler import BaseSampler, SamplerOutput
from torch_geometric.typing import WITH_PYG_LIB, WITH_TORCH_SPARSE
from torch_geometric.utils import add_self_loops, k_hop_subgraph, to_dense_adj, to_undirected

import cpgnn
from cpgnn.classifier import CPGNNClassifier
from cpgnn.compatibility import centering_penalty, initial_H_bar
from cpgnn.engine.initial import estimated_compatibility
from cpgnn.errors import InputError
from cpgnn.model import Architecture
from cpgnn.pyg import CPGNN, CPGNNConv
from cpgnn.settings import preset
from cpgnn.splits import Split
from toys import planted, toy

CASES = [
    (prior, K, how, weighted)
    for prior in ("mlp", "cheby")
    for K in (0, 1, 2)
    for how in ("none", "sym", "row")
    for weighted in (False, True)
]


def trained(prior: str, K: int, how: str, weighted: bool):
    """A model of ours with weights that are not symmetric, and its graph."""
    made = toy(3, n=12, weighted=weighted)
    model = Architecture(prior, K, hidden=5, normalization=how).build(made.graph, seed=4)
    with torch.no_grad():
        model.H_bar.copy_(torch.randn(3, 3, generator=torch.Generator().manual_seed(1)))
    return model.eval(), made.graph


@pytest.mark.parametrize(("prior", "K", "how", "weighted"), CASES)
def test_the_same_logits_as_ours(prior, K, how, weighted):
    model, graph = trained(prior, K, how, weighted)
    data = graph.to_pyg()
    weight = data.edge_weight if weighted else None
    logits = CPGNN.of(model)(data.x, data.edge_index, weight)
    expected = model(graph)
    scale = max(1.0, float(expected.detach().abs().max()))
    assert float((logits - expected).detach().abs().max()) < 1e-6 * scale


def test_sparse_features():
    graph = toy(3, sparse=True).graph
    model = Architecture("mlp", 1, hidden=5).build(graph, seed=4)
    data = graph.to_pyg()
    assert data.x.layout is torch.sparse_csr
    torch.testing.assert_close(CPGNN.of(model)(data.x, data.edge_index), model(graph))


def test_a_layer_is_a_sum_over_neighbours():
    """Against dense matrices from PyG's own `to_dense_adj`."""
    made = toy(5, n=8, weighted=True)
    data = made.graph.to_pyg()
    A = to_dense_adj(data.edge_index, edge_attr=data.edge_weight, max_num_nodes=8)[0]
    generator = torch.Generator().manual_seed(0)
    B, H_bar = (torch.randn(*size, generator=generator) for size in ((8, 3), (3, 3)))
    layer = CPGNNConv(3, H_bar)
    first = layer(B, data.edge_index, data.edge_weight)
    torch.testing.assert_close(first, B + A @ B @ H_bar)
    second = layer(first, data.edge_index, data.edge_weight, B)
    torch.testing.assert_close(second, B + A @ first @ H_bar)


def test_one_direction_made_undirected_and_self_loops_left_out():
    made = toy(2, n=9)
    model = Architecture("mlp", 2, hidden=5).build(made.graph, seed=4)
    with torch.no_grad():
        model.H_bar.copy_(torch.randn(3, 3, generator=torch.Generator().manual_seed(1)))
    data = made.graph.to_pyg()
    once = data.edge_index[:, data.edge_index[0] < data.edge_index[1]]
    both, _ = add_self_loops(to_undirected(once), num_nodes=9)
    torch.testing.assert_close(CPGNN.of(model)(data.x, both), model(made.graph))


@pytest.mark.parametrize("K", [1, 2])
def test_a_batch_by_hand_gives_the_logits_of_its_seeds(K):
    """What a neighbour loader cuts out when it takes all neighbours."""
    model, graph = trained("mlp", K, "none", False)
    data = graph.to_pyg()
    theirs = CPGNN.of(model)
    whole = theirs(data.x, data.edge_index)
    for seed in range(12):
        nodes, edges, place, _ = k_hop_subgraph(
            seed, K, data.edge_index, relabel_nodes=True, num_nodes=12
        )
        torch.testing.assert_close(theirs(data.x[nodes], edges)[place], whole[[seed]])


class Hops(BaseSampler):
    """For each hop the incoming edges of the nodes found last, at most `most` for each (-1: all).

    What PyG's own sampler cuts out, which needs pyg-lib or torch-sparse; in Python alone.
    """

    def __init__(self, data: Data, most: list[int]) -> None:
        self.edge_index, self.most = data.edge_index, most

    def sample_from_nodes(self, index, **kwargs):
        source, target = self.edge_index
        place = {int(v): i for i, v in enumerate(index.node)}
        found, edges = list(place), []
        for most in self.most:
            last, found = found, []
            for v in last:
                into = torch.nonzero(target == v).ravel().tolist()
                for e in into if most < 0 else into[:most]:
                    edges.append(e)
                    u = int(source[e])
                    if u not in place:
                        place[u] = len(place)
                        found.append(u)
        ends = [[place[int(v)] for v in end[edges]] for end in (source, target)]
        row, col, edge, node = (torch.tensor(made) for made in (*ends, edges, list(place)))
        return SamplerOutput(node, row, col, edge, metadata=(index.input_id, index.time))

    def sample_from_edges(self, index, neg_sampling=None):
        raise NotImplementedError


def batches(data: Data, most: list[int], sampler: str) -> NeighborLoader:
    made = Hops(data, most) if sampler == "python" else None
    order = torch.Generator().manual_seed(0)
    return NeighborLoader(
        data, most, batch_size=5, shuffle=True, neighbor_sampler=made, generator=order
    )


SAMPLERS = ["python", *(["pyg-lib"] if WITH_PYG_LIB or WITH_TORCH_SPARSE else [])]


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("K", [1, 2])
def test_a_batch_of_a_neighbour_loader(K, weighted, sampler):
    """With all neighbours within K hops, its seeds have the logits of the whole graph."""
    model, graph = trained("mlp", K, "none", weighted)
    data = graph.to_pyg()
    theirs = CPGNN.of(model)
    whole = model(graph)
    weight = {"edge_weight": data.edge_weight} if weighted else {}
    plain = Data(x=data.x, edge_index=data.edge_index, y=data.y, **weight)
    seen = []
    for batch in batches(plain, [-1] * K, sampler):
        seeds = batch.n_id[: batch.batch_size]
        made = theirs(batch.x, batch.edge_index, batch.edge_weight)[: batch.batch_size]
        torch.testing.assert_close(made, whole[seeds])
        assert batch.y.tolist() == data.y[batch.n_id].tolist()
        seen += seeds.tolist()
    assert sorted(seen) == list(range(12))


def test_a_loader_that_leaves_neighbours_out_only_comes_close():
    """What the test above would not notice if the batches held everything anyway."""
    model, graph = trained("mlp", 2, "none", False)
    data = graph.to_pyg()
    whole, theirs = model(graph), CPGNN.of(model)
    plain = Data(x=data.x, edge_index=data.edge_index)
    gap = 0.0
    for batch in batches(plain, [1, 1], "python"):
        made = theirs(batch.x, batch.edge_index)[: batch.batch_size]
        gap = max(gap, float((made - whole[batch.n_id[: batch.batch_size]]).detach().abs().max()))
    assert gap > 0.01


def test_our_layer_in_a_batch():
    made = toy(5, n=10)
    data = made.graph.to_pyg()
    generator = torch.Generator().manual_seed(0)
    B, H_bar = (torch.randn(*size, generator=generator) for size in ((10, 3), (3, 3)))
    layer = CPGNNConv(3, H_bar)
    whole = layer(B, data.edge_index)
    for batch in batches(Data(x=B, edge_index=data.edge_index), [-1], "python"):
        here = layer(batch.x, batch.edge_index)[: batch.batch_size]
        torch.testing.assert_close(here, whole[batch.n_id[: batch.batch_size]])


def test_training_on_batches():
    """A loop over a neighbour loader, as people write it, learns which classes connect."""
    graph = planted(n=60, c=2, h=0.05, degree=6, signal=2.0)
    data = graph.to_pyg()
    model = CPGNN(graph.num_features, 2, hidden=32, seed=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    plain = Data(x=data.x, edge_index=data.edge_index, y=data.y)
    for _ in range(10):
        for batch in batches(plain, [-1], "python"):
            logits = model(batch.x, batch.edge_index)[: batch.batch_size]
            optimizer.zero_grad()
            cross_entropy(logits, batch.y[: batch.batch_size]).backward()
            optimizer.step()
    assert model.H_bar[0, 1] > 0 > model.H_bar[0, 0]


def test_the_paper_s_training_in_a_loop_of_ones_own():
    graph = planted(n=200, c=2, h=0.05, degree=10, signal=0.4)
    data = graph.to_pyg()
    rng = np.random.default_rng(1)
    data.train_mask = torch.from_numpy(rng.random(200) < 0.4)
    model = CPGNN(graph.num_features, 2, hidden=16, seed=0)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)

    def epoch(layers: int) -> None:
        model.num_layers = layers
        optimizer.zero_grad()
        logits = model(data.x, data.edge_index)
        loss = cross_entropy(logits[data.train_mask], data.y[data.train_mask])
        (loss + centering_penalty(model.H_bar)).backward()
        optimizer.step()

    def accuracy() -> float:
        hits = model(data.x, data.edge_index).argmax(dim=1) == data.y
        return float(hits[~data.train_mask].float().mean())

    for _ in range(60):
        epoch(0)
    alone = accuracy()
    model.initialize(data.x, data.edge_index, data.y, data.train_mask)
    assert model.training
    for _ in range(60):
        epoch(1)
    assert accuracy() > alone + 0.1
    assert model.H_bar[0, 1] > 0 > model.H_bar[0, 0]


@pytest.mark.parametrize("weighted", [False, True])
def test_the_start_of_H_is_ours(weighted):
    made = toy(4, n=12, weighted=weighted)
    model = Architecture("mlp", 1, hidden=5).build(made.graph, seed=4)
    data = made.graph.to_pyg()
    mask = torch.arange(12) < 7
    theirs = CPGNN.of(model)
    weight = data.edge_weight if weighted else None
    H_hat = theirs.initialize(data.x, data.edge_index, data.y, mask, weight)
    split = Split(np.arange(7), [7], [])
    expected = estimated_compatibility(model, made.graph, split, preset("default"))
    np.testing.assert_allclose(H_hat, expected, atol=1e-6)
    np.testing.assert_allclose(theirs.H_bar.detach(), initial_H_bar(expected), atol=1e-6)


def test_any_module_can_be_the_prior():
    class Prior(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = GCNConv(4, 3)

        def forward(self, x, edge_index, edge_weight):
            return self.conv(x, edge_index, edge_weight)

    data = toy(1).graph.to_pyg()
    model = CPGNN(4, 3, 2, prior=Prior())
    torch.testing.assert_close(  # H̄ = 0: the beliefs of the prior
        model(data.x, data.edge_index), torch.softmax(model.prior(data.x, data.edge_index, None), 1)
    )
    assert {name for name, _ in model.named_parameters()} >= {"conv.H_bar", "prior.conv.bias"}


def test_a_fitted_classifier_as_a_module():
    graph = planted(n=60)
    fitted = CPGNNClassifier("mlp", 1, hidden=8, epochs=10, pretrain_epochs=5).fit(graph)
    data = fitted.scaler_(graph).to_pyg()
    logits = CPGNN.of(fitted.model_)(data.x, data.edge_index)
    np.testing.assert_allclose(logits.detach(), fitted.logits(), atol=1e-6)


def test_what_cannot_be_a_module():
    graph = toy(1).graph
    with pytest.raises(InputError, match=r"'prior' must be an MLPPrior .* Got LinkPrior\. A LINK"):
        CPGNN.of(Architecture("link", 1).build(graph))
    with pytest.raises(InputError, match=r"Got CPGNNClassifier\. Fit .* and give its model_"):
        CPGNN.of(CPGNNClassifier("mlp", 1))
    with pytest.raises(InputError, match="'H_bar' must be a 3 × 3 matrix"):
        CPGNNConv(3, torch.zeros(2, 2))
    with pytest.raises(InputError, match="'normalization' must be 'none', 'sym' or 'row'"):
        CPGNNConv(3, normalization="l2")
    with pytest.raises(InputError, match="'dropout' must lie in"):
        CPGNN(4, 3, dropout=1.0)
    assert CPGNN is not cpgnn.CPGNN
