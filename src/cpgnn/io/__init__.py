"""Files in and out: tables, GraphML and `.npz` as graphs; results written whole or not at all."""

from cpgnn.io.atomic import atomic_folder, atomic_write, check_free
from cpgnn.io.columns import FeatureColumns
from cpgnn.io.graphs import LoadedGraph, read_graph
from cpgnn.io.npz import read_graph_npz, write_graph
from cpgnn.io.safe_npz import read_npz_arrays
from cpgnn.io.tables import TableFile, read_table
from cpgnn.io.writing import check_table_path, write_table

__all__ = [
    "FeatureColumns",
    "LoadedGraph",
    "TableFile",
    "atomic_folder",
    "atomic_write",
    "check_free",
    "check_table_path",
    "read_graph",
    "read_graph_npz",
    "read_npz_arrays",
    "read_table",
    "write_graph",
    "write_table",
]
