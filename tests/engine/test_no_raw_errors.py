"""What users hand over by mistake is refused in the grammar of `cpgnn.errors`, or simply works."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from torch import nn

from cpgnn import explain
from cpgnn.classifier import CPGNNClassifier
from cpgnn.doubt.labels import review_labels
from cpgnn.doubt.suggest import suggest
from cpgnn.errors import InputError
from cpgnn.evaluation.metrics import evaluate
from cpgnn.graph import Graph
from cpgnn.priors import MLPPrior
from cpgnn.selection.node_classifier import NodeClassifier
from cpgnn.splits import per_class_split, stratified_split
from cpgnn.synthetic.typed import Drawn, generate_typed_graph
from toys import planted

GRAPH = planted(n=80)
SHORT = {"num_layers": 1, "epochs": 1, "pretrain_epochs": 1}


@pytest.fixture(scope="module")
def fitted() -> CPGNNClassifier:
    return CPGNNClassifier("trees", budget="fast").fit(GRAPH)


@pytest.fixture(scope="module")
def loaded(fitted, tmp_path_factory) -> CPGNNClassifier:
    fitted.save(folder := tmp_path_factory.mktemp("model") / "m")
    return CPGNNClassifier.load(folder)


PARAMETERS = {
    "a share that is text": ({"validation": "x"}, r"'validation' must be a number\. Got 'x'"),
    "dropout that is text": ({"dropout": "x"}, r"'dropout' must be a number\. Got 'x'"),
    "the class of a prior": (
        {"prior": MLPPrior},
        r"'prior' must be a function \(graph, seed\).*Got <class .*MLPPrior.*Try prior=lambda",
    ),
    "a made prior": ({"prior": MLPPrior(GRAPH)}, r"'prior' must be a function \(graph, seed\)"),
    "a word for no": (
        {"self_training": "no"},
        r"'self_training' must be True or False\. Got 'no'",
    ),
    "a word for yes": (
        {"calibrate": "yes"},
        r"'calibrate' must be None, True or False\. Got 'yes'",
    ),
    "layers of trees": (
        {"prior": "trees", "num_layers": 2},
        r"'num_layers' must go with .* not prior='trees'\. Got 2\. Leave it out, or try prior='m",
    ),
    "hidden units of smoothed": (
        {"prior": "smoothed", "hidden": 8},
        r"'hidden' must go with a prior of the paper's models, not prior='smoothed'\. Got 8",
    ),
    "a preset of trees": ({"prior": "trees", "preset": "paper"}, r"'preset' must go with"),
    "epochs of trees": ({"prior": "trees", "epochs": 5}, r"'epochs' must go with"),
    "dropout of trees": ({"prior": "trees", "dropout": 0.5}, r"'dropout' must go with"),
    "the norm of trees": ({"prior": "trees", "normalization": "sym"}, r"'normalization' must go"),
}


@pytest.mark.parametrize(("options", "message"), PARAMETERS.values(), ids=PARAMETERS)
def test_parameters(options, message):
    with pytest.raises(InputError, match=message):
        CPGNNClassifier(**options).fit(GRAPH)


def test_priors_of_the_callers_own_are_functions_or_classes_of_a_graph_and_a_seed():
    class Own(nn.Module):
        def __init__(self, graph, seed):
            super().__init__()
            self.inner = MLPPrior(graph, hidden=4, seed=seed)

        def forward(self, graph):
            return self.inner(graph)

    one = CPGNNClassifier(Own, **SHORT).fit(GRAPH).logits()
    two = CPGNNClassifier(lambda g, seed: MLPPrior(g, hidden=4, seed=seed), **SHORT).fit(GRAPH)
    np.testing.assert_array_equal(one, two.logits())


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ([("a", 1)] * 80, r"'labels' must have one entry for each of 80 nodes\. Got \(80, 2\)"),
        ([("a",), ("a", 1)] * 40, r"'labels' must be one class for each node.*different lengths"),
        (
            [-2, 0, 1, 2] * 20,
            r"'labels' must be at least -1 \(unknown\)\. Got -2\. Give .* as text",
        ),
    ],
)
def test_labels(labels, message):
    with pytest.raises(InputError, match=message):
        GRAPH.with_labels(labels)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1, 2], r"'sample_weight' must be numbers, one for each of 80 nodes\. Got int64"),
        (["a"] * 80, r"'sample_weight' must be numbers"),
        (np.zeros(80), r"'sample_weight' must be finite, .* above 0 for some"),
        (-np.ones(80), r"'sample_weight' must be finite, not negative"),
        (np.full(80, np.nan), r"'sample_weight' must be finite"),
    ],
)
def test_weights_of_a_score(fitted, weight, message):
    with pytest.raises(InputError, match=message):
        fitted.score(GRAPH, sample_weight=weight)


def test_a_weighted_score_is_the_share_of_the_weight(fitted):
    names, weight = np.array(GRAPH.class_names), np.arange(80)
    right = fitted.predict() == names[GRAPH.labels]
    expected = weight[right].sum() / weight.sum()
    assert fitted.score(GRAPH, sample_weight=weight.tolist()) == pytest.approx(expected)


def test_what_needs_a_fit_and_its_graph(loaded):
    with pytest.raises(NotFittedError):
        review_labels(CPGNNClassifier())
    with pytest.raises(InputError, match="'graph' must be given to a model loaded without"):
        review_labels(loaded)


def test_nobody(fitted):
    made = explain(fitted, nodes=[], features=2).to_frame()
    assert made.empty
    assert (
        made.columns.tolist() == explain(fitted, nodes=[0], features=2).to_frame().columns.tolist()
    )
    with pytest.raises(InputError, match=r"nodes to evaluate must be at least one\. Got none"):
        evaluate(np.empty((0, 3)), np.empty(0, dtype=int), ["a", "b", "c"])


@pytest.mark.parametrize("alpha", ["x", None])
def test_a_coverage_that_is_no_number(fitted, alpha):
    with pytest.raises(InputError, match="'alpha' must be a number"):
        fitted.predict_set(alpha)


@pytest.mark.parametrize("split", [stratified_split, per_class_split])
def test_splits_of_labels_as_they_come(split):
    codes = np.array([0, 1, -1] * 20)
    expected = split(codes, seed=3)
    text = np.array(["a", "b", None], dtype=object)[codes]
    for labels in (codes.tolist(), text, text.tolist(), pd.Series(text), codes + 0.0):
        made = split(labels, seed=3)
        for part in ("train", "val", "test"):
            np.testing.assert_array_equal(getattr(made, part), getattr(expected, part))


def test_types_are_drawn():
    with pytest.raises(InputError, match=r"'types' must say how each is Drawn\. Got .*Try {'a': D"):
        generate_typed_graph([20, 20], {"a": np.eye(2)})
    assert generate_typed_graph([20, 20], {"a": Drawn(np.eye(2))}).num_nodes == 40


def test_ids_of_several_levels_are_tuples():
    ids = pd.MultiIndex.from_tuples([("a", 1), ("b", 2)])
    graph = Graph.from_edges([0], [1], node_ids=ids)
    assert graph.node_ids.tolist() == [("a", 1), ("b", 2)]
    assert graph.positions([("b", 2)]).tolist() == [1]
    assert graph.fingerprint() == Graph.from_edges([0], [1], node_ids=ids.tolist()).fingerprint()


def test_ids_that_are_tuples_are_rows_for_scikit_learn():
    places = nx.grid_2d_graph(8, 5)
    graph, nodes = Graph.from_networkx(places, label=None), list(places.nodes)
    model = NodeClassifier(graph, CPGNNClassifier("mlp", **SHORT))
    y = ["a", "b"] * 20
    made = model.fit(nodes, y).predict_proba(nodes[::-1])
    expected = CPGNNClassifier("mlp", **SHORT).fit(graph, y).predict_proba()
    np.testing.assert_allclose(made, expected[::-1])


def test_who_is_at_fault_is_named(fitted):
    labels = np.where(np.arange(80) % 2 == 0, GRAPH.labels, -1)
    model = CPGNNClassifier("trees", budget="fast").fit(GRAPH.with_labels(labels))
    with pytest.raises(InputError, match=r"'among' must hold positions of nodes without a label"):
        suggest(model, 3, among=np.array([0, 2]))
    with pytest.raises(InputError, match=r"The graph must have nodes without a label"):
        suggest(fitted, 3, among=np.array([0, 2]))
    model = CPGNNClassifier("link", **SHORT).fit(GRAPH.with_features(None))
    with pytest.raises(InputError, match=r"The graph must have no features, as in the fit\. Got 6"):
        model.scaler_(GRAPH)
