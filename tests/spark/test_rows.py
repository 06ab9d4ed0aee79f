"""Bad rows are refused before any long job, with an example; nothing is half written."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cpgnn import CPGNNClassifier, Graph, read_graph
from cpgnn.errors import InputError
from cpgnn.spark import Given, Packed, predict
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.relations import Relations
from cpgnn.spark.tables import check_tables
from cpgnn.spark.writing import check_new, write_parquet

pytestmark = pytest.mark.slow

GOOD = [("a", "b", 1.0), ("b", "c", 2.0)]
LABELS = [("a", "x", "train"), ("b", "y", "")]
FEATURES = [("a", 1.0), ("b", 2.0), ("c", 3.0)]


def given(spark, edges=None, labels=None, features=None):
    return Given(
        spark.createDataFrame(edges or GOOD, "source string, target string, weight double"),
        spark.createDataFrame(labels or LABELS, "id string, label string, split string"),
        spark.createDataFrame(features or FEATURES, "id string, x double"),
    )


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"edges": [("a", None, 1.0)]}, "edges: A node id must not be empty. Got 1 row such as"),
        ({"edges": [("a", " ", 1.0)]}, "must not be empty"),
        ({"edges": [("a", "b\nc", 1.0)]}, "must be on one line"),
        ({"edges": [*GOOD, ("c", "a", None)]}, "An edge weight must be a finite number"),
        ({"edges": [("c", "a", math.nan)]}, "An edge weight must be a finite number"),
        ({"edges": [*GOOD, ("c", "a", -1.0)]}, "weight -1.0"),
        ({"edges": [*GOOD, (" a", "c", 1.0)]}, "differ by more than surrounding spaces. Got 'a'"),
        ({"labels": [("a", "x", "hold")]}, "A split must be train, val, test or empty"),
        ({"labels": [("a", "x", ""), ("a", "y", "")]}, "Each node must be labelled once. Got 'a'"),
        ({"features": [("a", 1.0), ("b", None)]}, "A feature must be a finite 32-bit number"),
        ({"features": [("a", 1.0), ("b", 1e39)]}, "A feature must be a finite 32-bit number"),
        ({"features": [("a", 1.0), ("a", 2.0)]}, "Each node must have features once"),
    ],
)
def test_bad_rows(spark, way, tmp_path, tables, message):
    bad = given(spark, **tables)
    with pytest.raises(InputError, match=message):
        check_tables(bad)
    paths = {name: tmp_path / f"{name}.parquet" for name in ("edges", "labels", "features")}
    for name, path in paths.items():
        getattr(bad, name).toPandas().to_parquet(path, index=False)
    if ("b", None) in tables.get("features", ()):  # on one machine, a gap is filled
        return
    with pytest.raises(InputError):
        read_graph(*map(str, paths.values()))


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ({"edges": [("a", "b", -1.0)]}, "An edge weight must be"),
        ({"features": [("a", 1.0), ("b", 2.0)]}, "Every node must have features"),
        ({"labels": [("a", "x", ""), ("a", "y", "")]}, "Each node must be labelled once"),
        ({"labels": [("p", "x", "")], "features": [*FEATURES, ("p", 1.0)]}, "Most ids must be in"),
    ],
)
def test_a_prediction_lays_no_edges_out_before_it_knows(spark, way, monkeypatch, tables, message):
    """And asks no executor anything where the columns alone are wrong."""
    nodes = np.arange(30)
    graph = Graph.from_edges(
        nodes, (nodes + 1) % 30, features=nodes[:, None] % 3.0, labels=nodes % 3
    )
    fitted = CPGNNClassifier("mlp", 1, pretrain_epochs=1, epochs=1).fit(graph)
    monkeypatch.setattr(Adjacency, "laid_out", lambda *_, **__: pytest.fail("edges were laid out"))
    with pytest.raises(InputError, match=message):
        predict(Packed.of(fitted), given(spark, **tables))
    wide = replace(given(spark), features=spark.range(3).selectExpr("id", "1.0 AS x", "2.0 AS y"))
    wrong = replace(given(spark), labels=spark.sql("SELECT 1.5D, 'x'"))
    for name in ("agg", "count", "first", "collect"):
        monkeypatch.setattr(type(wide.edges), name, lambda *_: pytest.fail("rows were read"))
    with pytest.raises(InputError, match="Features must have the 1 features the model was"):
        predict(Packed.of(fitted), wide)
    with pytest.raises(InputError, match=r"must be text or integers\. Got double"):
        predict(Packed.of(fitted), wrong)


def typed(spark, edges=(("a", "b", "pays"),), **more):
    table = spark.createDataFrame([*edges], "source string, target string, means string")
    labels = spark.createDataFrame([("a", "x"), ("b", "y")], "id string, label string")
    return Given(table, labels, relation="means", **more)


def test_bad_types_and_kinds(spark):
    with pytest.raises(InputError, match=r"The type of an edge must not be empty. Got 1 row"):
        check_tables(typed(spark, [("a", "b", "pays"), ("b", "c", " ")]))
    with pytest.raises(InputError, match="'relation' must name a column of the edges"):
        check_tables(replace(typed(spark), relation="type"))
    for rows, message in (
        ([("a", "person"), ("a", "firm")], "Each node must have one kind. Got 'a'"),
        ([("a", "person"), ("b", "firm")], "must sit on one kind of nodes. Got 'firm', 'person'"),
    ):
        kinds = spark.createDataFrame(rows, "id string, kind string")
        with pytest.raises(InputError, match=message):
            check_tables(typed(spark, kinds=kinds))


def test_relations_that_the_graph_has_not_are_refused_before_any_long_job(spark):
    """What a type leads to is told from a few of its edges."""
    given = typed(spark, [("a", "b", "pays"), ("b", "c", "knows"), ("c", "b", "knows")])
    tables = check_tables(replace(given, directed=True))
    relations = Relations(tables, None)
    there = ["knows", "pays (out)", "pays (in)", "edges", "two hops"]
    relations.check(there)
    with pytest.raises(
        InputError, match=r"have the relation 'owns', which the model hears\. Got 'k"
    ):
        relations.check(["owns"])
    assert "adjacency" not in relations.__dict__
    tables.nodes.unpersist()


def test_types_that_are_called_like_derived_relations_are_renamed_as_elsewhere(spark):
    tables = check_tables(typed(spark, [("a", "b", "edges"), ("b", "c", "two hops")]))
    relations = Relations(tables, None)
    assert [kind.name for kind in relations.types] == ["edges (type)", "two hops (type)"]
    assert [kind.rows.count() for kind in relations.types] == [2, 2]
    tables.nodes.unpersist()


def test_every_node_has_features(spark, way):
    with pytest.raises(InputError, match=r"Every node must have features. Got none for 1 node"):
        check_tables(given(spark, features=[("a", 1.0), ("c", 2.0)]))


def test_most_labels_are_of_nodes_in_the_edges(spark, way):
    strange = [("a", "x", ""), ("p", "y", ""), ("q", "y", "")]
    features = [*FEATURES, ("p", 1.0), ("q", 2.0)]
    with pytest.raises(InputError, match=r"Most ids must be in edges. Got 2 of 3"):
        check_tables(given(spark, labels=strange, features=features))
    known = [("a", "x", ""), ("p", "", ""), ("q", None, "")]  # those without a label do not count
    check_tables(given(spark, labels=known, features=features)).nodes.unpersist()


def test_integers_and_text_compare_as_text(spark):
    edges = spark.createDataFrame([(1, 2)], "source int, target int")
    labels = spark.createDataFrame([("1", "x"), ("7", "y")], "id string, label string")
    tables = check_tables(Given(edges, labels))
    assert tables.edges.first()["source"] == "1"
    assert check_tables(Given(edges)).edges.first()["source"] == 1


def test_tables_of_the_catalog(spark, tmp_path):
    path = str(tmp_path / "edges.parquet")
    pd.DataFrame({"source": [1, 2], "target": [2, 3]}).to_parquet(path, index=False)
    spark.sql(f"CREATE TABLE links USING parquet LOCATION '{path}'")
    try:
        for name in ("links", "default.links", "spark_catalog.default.links", path):
            assert Given.read(spark, name).edges.count() == 2
    finally:
        spark.sql("DROP TABLE links")


def test_a_delta_table_is_not_read_as_parquet(spark, tmp_path):
    """Its folder may hold files that no longer count."""
    table = tmp_path / "edges"
    (table / "_delta_log").mkdir(parents=True)
    (table / "_delta_log" / f"{0:020}.json").write_text("{}")
    pd.DataFrame({"source": [1], "target": [2]}).to_parquet(table / "part-0.parquet", index=False)
    with pytest.raises(InputError, match=r"edges: The table must be Parquet, or Delta where"):
        Given.read(spark, str(table))


def test_missing_tables_are_named(spark, tmp_path):
    with pytest.raises(InputError, match=r"nowhere.parquet: The table must exist"):
        Given.read(spark, str(tmp_path / "nowhere.parquet"))


def damaged(path, kind):
    """A Parquet file whose bytes are no longer all there, or no longer its own."""
    table = {"source": range(5000), "target": range(1, 5001)}
    if kind == "dictionary":  # three values in two bits: the fourth number names none
        table["weight"] = np.arange(5000) % 3 + 1.0
    pd.DataFrame(table).to_parquet(path, index=False, compression=None)
    whole = path.read_bytes()
    middle = len(whole) // 2
    end = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
    path.write_bytes(
        {
            "empty": b"",
            "text": b"source,target\n1,2\n",
            "cut": whole[:middle],
            "footer": whole[:-60] + b"\xff" * 40 + whole[-20:],
            "dictionary": whole[: end - 400] + b"\xff" * 200 + whole[end - 200 :],
            "pages": whole[:100] + b"\xff" * (middle - 100) + whole[middle:],
        }[kind]
    )


@pytest.mark.parametrize("kind", ["empty", "text", "cut", "footer", "dictionary", "pages"])
def test_damaged_files_are_named_in_a_sentence(spark, tmp_path, kind):
    path = tmp_path / "edges.parquet"
    damaged(path, kind)
    with pytest.raises(
        InputError, match=r"edges.parquet: The \w+ must be .*Parquet( files?)?\. Got"
    ) as found:
        check_tables(Given.read(spark, str(path)))
    assert len(str(found.value)) < 300


def test_files_of_a_table_that_do_not_go_together_are_named(spark, tmp_path):
    folder = tmp_path / "edges"
    folder.mkdir()
    pd.DataFrame({"source": ["a"], "target": ["b"]}).to_parquet(folder / "a.parquet", index=False)
    pd.DataFrame({"source": [1], "target": [2]}).to_parquet(folder / "b.parquet", index=False)
    with pytest.raises(InputError, match=r"\w\.parquet: The file must have column 'source' as"):
        check_tables(Given.read(spark, str(folder)))


def test_columns_that_spark_cannot_read_are_named(spark, tmp_path):
    path = tmp_path / "edges.parquet"
    for table, said in (
        (pa.table({"source": ["a"], "SOURCE": ["b"]}), "already exists"),
        (pa.table({"u": ["a"], "v": ["b"], "w": pa.array([1], pa.time64("ns"))}), "TIME"),
    ):
        pq.write_table(table, path)
        with pytest.raises(InputError, match=rf"edges.parquet: The columns must have .*{said}"):
            Given.read(spark, str(path))


def test_output_is_new_and_whole(spark, tmp_path):
    from pyspark.sql import functions as F

    out = tmp_path / "out.parquet"
    table = spark.range(10)
    failing = table.select(F.raise_error(F.lit("no")).alias("x"))
    with pytest.raises(Exception, match="no"):
        write_parquet(failing, str(out))
    assert list(tmp_path.iterdir()) == []
    assert write_parquet(table, str(out)) == 10
    assert (out / "_SUCCESS").exists()
    assert [path.name for path in tmp_path.iterdir()] == ["out.parquet"]
    with pytest.raises(InputError, match=r"out.parquet: The output must be new"):
        check_new(spark, str(out))
