"""What the training loop reads off the logits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cpgnn.engine.loop import Target, gradients
from cpgnn.splits import Split
from toys import toy


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("equals", [False, True])
@pytest.mark.parametrize("few", [0, 4000])
def test_the_first_of_equal_logits_is_predicted(by_columns, equals, few, monkeypatch):
    monkeypatch.setattr("cpgnn.engine.loop.FEW", few)
    example = toy(0)
    rng = np.random.default_rng(0)
    shape = (example.n, example.c)
    logits = rng.integers(0, 2, shape) if equals else rng.normal(size=shape)
    nodes = rng.permutation(example.n)
    target = Target.of(example.graph.view(), Split(nodes[:3], nodes[3:], nodes[:0]))
    stored = torch.tensor(logits[nodes], dtype=torch.float32)
    stored = stored.t().contiguous().t() if by_columns else stored
    expected = logits[nodes].argmax(axis=1) == example.y[nodes]
    np.testing.assert_array_equal(target.hits(stored), expected)
    assert 0 < expected.sum() < example.n


def test_gradients_are_those_of_autograd_and_none_where_there_is_none():
    a, b, unused = (torch.randn(shape, requires_grad=True) for shape in ((3, 2), (2, 3), (3,)))

    def loss():
        return (a * b.exp().t()).sum()

    found = gradients(loss(), [a, b, unused])
    expected = torch.autograd.grad(loss(), [a, b])
    for one, other in zip(found, expected, strict=False):
        torch.testing.assert_close(one, other)
        assert one.is_contiguous()  # the fused Adam takes it for granted
    assert not expected[1].is_contiguous()
    assert found[2] is None
    assert a.grad is None
