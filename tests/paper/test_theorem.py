"""Theorem 1: with H = I, no non-linearity and K = 1, CPGNN is a graph convolution."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from cpgnn.model import CPGNN
from cpgnn.propagation import propagate
from toys import Toy, array, softmax, toys


@given(toys(), st.integers(0, 2**16))
def test_forward_is_softmax_of_A_plus_I_times_X_theta(toy: Toy, seed):
    theta = np.random.default_rng(seed).normal(size=(toy.X.shape[1], toy.c))
    view = toy.graph.view(dtype=torch.float64)
    B_0 = view.features @ torch.from_numpy(theta)
    B_1 = propagate(view.operator(), B_0, torch.eye(toy.c, dtype=torch.float64), 1)
    expected = softmax((toy.A + np.eye(toy.n)) @ toy.X @ theta)
    np.testing.assert_allclose(array(torch.softmax(B_1, dim=1)), expected, atol=1e-10)


class LogBeliefs(nn.Module):
    """A prior whose softmax is what it was given: the model's own non-linearity undone."""

    def __init__(self, B: np.ndarray) -> None:
        super().__init__()
        self.R = nn.Parameter(torch.from_numpy(np.log(B)))

    def forward(self, graph):
        return self.R


@given(toys(), st.integers(0, 2**16))
def test_the_model_itself_adds_A_plus_I_times_its_centred_beliefs(toy: Toy, seed):
    """H = I is H̄ = I for beliefs centred around 1/c: B̄¹ = (A + I) B̄⁰."""
    B = softmax(np.random.default_rng(seed).normal(size=(toy.n, toy.c)))
    model = CPGNN(LogBeliefs(B), num_layers=1, H_bar=np.eye(toy.c)).double()
    expected = (toy.A + np.eye(toy.n)) @ (B - 1 / toy.c) + 1 / toy.c
    np.testing.assert_allclose(array(model(toy.graph)), expected, atol=1e-10)
