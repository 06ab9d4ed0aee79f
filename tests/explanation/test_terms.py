"""The terms of a node add up to the difference of its two best logits."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn import explain
from cpgnn.explanation.terms import terms
from toys import random_model, toy


@pytest.mark.parametrize("num_layers", [0, 1, 2])
@pytest.mark.parametrize("top", [1, 3, 100])
def test_terms_add_up(num_layers, top):
    graph = toy(4, n=20, weighted=True).graph
    made = explain(random_model(graph, prior="mlp", num_layers=num_layers), graph)
    for i in range(20):
        listed = terms(made, i, top)
        best, second = np.sort(made.logits[i])[::-1][:2]
        total = sum(term.margin for term in listed)
        assert total == pytest.approx(best - second, abs=1e-4 * max(1.0, float(abs(best))))
        neighbours = [term for term in listed if term.kind == "neighbour"]
        degree = int((graph.adjacency.toarray()[i] > 0).sum()) if num_layers else 0
        assert len(neighbours) == min(top, degree)
        assert any("the other" in term.name for term in listed) == (degree > top)
        sizes = [abs(term.margin) for term in neighbours]
        assert sizes == sorted(sizes, reverse=True)
