"""`explain`: the terms add up to the model's own logits, whatever the model is made of."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from torch import nn

from cpgnn import CPGNN, Architecture, CPGNNClassifier, Explanation, Graph, explain
from cpgnn.errors import InputError
from cpgnn.explanation.contributions import edge_share
from cpgnn.synthetic.generate import generate_graph, mixhop_compatibility
from toys import planted, random_model, toy

EXACT = {torch.float64: 1e-6, torch.float32: 1e-4}
"""Largest difference of terms and logits, relative to max(1, the node's largest |logit|)."""


def own_logits(model: CPGNN, graph: Graph) -> np.ndarray:
    with torch.no_grad():
        return model.eval()(graph).double().numpy()


def sums(made: Explanation) -> np.ndarray:
    """Adds the terms up by a plain loop."""
    total = made.prior + made.returning
    for i in range(len(made)):
        for row in range(made.pointer[i], made.pointer[i + 1]):
            total[i] += made.contributions[row]
    return total


@pytest.mark.parametrize("dtype", EXACT)
@pytest.mark.parametrize("prior", ["mlp", "cheby", "link"])
@pytest.mark.parametrize("num_layers", [0, 1, 2, 3])
@pytest.mark.parametrize(
    ("weighted", "kind"), [(False, "none"), (True, "none"), (True, "sym"), (True, "row")]
)
def test_terms_add_up_to_the_models_own_logits(dtype, prior, num_layers, weighted, kind):
    graph = toy(4, n=30, density=0.15, weighted=weighted).graph
    model = random_model(graph, dtype, prior=prior, num_layers=num_layers, normalization=kind)
    made = explain(model, graph)
    logits = own_logits(model, graph)
    np.testing.assert_array_equal(made.logits, logits)
    gap = np.abs(sums(made) - logits).max(axis=1)
    scale = np.abs(logits).max(axis=1).clip(min=1)
    assert (gap / scale).max() < EXACT[dtype]
    np.testing.assert_allclose(made.error, gap / scale, atol=1e-12)
    assert made.prior_kind == prior
    assert made.num_layers == num_layers


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_hubs_with_huge_logits(num_layers):
    """A star of 5,000 rays: logits in the thousands and more, still exact to 1e-4 of them."""
    n = 5001
    rays = np.arange(1, n)
    rng = np.random.default_rng(0)
    graph = Graph.from_edges(
        np.zeros(n - 1, dtype=int),
        rays,
        num_nodes=n,
        features=rng.normal(size=(n, 4)),
        labels=rng.integers(0, 3, n),
        class_names=["a", "b", "c"],
    )
    model = random_model(graph, prior="mlp", num_layers=num_layers)
    made = explain(model, graph, [0, 1])
    assert np.diff(made.pointer).tolist() == [5000, 1]
    assert np.abs(made.logits[0]).max() > 50
    assert made.error.max() < 1e-4


def test_the_prior_term_is_the_priors_probability():
    graph = toy(1).graph
    model = random_model(graph, prior="mlp", num_layers=2)
    made = explain(model, graph)
    with torch.no_grad():
        P = torch.softmax(model.prior(graph).double(), dim=1).numpy()
    np.testing.assert_allclose(made.prior, P, atol=1e-6)


def test_a_neighbour_that_is_taken_away_takes_its_term_along():
    """K = 1, no normalisation: without the edge the logit is lower by exactly that term."""
    whole = toy(2, n=8, density=0.5)
    model = random_model(whole.graph, torch.float64, prior="mlp", num_layers=1)
    made = explain(model, whole.graph, [0])
    u, v = np.nonzero(np.triu(whole.A))
    for row, neighbour in enumerate(made.neighbours):
        keep = ~((u == min(0, neighbour)) & (v == max(0, neighbour)))
        less = Graph.from_edges(
            u[keep], v[keep], num_nodes=8, features=whole.X, labels=whole.y
        ).with_labels(whole.y, whole.graph.class_names)
        gone = made.logits[0] - own_logits(model, less)[0]
        np.testing.assert_allclose(made.contributions[row], gone, atol=1e-9)


class Linear(nn.Module):
    def __init__(self, graph: Graph) -> None:
        super().__init__()
        self.linear = nn.Linear(graph.num_features, graph.num_classes)

    def forward(self, graph):
        return self.linear(torch.from_numpy(graph.features))


def test_a_custom_prior_and_the_state_of_the_model():
    graph = toy(1).graph
    model = CPGNN(Linear(graph), 2, H_bar=np.eye(3) / 2, num_classes=3).train()
    made = explain(model, graph, [0, 3, 3])
    assert model.training, "explaining must not switch dropout off for good"
    assert made.error.max() < 1e-4
    assert made.prior_kind == "custom"
    assert "custom" in made.words(0)
    np.testing.assert_array_equal(made.contributions[made.of(1)], made.contributions[made.of(2)])


@pytest.fixture(scope="module")
def fitted() -> CPGNNClassifier:
    graph = planted(seed=1, n=300, h=0.05, degree=8, signal=0.4)
    model = CPGNNClassifier("mlp", 1, epochs=60, pretrain_epochs=20, hidden=16).fit(graph)
    assert model.num_layers_ == 1, "this example is meant to need its edges"
    return model


def test_a_classifier_scales_features_itself(fitted, tmp_path):
    made = explain(fitted, nodes=[5, 200])
    np.testing.assert_array_equal(made.logits, fitted.logits()[[5, 200]])
    np.testing.assert_array_equal(made.probabilities, fitted.predict_proba()[[5, 200]])
    np.testing.assert_array_equal(made.edge_frequency, fitted.edge_frequency_)
    assert made.error.max() < 1e-4
    bare = explain(fitted.model_, fitted.scaler_(fitted.graph_), [5, 200])
    np.testing.assert_array_equal(bare.contributions, made.contributions)
    fitted.save(tmp_path / "model")
    again = CPGNNClassifier.load(tmp_path / "model", fitted.graph_)
    np.testing.assert_array_equal(explain(again, nodes=[5, 200]).total, made.total)


def test_labels_and_what_they_were_used_for(fitted):
    made, split = explain(fitted), fitted.split_
    assert (made.used_for[split.train] == "train").all()
    assert (made.used_for[split.val] == "val").all()
    np.testing.assert_array_equal(made.labels, fitted.graph_.labels)
    np.testing.assert_array_equal(
        made.neighbour_labels, fitted.graph_.labels[fitted.graph_.adjacency.indices]
    )


def test_another_graph_with_classes_in_another_order(fitted):
    """Labels keep their meaning by name; names the model does not know count as unknown."""
    other = planted(seed=2, n=50)
    renamed = other.with_labels(
        np.array(["c2", "new", "c0"], dtype=object)[np.arange(50) % 3]
    )  # sorted: c0, c2, new
    made = explain(fitted, renamed, [0, 1, 2])
    assert made.labels.tolist() == [2, -1, 0]
    assert (made.used_for == "").all()


def test_edge_share_is_a_mean_of_edge_frequency_rows(fitted):
    made = explain(fitted, nodes=[0])
    assert made.edge_share.sum() == pytest.approx(1)
    # The share of all edges that lead to a class is what one step of F keeps: π F = π.
    np.testing.assert_allclose(made.edge_share @ made.edge_frequency, made.edge_share, atol=1e-9)


def test_edge_share_agrees_with_the_edges_of_every_class():
    """Probabilities that are far off (30 % fraud, say) do not make it contradict its own table."""
    ends = np.array([0.3, 0.7])
    share = edge_share(ends, np.array([[0.0, 1.0], [0.1, 0.9]]))
    np.testing.assert_allclose(share, [1 / 11, 10 / 11])  # by hand: s_0 = 0.1 s_1
    np.testing.assert_allclose(edge_share(ends, np.eye(2)[::-1]), [0.5, 0.5])
    np.testing.assert_allclose(edge_share(ends, np.eye(2)), ends)  # no edge between them
    np.testing.assert_allclose(edge_share(ends, np.full((2, 2), np.nan)), ends)
    assert np.isnan(edge_share(np.zeros(2), np.eye(2))).all()


def test_what_cannot_be_explained(fitted):
    graph = fitted.graph_
    with pytest.raises(InputError, match=r"A node id must be one of the graph's\. Got 'nobody'"):
        explain(fitted, graph, ["nobody"])
    with pytest.raises(InputError, match="'graph' must be given with a bare CPGNN"):
        explain(fitted.model_)
    with pytest.raises(InputError, match="'model' must be a fitted CPGNNClassifier or a CPGNN"):
        explain(nn.Linear(2, 2), graph)


@pytest.mark.parametrize("num_layers", [1, 2, 3])
def test_ten_thousand_nodes_in_one_call(num_layers):
    """Seconds, and no loop over nodes: ten thousand cost far less than 200 times fifty."""
    graph = generate_graph([2000] * 5, mixhop_compatibility(5, 0.2), seed=0)
    model = Architecture("mlp", num_layers, normalization="sym").build(graph)
    with torch.no_grad():
        model.H_bar.copy_(torch.eye(5) - 0.2)
    explain(model, graph, [0])  # what the graph computes once

    def cpu(nodes: np.ndarray) -> tuple[float, Explanation]:
        started = time.process_time()
        made = explain(model, graph, nodes)
        return time.process_time() - started, made

    few = min(cpu(np.arange(50))[0] for _ in range(3))
    many, made = cpu(np.arange(10_000))
    assert len(made) == 10_000
    assert made.error.max() < 1e-4
    assert many < 10
    assert many < 100 * few
