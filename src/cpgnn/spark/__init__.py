"""CPGNN on Apache Spark: the same numbers from tables that one machine does not hold.

`stats`, `fit` and `predict` take the DataFrames of a `Given` graph, in a session that the caller
made; `cpgnn spark` does the same for Parquet paths.
"""

from cpgnn.spark.fit import fit
from cpgnn.spark.model import Packed
from cpgnn.spark.predict import predict
from cpgnn.spark.stats import stats
from cpgnn.spark.tables import Given
from cpgnn.spark.writing import write_parquet

__all__ = ["Given", "Packed", "fit", "predict", "stats", "write_parquet"]
