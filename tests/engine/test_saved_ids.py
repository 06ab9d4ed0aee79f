"""Ids come back from JSON as they were, and are matched as before; others are refused by name."""

from __future__ import annotations

import datetime
import json
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from cpgnn import CPGNNClassifier, Graph
from cpgnn.blend.blend import known_nodes
from cpgnn.engine.saved_ids import ids_as_json, ids_from_json
from cpgnn.errors import InputError
from toys import planted

GRAPH = planted(n=60)
U, V = np.triu(GRAPH.adjacency.toarray()).nonzero()


def flat(ids: list) -> pd.Index:
    return pd.Index(ids, tupleize_cols=False)


IDS = {
    "text": flat([f"n{i}" for i in range(60)]),
    "numbers": flat([i + 7 for i in range(60)]),
    "small numbers": pd.Index(np.arange(60, dtype=np.int16) + 3),
    "numbers after a start": pd.RangeIndex(5, 65),
    "numbers of either kind": flat([f"n{i}" if i % 2 else i for i in range(60)]),
    "fractions": flat([i / 7 for i in range(60)]),
    "short fractions": pd.Index(np.arange(60, dtype=np.float32) / 7),
    "places": flat([(i // 8, i % 8) for i in range(60)]),
    "kinds": flat([("p" if i < 30 else "q", i / 3, i % 2 == 0) for i in range(60)]),
    "several": pd.MultiIndex.from_tuples([(i // 8, f"m{i}") for i in range(60)]),
    "categories": pd.CategoricalIndex([f"n{i}" for i in range(60)]),
}


def graph(ids: pd.Index, order: np.ndarray | None = None) -> Graph:
    order = np.arange(60) if order is None else order
    at = np.argsort(order)
    return Graph.from_edges(
        at[U],
        at[V],
        num_nodes=60,
        features=GRAPH.features[order],
        labels=GRAPH.labels[order],
        class_names=GRAPH.class_names,
        node_ids=ids[order],
    )


@pytest.mark.parametrize("ids", IDS.values(), ids=IDS)
def test_a_loaded_blend_matches_ids_as_before(ids, tmp_path):
    fitted = CPGNNClassifier("trees").fit(graph(ids))
    fitted.save(tmp_path / "model")
    loaded = CPGNNClassifier.load(tmp_path / "model")
    assert CPGNNClassifier.load(tmp_path / "model", fitted.graph_).predict().shape == (60,)
    order = np.random.default_rng(0).permutation(60)
    later = graph(ids, order)
    for model in (fitted, loaded):
        np.testing.assert_array_equal(model.prediction(later).said.inputs.known, order)
    np.testing.assert_array_equal(loaded.predict_proba(later), fitted.predict_proba(later))


def test_any_number_comes_back_as_it_was():
    rng = np.random.default_rng(0)
    numbers = pd.Index(rng.normal(size=1000) * 10.0 ** rng.integers(-300, 300, 1000))
    back = ids_from_json(ids_as_json(numbers), 1000)
    assert back.dtype == np.float64
    assert back.equals(numbers)
    mixed = pd.Index([2, 2.5, True, "x", (1, 1.5)], dtype=object, tupleize_cols=False)
    found = ids_from_json(ids_as_json(mixed), 5).tolist()
    assert found == mixed.tolist()
    assert [type(one) for one in found] == [int, float, bool, str, tuple]
    for two in (pd.Index([True, False]), pd.Index([3, 4])):
        assert known_nodes_of(ids_from_json(ids_as_json(two), 2), two[::-1]) == [1, 0]


def known_nodes_of(ids: pd.Index, later: pd.Index) -> list[int]:
    return known_nodes(Graph.from_edges([0], [1], node_ids=later), ids, None).tolist()


STRANGE = {
    "times": pd.date_range("2024-01-01", periods=60),
    "days": flat([datetime.date(2024, 1, 1) + datetime.timedelta(i) for i in range(60)]),
    "quotients": flat([Fraction(i, 7) for i in range(60)]),
    "tuples in tuples": flat([(i, (i, i)) for i in range(60)]),
    "tuples of times": flat([(i, datetime.date(2024, 1, 1)) for i in range(60)]),
}


@pytest.mark.parametrize("ids", STRANGE.values(), ids=STRANGE)
def test_other_ids_are_refused_before_anything_is_written(ids, tmp_path):
    fitted = CPGNNClassifier("trees").fit(graph(ids))
    message = r"A node id must be text, a number or a tuple of these.*text or whole numbers as ids"
    with pytest.raises(InputError, match=message):
        fitted.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("text", ['["a", null]', '[[1, [2]], "a"]', '{"a": 1}', '["a"]', "[1, 1]"])
def test_what_is_no_list_of_ids(text):
    json.loads(text)
    with pytest.raises(ValueError, match="node_ids should"):
        ids_from_json(text, 2)
