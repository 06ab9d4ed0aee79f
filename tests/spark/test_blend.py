"""The default model on Spark says what it says on one machine: every prior, every relation."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.errors import InputError
from cpgnn.evaluation.conformal import Promise
from cpgnn.priors import columns as col
from cpgnn.run.predictions import predictions
from cpgnn.run.predictions import review_list as review_list_here
from cpgnn.spark import Packed, explain, predict, review_list, structure
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.tables import check_tables
from cpgnn.spark.work import Work
from spark_blends import TYPES, WORLDS, drawn, loud, random_world

pytestmark = pytest.mark.slow


def close(spark, classifier, world, **options):
    found = predict(Packed.of(classifier), world.given(spark), **options)
    found = found.toPandas().set_index("id")
    wanted = predictions(classifier, world.graph()).set_index("id")
    assert list(found.columns) == list(wanted.columns)
    assert set(wanted.index) == set(found.index)
    found = found.loc[wanted.index]
    p = [name for name in wanted.columns if name.startswith("p_")]
    np.testing.assert_allclose(found[p], wanted[p], atol=1e-5)
    assert (found["class"] == wanted["class"]).all()
    if "basis" in wanted:
        assert (found["basis"] == wanted["basis"]).all()
    return wanted


@pytest.mark.parametrize(
    ("way", "name"),
    [
        ("shuffled", "one relation"),
        ("shuffled", "types, many features"),
        ("sent", "types, many features"),
        ("shuffled", "kinds"),
        ("sent", "kinds"),
        ("sent", "a direction, no features"),
    ],
    indirect=["way"],
)
def test_later_graphs_with_known_and_new_nodes(spark, way, name):
    """Fitted on one graph, asked about another that shares two thirds of its nodes."""
    options, seed = WORLDS[name], len(name)
    classifier = loud(random_world(seed, **options).graph(), seed)
    wanted = close(spark, classifier, random_world(seed + 1, first=20, **options))
    if options.get("width") == 0:  # isolated nodes without features
        assert "nothing known" in set(wanted["basis"])


@pytest.mark.parametrize("way", ["shuffled", "sent"], indirect=True)
@pytest.mark.parametrize("seed", range(2))
def test_random_typed_graphs(spark, way, seed):
    """Sizes, ids, weights, types, directions, kinds and features are drawn; every second graph is
    not that of the fit."""
    seed = 10 * seed + (way == "sent")
    options = drawn(seed)
    classifier = loud(random_world(seed, **options).graph(), seed)
    close(spark, classifier, random_world(seed, first=15 * (seed // 10 % 2), **options))


def test_structure_on_executors_is_that_of_one_machine(spark, monkeypatch):
    world = random_world(3, 80, weighted=True)
    tables, graph = check_tables(world.given(spark)), world.graph()
    A, work = Adjacency.of(tables), Work.at(None, spark)
    monkeypatch.setattr(structure, "MOST_EDGES", 0)
    nodes = tables.nodes
    found = structure.structure(A, nodes, work).toPandas().set_index("id").loc[graph.node_ids]
    wanted = col.structure(graph.adjacency)
    np.testing.assert_allclose(found.to_numpy()[:, :6], wanted[:, :6], atol=1e-5)
    assert np.isnan(found["c6"]).all()


@pytest.mark.parametrize("way", ["sent"], indirect=True)
def test_terms_and_sets_are_those_of_one_machine(spark, way):
    """Every term of chosen nodes, and the classes that a promise leaves."""
    world = random_world(8, weighted=True, types=TYPES[:2], directed=("pays",))
    graph = world.graph()
    classifier = loud(graph, 8)
    given, packed, names = world.given(spark), Packed.of(classifier), classifier.classes_
    where = np.array([3, 11, 40])
    said = classifier.prediction(graph).said
    found = explain(packed, given, graph.node_ids[where].tolist()).toPandas()
    logit = [f"logit_{name}" for name in names]
    total = found.groupby("id")[logit].sum().loc[graph.node_ids[where].astype(str)]
    np.testing.assert_allclose(total, said.logits[where], atol=1e-4)
    own = found[found["relation"] == "own"].set_index("id").loc[graph.node_ids[where].astype(str)]
    np.testing.assert_allclose(own[logit], sum(said.own_parts(where).values()), atol=1e-4)
    keyed = found.set_index(["id", "relation", "neighbour"])
    count = 0
    for relation in said.inputs.relations:
        rows, terms = said.terms(where, relation)
        for i, v in enumerate(where):
            for at in range(rows.indptr[i], rows.indptr[i + 1]):
                u = graph.node_ids[rows.indices[at]]
                one = keyed.loc[(str(graph.node_ids[v]), relation, str(u)), logit]
                np.testing.assert_allclose(one.to_numpy(dtype=float), terms[at], atol=1e-5)
                count += 1
    assert count == len(found) - len(where) > 10
    with pytest.raises(InputError, match="A node id must be one of the graph's"):
        explain(packed, given, ["nobody"])

    promise = Promise(
        0.8, "all", (0.55, 0.6, 0.7), 0.5, (9, 9, 9), "validation nodes", restraint=0.8
    )
    table = predict(packed, given, promise=promise)
    sets = table.toPandas().set_index("id").loc[graph.node_ids.astype(str)]
    wanted = classifier.sets(promise, graph)
    assert (sets["set"].to_numpy() == wanted.texts()).all()
    assert (sets["set_size"].to_numpy() == wanted.sizes).all()
    assert len(set(wanted.sizes)) > 1
    ranked = review_list(table, "beech").toPandas()
    rest = review_list_here(sets.rename_axis("id").reset_index(), "beech")
    assert list(ranked["id"][:10]) == list(rest["id"][:10])
    assert list(ranked["rank"]) == list(range(1, len(rest) + 1))


def test_a_job_that_died_goes_on(spark, tmp_path, monkeypatch):
    world = random_world(2, width=0)
    classifier, work = loud(world.graph()), str(tmp_path / "work")
    keep = Work.keep

    def dying(self, name, table):
        if name == "round-2":
            raise KeyboardInterrupt
        return keep(self, name, table)

    monkeypatch.setattr(Work, "keep", dying)
    with pytest.raises(KeyboardInterrupt):
        predict(Packed.of(classifier), world.given(spark), work=work)
    monkeypatch.setattr(Work, "keep", keep)
    done = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("work/*/*")}
    assert "round-1.done" in done
    close(spark, classifier, world, work=work)
    after = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob("work/*/*")}
    written = [name for name in after if after[name] != done.get(name)]
    assert sorted(written) == ["round-2", "round-2.done"]
