"""The default model on Spark says what it says on one machine: every prior, every relation."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.priors import columns as col
from cpgnn.run.predictions import predictions
from cpgnn.spark import Packed, predict, structure
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.tables import check_tables
from cpgnn.spark.work import Work
from spark_blends import loud, random_world

pytestmark = pytest.mark.slow

TYPES = ("knows", "pays", "sees")
WORLDS = {
    "one relation": {"text": True, "weighted": True},
    "types and directions": {"types": TYPES, "directed": ("pays",), "weighted": True},
    "a direction": {"directed": True, "text": True},
    "kinds": {"kinds": True, "types": TYPES[:2], "directed": ("pays",)},
    "many features": {"width": 140},
    "no features": {"width": 0, "weighted": True},
    "no features, kinds": {"width": 0, "kinds": True, "text": True},
}


def close(spark, classifier, world, **options):
    found = predict(Packed.of(classifier), world.given(spark), **options)
    found = found.toPandas().set_index("id")
    wanted = predictions(classifier, world.graph()).set_index("id")
    assert list(found.columns) == list(wanted.columns)
    assert set(wanted.index) <= set(found.index)
    found = found.loc[wanted.index]
    p = [name for name in wanted.columns if name.startswith("p_")]
    np.testing.assert_allclose(found[p], wanted[p], atol=1e-5)
    assert (found["class"] == wanted["class"]).all()
    if "basis" in wanted:
        assert (found["basis"] == wanted["basis"]).all()
    return wanted


@pytest.mark.parametrize("name", WORLDS)
def test_later_graphs_with_known_and_new_nodes(spark, name):
    """Fitted on one graph, asked about another that shares two thirds of its nodes."""
    options, seed = WORLDS[name], len(name)
    classifier = loud(random_world(seed, **options).graph(), seed)
    close(spark, classifier, random_world(seed + 1, first=20, **options))


def test_structure_on_executors_is_that_of_one_machine(spark, monkeypatch):
    world = random_world(3, 80, weighted=True)
    tables, graph = check_tables(world.given(spark)), world.graph()
    A, work = Adjacency.of(tables), Work.at(None, spark)
    monkeypatch.setattr(structure, "MOST_EDGES", 0)
    nodes = tables.ids.distinct()
    found = structure.structure(A, nodes, work).toPandas().set_index("id").loc[graph.node_ids]
    wanted = col.structure(graph.adjacency)
    np.testing.assert_allclose(found.to_numpy()[:, :6], wanted[:, :6], atol=1e-5)
    assert np.isnan(found["c6"]).all()
