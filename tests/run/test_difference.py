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
    assert "% of the edges then, " in " ".join(made.sentences())
    both = " ".join(replace(made, counted=("edge weight", "edge weight")).sentences())
    assert "% of the edge weight then, " in both
    assert "of the edges" not in both
    mixed = " ".join(replace(made, counted=("edge weight", "edges")).sentences())
    assert re.search(r"% of the edge weight then, \d+ % of the edges now", mixed)
