"""What is described is what is built."""

from __future__ import annotations

import pytest
import torch

from cpgnn.errors import InputError
from cpgnn.model import Architecture
from toys import toy


@pytest.mark.parametrize("num_features", [None, 4])
@pytest.mark.parametrize("prior", ["mlp", "cheby", "link"])
def test_weight_shapes_are_those_of_the_built_model(prior, num_features):
    graph = toy(0, num_features=num_features).graph
    for order in (0, 2, 3):
        architecture = Architecture(prior, 2, hidden=6, order=order, normalization="sym")
        model = architecture.build(graph)
        built = {name: tuple(tensor.shape) for name, tensor in model.state_dict().items()}
        assert architecture.weight_shapes(graph) == built
        assert (model.prior.kind, model.num_layers, model.normalization) == (prior, 2, "sym")


def test_the_seed_makes_the_weights():
    graph = toy(0).graph
    one, same, other = (Architecture("mlp").build(graph, seed=seed) for seed in (1, 1, 2))
    assert torch.equal(one.prior.W_1, same.prior.W_1)
    assert not torch.equal(one.prior.W_1, other.prior.W_1)


@pytest.mark.parametrize(
    ("prior", "num_features", "inductive"),
    [
        ("mlp", 3, True),
        ("cheby", 3, True),
        ("link", 3, False),
        ("mlp", None, False),
        ("cheby", None, False),
        ("link", None, False),
    ],
)
def test_only_weights_on_features_mean_something_for_new_nodes(prior, num_features, inductive):
    assert Architecture(prior).is_inductive(num_features) == inductive


def test_names():
    assert str(Architecture("mlp", 2)) == "MLP-2"
    assert str(Architecture("cheby", 1, dropout=0.5)) == "Cheby-1, dropout 0.5"
    assert str(Architecture("link", 0)) == "LINK-0"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prior": "gcn"}, r"'prior' must be 'mlp', 'cheby' or 'link'\. Got 'gcn'"),
        ({"num_layers": -1}, r"'num_layers' must be at least 0\. Got -1"),
        ({"num_layers": 1.5}, r"'num_layers' must be a whole number\. Got 1\.5"),
        ({"hidden": 0}, r"'hidden' must be at least 1\. Got 0"),
        ({"order": -1}, r"'order' must be at least 0\. Got -1"),
        ({"dropout": 1.0}, r"'dropout' must lie in \[0, 1\)\. Got 1\.0"),
        ({"normalization": "l2"}, r"'normalization' must be 'none', 'sym' or 'row'\. Got 'l2'"),
    ],
)
def test_refusals(options, message):
    with pytest.raises(InputError, match=message):
        Architecture(**options)
