"""What each relation tells, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.check import check
from cpgnn.check.relations import relation_worths
from cpgnn.graph import Graph
from cpgnn.synthetic.generate import uniform_compatibility
from cpgnn.synthetic.typed import Drawn, generate_typed_graph


def test_a_relation_that_determines_the_class_and_one_that_does_not():
    swap = np.array([[0.0, 1.0], [1.0, 0.0]])
    types = {
        "pays": Drawn(swap, 4, directed=True),
        "noise": Drawn(uniform_compatibility(2, 0.5), 4),
    }
    graph = generate_typed_graph([150, 150], types)
    found = {one.name: one for one in relation_worths(graph)}
    assert list(found)[:2] == ["pays (out)", "pays (in)"]
    assert found["pays (out)"].within == 0
    assert found["pays (out)"].informativeness == pytest.approx(1, abs=0.01)
    assert found["pays (out)"].tells
    assert found["noise"].informativeness == pytest.approx(0, abs=0.01)
    assert found["noise"].tells is False
    assert "edges" not in found


def test_information_by_hand():
    """Two classes; of 10 edges of A, 8 lead to A and 2 to B; of 10 of B, 8 to B."""
    u, v, y = [], [], [0, 1] + [0] * 10 + [1] * 10
    for own, start in ((0, 2), (1, 12)):
        for k in range(10):
            u.append(start + k)
            v.append(own if k < 8 else 1 - own)
    graph = Graph.from_edges(u, v, labels=y, directed=True)
    out = next(one for one in relation_worths(graph) if one.name == "out")
    bits = np.log(2) + 0.8 * np.log(0.8) + 0.2 * np.log(0.2)
    assert out.edges == 20
    assert out.within == pytest.approx(0.8)
    assert out.informativeness == pytest.approx((bits - 1 / 40) / np.log(2))


@pytest.mark.filterwarnings("ignore::cpgnn.errors.GraphNotice")
def test_chance_is_told_from_more_than_chance_as_often_as_promised():
    """An edge without a direction is one piece of evidence, not one from each end."""
    rng, told = np.random.default_rng(0), dict.fromkeys(("d (out)", "u"), 0)
    for _ in range(200):
        u, v = rng.integers(0, 300, (2, 800))
        types = np.repeat(["d", "u"], 400)
        y = rng.integers(0, 3, 300)
        graph = Graph.from_edges(u, v, num_nodes=300, labels=y, relation=types, directed=["d"])
        found = {one.name: one for one in relation_worths(graph)}
        assert found["u"].edges == graph.types[1].num_edges
        for name in told:
            told[name] += bool(found[name].tells)
    assert max(told.values()) <= 8, "200 at 1 %: more with a probability of 0.0001"


def test_one_relation_needs_no_table():
    assert relation_worths(Graph.from_edges([0, 1], [1, 2], labels=[0, 1, 0])) == ()


def test_shared_devices_are_told_and_too_few_are_not_judged():
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    devices = 40 + 2 * rng.integers(0, 5, 40) + y
    graph = Graph.from_edges(np.arange(40), devices, labels=np.append(y, [-1] * 10))
    graph = graph.with_kinds(["account"] * 40 + ["device"] * 10)
    report = check(graph, compare=False)
    found = {one["name"]: one for one in report.to_dict()["relations"]}
    assert found["edges (shared)"]["within"] == 1
    assert found["edges (shared)"]["tells"]
    assert found["edges"] == {
        "name": "edges", "edges": 0, "within": None, "informativeness": None, "tells": None,
    }  # fmt: skip
