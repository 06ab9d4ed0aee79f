"""CPGNN on Apache Spark: the same numbers from tables that one machine does not hold.

`stats`, `check`, `fit`, `predict` and `explain` take the DataFrames of a `Given` graph, in a
session that the caller made; `cpgnn spark` does it for Parquet paths and tables of the catalog.
"""

from cpgnn.spark.check import check
from cpgnn.spark.explain import explain
from cpgnn.spark.fit import fit
from cpgnn.spark.graphframes import from_graphframe, to_graphframe
from cpgnn.spark.lists import review_list
from cpgnn.spark.model import Packed
from cpgnn.spark.predict import predict
from cpgnn.spark.stats import stats
from cpgnn.spark.tables import Given
from cpgnn.spark.writing import write_parquet

__all__ = [
    "Given",
    "Packed",
    "check",
    "explain",
    "fit",
    "from_graphframe",
    "predict",
    "review_list",
    "stats",
    "to_graphframe",
    "write_parquet",
]
