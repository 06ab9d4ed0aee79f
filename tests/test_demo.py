"""The built-in example shows what it promises."""

from __future__ import annotations

import numpy as np

from cpgnn.compatibility import compatibility_error
from cpgnn.demo import draw_demo, example_graph, run_demo


def test_cpgnn_beats_the_others_and_finds_which_classes_connect(tmp_path):
    begun = []
    demo = run_demo(seed=0, begin=lambda name, epochs: begun.append(name))
    assert begun == ["MLP-1", "without the graph", "GCN"]
    cpgnn, *others = demo.accuracy.values()
    assert cpgnn.low > max(other.high for other in others)
    before, after = (compatibility_error(H, demo.true) for H in (demo.initial, demo.found))
    assert after < before / 2
    np.testing.assert_allclose(demo.found.sum(axis=1), 1)
    np.testing.assert_allclose(demo.homophily, 0.1, atol=0.02)
    draw_demo(demo, tmp_path / "demo.png")
    assert (tmp_path / "demo.png").read_bytes().startswith(b"\x89PNG")


def test_example_graph_depends_on_the_seed_alone():
    one, two, other = example_graph(3), example_graph(3), example_graph(4)
    assert (one.adjacency != two.adjacency).nnz == 0
    np.testing.assert_array_equal(one.features, two.features)
    assert (one.adjacency != other.adjacency).nnz > 0
