"""Files in and out: tables, GraphML and `.npz` as graphs; results written whole or not at all.

`read` puts a graph together; `tables` reads one table, `ids`, `edges`, `labels` and `features`
make of it what their names say; `graphml`, `graph_npz` and `npz_input` read whole graph files.
"""

from cpgnn.io.atomic import atomic_folder, atomic_write, check_free
from cpgnn.io.feature_columns import FeatureColumns
from cpgnn.io.graph_npz import read_graph_npz, write_graph
from cpgnn.io.npz import read_npz_arrays
from cpgnn.io.read import LoadedGraph, read_graph
from cpgnn.io.tables import TableFile, read_table
from cpgnn.io.write import write_table
from cpgnn.presence import check_table_path

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
