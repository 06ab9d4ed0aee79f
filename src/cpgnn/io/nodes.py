"""Node ids from a table, for commands that ask which nodes are meant."""

from __future__ import annotations

from cpgnn.io.headers import ID, plain
from cpgnn.io.places import StrPath, wrong
from cpgnn.io.tables import read_table


def read_node_ids(path: StrPath) -> list[str]:
    """The ids in the column called id (or node, …), else in the first; text as written."""
    file = read_table(path, ids=(0,))
    header = file.origin.header or ()
    named = [i for i, name in enumerate(header) if plain(name) in ID]
    ids: list[str] = file.table.column(named[0] if named else 0).to_pylist()
    if not ids:
        raise wrong(file.origin.path, "The file", "name at least one node", "none")
    return ids
