"""A seed is a number, of Python or of NumPy; nothing is seeded globally."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.randomness import generator, seeded
from cpgnn.model import Architecture
from toys import planted

GRAPH = planted(n=80, signal=0.5)
SHORT = {"num_layers": 1, "hidden": 4, "epochs": 4, "pretrain_epochs": 4}


@pytest.mark.parametrize(
    ("prior", "options"),
    [
        ("auto", {"budget": "fast"}),
        ("mlp", SHORT),
        ("mlp", SHORT | {"dropout": 0.5}),
        ("link", SHORT | {"calibrate": True}),
    ],
)
def test_a_seed_of_numpy_is_that_of_python(prior, options):
    one, two = (
        CPGNNClassifier(prior, seed=seed, **options).fit(GRAPH).logits()
        for seed in (5, np.int64(5))
    )
    np.testing.assert_array_equal(one, two)


def test_every_weight_comes_from_the_seed():
    one, two = (Architecture("cheby", 2).build(GRAPH, seed=seed) for seed in (3, np.int32(3)))
    for name, weight in one.state_dict().items():
        assert torch.equal(weight, two.state_dict()[name]), name


def test_the_global_state_stays():
    before = torch.random.get_rng_state()
    drawn = torch.rand(3, generator=generator(np.uint8(7)))
    with seeded(np.int64(7)):
        assert torch.equal(torch.rand(3), drawn)
    assert torch.equal(torch.random.get_rng_state(), before)
