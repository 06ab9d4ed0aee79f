"""Two runs beside each other, matched by node id and class name."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cpgnn import CPGNNClassifier
from cpgnn.errors import InputError
from cpgnn.io import LoadedGraph
from cpgnn.run.difference import Difference
from cpgnn.run.fit import train_run
from toys import planted

FAST = {"pretrain_epochs": 10, "epochs": 10}


def run(graph, **more):
    return train_run(LoadedGraph(graph, None), CPGNNClassifier("mlp", 1, **FAST), **more)


@pytest.fixture(scope="module")
def two():
    graph = planted(0, n=400)
    labels = graph.labels.copy()
    labels[:120] = (labels[:120] + 1) % 3  # whoever labelled these meant another class
    return run(graph), run(graph.with_labels(labels, graph.class_names))


def test_what_changed_is_what_both_tables_say(two):
    first, second = two
    made = Difference.of(first, second)
    one, other = (r.classifier.predict() for r in two)
    np.testing.assert_array_equal(
        np.sort(made.changed["id"].astype(int)), np.flatnonzero(one != other)
    )
    row = made.changed.iloc[0]
    assert (row["before"], row["after"]) == (one[int(row["id"])], other[int(row["id"])])
    assert made.changed["p_after"].is_monotonic_decreasing
    np.testing.assert_allclose(
        made.moved, second.classifier.edge_frequency_ - first.classifier.edge_frequency_
    )
    assert made.scores["Accuracy"] == (first.evaluation.accuracy, second.evaluation.accuracy)
    assert (made.shared, made.gone, made.new) == (400, 0, 0)
    assert made.shifts == ()
    assert all(sentence.endswith(".") for sentence in made.sentences())


def test_a_run_beside_itself_says_that_nothing_changed(two):
    made = Difference.of(two[0], two[0])
    assert len(made.changed) == 0
    text = " ".join(made.sentences())
    assert "0 nodes changed class" in text
    assert "no clear difference" in text
    assert "changed by less than 5 points" in text


def test_runs_without_a_class_in_common_are_refused(two):
    graph = planted(1, n=90)
    other = run(graph.with_labels(graph.labels, ["x", "y", "z"]))
    with pytest.raises(InputError, match="have classes in common"):
        Difference.of(two[0], other)
    assert isinstance(Difference.of(other, other).changed, pd.DataFrame)


def test_of_several_kinds_only_the_one_with_classes_is_compared(two):
    """What the model would call a card, if it had a class, may change without being said."""
    kinds = ["account"] * 300 + ["card"] * 100
    graphs = []
    for of in two:
        y = np.where(np.arange(400) < 300, of.graph.labels, -1)
        graphs.append(of.graph.with_labels(y, of.graph.class_names).with_kinds(kinds))
    made = Difference.of(*map(run, graphs))
    assert (made.shared, made.gone, made.new) == (300, 0, 0)
    assert 0 < len(made.changed) == made.changed["id"].astype(int).lt(300).sum()


def test_shares_of_the_weight_are_called_so(two):
    made = Difference.of(*two)
    assert made.counted == ("edges", "edges")
    assert re.search(r"% of the edges \(.*\) then, ", " ".join(made.sentences()))
    both = " ".join(replace(made, counted=("edge weight", "edge weight")).sentences())
    assert re.search(r"% of the edge weight \(.*\) then, ", both)
    assert "of the edges" not in both
    mixed = " ".join(replace(made, counted=("edge weight", "edges")).sentences())
    assert re.search(r"% of the edge weight \(.*\) then, \d+ % of the edges \(.*\) now", mixed)


def frequencies(made: Difference, then: float, now: float, half: float | tuple[float, float]):
    """All edges lead anywhere alike but for those from c0 to c1, whose intervals are so wide."""
    halves = half if isinstance(half, tuple) else (half, half)
    F = [np.full((3, 3), 1 / 3) for _ in range(2)]
    F[0][0, 1], F[1][0, 1] = then, now
    ends = tuple(np.stack([M - h, M + h]) for M, h in zip(F, halves, strict=True))
    return replace(made, frequency=tuple(F), intervals=ends)


def test_a_change_is_asserted_only_where_the_intervals_lie_apart(two):
    made = Difference.of(*two)
    clear = frequencies(made, 0.3, 0.6, 0.1)._connections()
    assert clear == (
        "What changed most is how c0 connects to c1: 30 % of the edges (20–40 %) then, 60 % "
        "(50–70 %) now."
    )
    unclear = frequencies(made, 0.3, 0.6, 0.2)._connections()
    assert unclear.startswith("The largest change is in how c0 connects to c1: 30 %")
    assert unclear.endswith("60 % (40–80 %) now: no clear difference.")
    unknown = frequencies(made, 0.3, 0.6, (0.1, np.nan))._connections()
    assert unknown.endswith("60 % (–) now: no clear difference.")


def test_two_samples_of_labels_of_one_graph_change_no_connection():
    graph, rng, runs = planted(0, n=300, h=0.6), np.random.default_rng(0), []
    for _ in range(2):
        few = np.concatenate(
            [rng.permutation(np.flatnonzero(graph.labels == c))[:10] for c in range(3)]
        )
        y = np.full(300, -1)
        y[few] = graph.labels[few]
        given = LoadedGraph(graph.with_labels(y, graph.class_names), None)
        runs.append(train_run(given, CPGNNClassifier(budget="fast"), test=0))
    made = Difference.of(*runs)
    assert np.abs(made.moved).max() > 0.05
    assert "What changed most" not in " ".join(made.sentences())
