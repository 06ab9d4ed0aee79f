"""What the training loop reads off the logits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from cpgnn.loop import Target
from cpgnn.selection import Split
from toys import toy


@pytest.mark.parametrize("by_columns", [False, True])
@pytest.mark.parametrize("equals", [False, True])
def test_the_first_of_equal_logits_is_predicted(by_columns, equals):
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
