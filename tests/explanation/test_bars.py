"""The bars of a node add up to the difference of its two best logits."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn import explain
from cpgnn.explanation.bars import bars
from toys import random_model, toy


@pytest.mark.parametrize("num_layers", [0, 1, 2])
@pytest.mark.parametrize("top", [1, 3, 100])
def test_bars_add_up(num_layers, top):
    graph = toy(4, n=20, weighted=True).graph
    made = explain(random_model(graph, prior="mlp", num_layers=num_layers), graph)
    for i in range(20):
        drawn = bars(made, i, top)
        best, second = np.sort(made.logits[i])[::-1][:2]
        total = sum(bar.margin for bar in drawn)
        assert total == pytest.approx(best - second, abs=1e-4 * max(1.0, float(abs(best))))
        neighbours = [bar for bar in drawn if bar.kind == "neighbour"]
        degree = int((graph.adjacency.toarray()[i] > 0).sum()) if num_layers else 0
        assert len(neighbours) == min(top, degree)
        assert any("more neighbours" in bar.name for bar in drawn) == (degree > top)
        sizes = [abs(bar.margin) for bar in neighbours]
        assert sizes == sorted(sizes, reverse=True)
