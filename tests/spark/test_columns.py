"""Wrong columns and types are refused by the schema alone: no Spark is started."""

from __future__ import annotations

import pytest

from cpgnn.errors import InputError

types = pytest.importorskip("pyspark.sql.types")
columns = pytest.importorskip("cpgnn.spark.columns")


LAYOUTS = {"edges": columns.EDGES, "labels": columns.LABELS, "features": columns.FEATURES}


def check(text, name):
    columns.check_columns(schema(text), name, LAYOUTS[name])


def schema(text):
    fields = [word.split(":") for word in text.split()]
    kinds = {
        "int": types.IntegerType(),
        "long": types.LongType(),
        "text": types.StringType(),
        "float": types.FloatType(),
        "double": types.DoubleType(),
        "list": types.ArrayType(types.DoubleType()),
        "flag": types.BooleanType(),
    }
    return types.StructType([types.StructField(name, kinds[kind]) for name, kind in fields])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("source:long", "edges: Edges must have 2 or 3 columns.*Got 1 column: source"),
        ("source:long target:long weight:double x:int", "Got 4 columns"),
        ("id:long label:text", "must name source, target"),
        (
            "source:double target:long",
            r"Ids \(column 'source'\) must be text or integers. Got double",
        ),
        ("source:long target:list", r"column 'target'.*Got array<double>"),
        ("source:long target:long weight:text", r"Weights \(column 'weight'\) must be numbers"),
    ],
)
def test_edges(given, message):
    with pytest.raises(InputError, match=message):
        check(given, "edges")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("id:long", "must have 2 or 3 columns: id, label"),
        ("source:long target:long weight:double", "must name id, label"),
        ("id:flag label:text", "Ids .* must be text or integers. Got boolean"),
        ("id:long label:double", "Labels .* must be text or integers. Got double"),
    ],
)
def test_labels(given, message):
    with pytest.raises(InputError, match=message):
        check(given, "labels")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("id:long", "must have an id column and at least one more"),
        ("weight:long id:text", "must name the id column first"),
        ("id:long x:double y:text", r"Features \(column 'y'\) must be numbers. Got string"),
    ],
)
def test_features(given, message):
    with pytest.raises(InputError, match=message):
        check(given, "features")


def test_good_columns_pass():
    check("a:int b:text", "edges")
    check("source:long target:long weight:int", "edges")
    check("id:text label:int split:text", "labels")
    check("id:text x:double y:int", "features")
