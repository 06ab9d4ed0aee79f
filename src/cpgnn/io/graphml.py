"""GraphML as two tables, of nodes and of edges, read like any other table from there on.

A node attribute named `class` or else `label` (any case) gives the labels, `split` the split, an
edge attribute `weight` the weights and `type`, say, the types, unless others are named, and a text
attribute of nodes named `kind`, say, their kinds. Node attributes whose type is int, long, float or
double are the features. Declared defaults apply. What `cpgnn export` wrote about classes is left
out: a prediction is neither a label nor a feature.

`xml.parsers.expat` because it tells the line, and because a document type can be refused before
anything in it is expanded.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.engine.memory import memory_limit, too_large
from cpgnn.engine.text import count, first_line, listed, shorten
from cpgnn.errors import InputError
from cpgnn.io.column_choice import Columns
from cpgnn.io.edges import EdgeList, edge_weights, one_way
from cpgnn.io.files import about, opened, parts_of, wrong
from cpgnn.io.ids import check_ids
from cpgnn.io.labels import encode_labels, encode_split
from cpgnn.io.tables import TableFile, known_cells
from cpgnn.io.word_columns import take_kinds, take_types
from cpgnn.relations.kinds import OTHER, Kinds, as_kinds

_NUMERIC = frozenset(("int", "integer", "long", "float", "double"))
CELL = 16
"""Bytes of a cell beside its text: a number, and where it stands."""
SMALL, RATIO = 1 << 28, 1000
"""What is larger must not be so many times as large as what the file says about its nodes."""
ENDS = ("source", "target")
_OF_PREDICTIONS = ("probability", "flagged", "set", "set_size", "basis")
_NOT_FEATURES = frozenset(("label", "class", "split"))


def read_graphml(
    path: Path, unlabelled: str | None, columns: Columns
) -> tuple[EdgeList, TableFile | None]:
    """The graph, and its numeric node attributes as a table (node id first) or None."""
    reader = _Reader(path)
    if not reader.nodes:
        raise wrong(path, "A graph", "have nodes", "none")
    reader.check_size()
    ids = pa.array(reader.nodes, pa.string())
    ends = pa.table([pa.array(end, pa.string()) for end in reader.ends], names=ENDS)
    nodes = TableFile(path, pa.table([ids], names=["id"]), lines=reader.node_lines)
    check_ids(nodes, ids, lambda row: np.array([row]))
    edges = TableFile(path, ends, lines=reader.edge_lines)
    weights, notices = _weights(edges, reader.weight(columns))
    relation, told = reader.types(edges, columns)
    notices += told
    if reader.drop_predictions():
        notices.append(f"{path}: the predictions of an earlier run were left out.")
    label = reader.find("node", "class") or reader.find("node", "label")
    split = reader.find("node", "split")
    codes, classes = encode_labels(label.cells(len(ids)), unlabelled) if label else (None, ())
    kind, kinds = reader.kinds(nodes, columns, None if codes is None else codes >= 0)
    attributes = [
        key
        for key in reader.keys_of("node")
        if key.kind in _NUMERIC and key.name.lower() not in _NOT_FEATURES and key is not kind
    ]
    table = None
    if attributes:
        names = ("id", *(key.name for key in attributes))
        cells = [ids, *(_numbers(key.cells(len(ids))) for key in attributes)]
        table = TableFile(path, pa.table(cells, names=names), names, lines=reader.node_lines)
        if kinds is not None:
            kinds, table = _of_kinds(kinds, attributes, table)
    source, target = (_positions(edges, end, ids) for end in ends.columns)
    return EdgeList(
        path,
        ids,
        source,
        target,
        weights,
        tuple(notices),
        nodes=nodes,
        labels=codes,
        class_names=classes,
        split=encode_split(nodes, split.cells(len(ids))) if split else None,
        relation=relation,
        directed=one_way(columns, relation),
        kinds=kinds,
    ), table


def _of_kinds(
    kinds: Kinds, attributes: list[_Key], table: TableFile
) -> tuple[Kinds, TableFile | None]:
    """The same without rows for the nodes of kinds whose nodes have none of the attributes."""
    has = np.zeros(len(kinds.codes), dtype=bool)
    for key in attributes:
        has[list(key.given)] = True
        has |= key.default is not None
    described = np.bincount(kinds.codes, has, minlength=len(kinds.names)) > 0
    kinds = replace(kinds, described=tuple(described.tolist()))
    rows = np.flatnonzero(kinds.has_features)
    if not len(rows):
        return kinds, None
    lines = [table.lines[row] for row in rows.tolist()] if table.lines else None
    return kinds, replace(table, table=table.table.take(rows), lines=lines)


def _positions(edges: TableFile, end: pa.ChunkedArray, ids: pa.Array) -> np.ndarray:
    found = pc.index_in(end, value_set=ids)
    if found.null_count:
        row = pc.index(pc.is_null(found), True).as_py()
        raise edges.wrong("An edge", "join declared nodes", shorten(end[row].as_py()), row=row)
    return found.to_numpy().astype(np.int64)


def _weights(edges: TableFile, key: _Key | None) -> tuple[np.ndarray | None, list[str]]:
    if key is None or not (key.given or key.default is not None):
        return None, []
    cells = key.cells(edges.table.num_rows)
    weights = edge_weights(edges, pa.chunked_array([_numbers(pc.fill_null(cells, "1"))]))
    text = f"{edges.path}: {count(cells.null_count, 'edge')} without a weight, counted as 1."
    return weights, [text] if cells.null_count else []


def _numbers(cells: pa.Array) -> pa.Array:
    """The cells as float64, or as they are where one is neither a number nor missing."""
    try:
        return pc.cast(known_cells(cells), pa.float64())
    except pa.ArrowInvalid:
        return pc.fill_null(cells, "")


@dataclass
class _Key:
    """A `<key>`: an attribute of nodes or edges, and its values by row."""

    name: str
    kind: str
    default: str | None = None
    given: dict[int, str] = field(default_factory=dict)

    def cells(self, rows: int) -> pa.Array:
        if not self.given:
            return pa.repeat(pa.scalar(self.default, pa.string()), rows)
        return pa.array([self.given.get(row, self.default) for row in range(rows)], pa.string())


class _Reader:
    """Collects nodes, edges and attributes while the parser walks through the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nodes: dict[str, int] = {}
        self.node_lines: list[int] = []
        self.ends: tuple[list[str], list[str]] = ([], [])
        self.edge_lines: list[int] = []
        self.keys: dict[tuple[str, str], _Key] = {}
        self._graphs = 0
        self._inside: list[tuple[str, dict[str, str]]] = []
        self._text: list[str] = []
        self._parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.CharacterDataHandler = self._text.append
        parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = self._refuse
        parser.buffer_text = True
        with opened(path) as stream:
            try:
                for part in parts_of(path, stream):  # in small ones, a long tag takes for ever
                    parser.Parse(part)
                parser.Parse(b"", True)
            except expat.ExpatError as error:
                got, hint = expat.errors.messages[error.code], "Write or download it again."
                must, line = "be well-formed XML", error.lineno
                raise wrong(path, "GraphML", must, got, hint, line=line) from None
            except (LookupError, ValueError) as error:
                if isinstance(error, InputError):
                    raise
                must, got = "have a known encoding", first_line(error)
                raise wrong(path, "GraphML", must, got, "Use UTF-8.", line=1) from None

    def check_size(self) -> None:
        """A key of a few bytes gives every node a cell: do all of them fit into memory?"""
        rows = {"node": len(self.nodes), "edge": len(self.edge_lines)}
        cells = [(rows[of], key) for (of, _), key in self.keys.items() if of in rows]
        needed = sum(n * (CELL + len(key.default or "")) for n, key in cells)
        written = sum(map(len, self.nodes)) + sum(len(key.given) for _, key in cells)
        limit = min(memory_limit(), max(SMALL, RATIO * written))
        if needed > limit:
            with about(self.path):
                hint = "Leave out the keys that are not needed."
                raise too_large("What its keys give every node and edge", needed, limit, hint)

    def find(self, owner: str, name: str) -> _Key | None:
        return next((key for key in self.keys_of(owner) if key.name.lower() == name), None)

    def keys_of(self, owner: str) -> list[_Key]:
        """The attributes of nodes or of edges."""
        return [key for (of, _), key in self.keys.items() if of == owner]

    def weight(self, columns: Columns) -> _Key | None:
        """The edge attribute with the weights: the one that is named, or else `weight`."""
        found = self.find("edge", (columns.weight or "weight").lower())
        if found is None and columns.weight and "weight" not in columns.optional:
            names = [key.name for key in self.keys_of("edge")]
            got = listed(names) if names else "none"
            raise wrong(self.path, "Edges", f"have an attribute {columns.weight!r}", got)
        return found

    def types(self, edges: TableFile, columns: Columns) -> tuple[pd.Categorical | None, list[str]]:
        """The types of the edges, and what to say about them; found as in a table."""
        keys = self.keys_of("edge")
        place = columns.find_relation(self.path, (*ENDS, *(key.name for key in keys)))
        if place is None:
            return None, []
        key = keys[place - len(ENDS)]
        table = edges.table.append_column(key.name, key.cells(edges.table.num_rows))
        whole = replace(edges, table=table, header=(*ENDS, key.name))
        return take_types(whole, columns)[1:]

    def kinds(
        self, nodes: TableFile, columns: Columns, labelled: np.ndarray | None
    ) -> tuple[_Key | None, Kinds | None]:
        """The attribute that says what a node is, and what it says; found as in a table.

        An attribute that is merely called so counts if it is text and the labelled nodes, where
        the file has labels, are of one kind."""
        keys = self.keys_of("node")
        if columns.kind_column is None:
            keys = [key for key in keys if key.kind not in _NUMERIC]
        place = columns.find_kind(self.path, ("id", *(key.name for key in keys)))
        if place is None:
            return None, None
        key, n = keys[place - 1], nodes.table.num_rows
        table = nodes.table.append_column(key.name, key.cells(n))
        whole = replace(nodes, table=table, header=("id", key.name))
        _, names = take_kinds(whole, columns, labelled, sure=labelled is None)
        if names is None:
            return None, None
        return key, as_kinds(np.where(pd.isna(names), OTHER, names), n, ())

    def drop_predictions(self) -> bool:
        """Forgets `class`, `probability`, `p_<class>` and what goes with them, if `p_<class>` is
        there for every class."""
        said = self.find("node", "class")
        names = {key.name for (owner, _), key in self.keys.items() if owner == "node"}
        if said is None or not said.given:
            return False
        if not {"probability", *(f"p_{name}" for name in said.given.values())} <= names:
            return False
        ours = {said.name, *_OF_PREDICTIONS, *(name for name in names if name.startswith("p_"))}
        self.keys = {
            at: key for at, key in self.keys.items() if at[0] != "node" or key.name not in ours
        }
        return True

    def _wrong(self, what: str, must: str, got: str, hint: str = "") -> InputError:
        line = self._parser.CurrentLineNumber
        return wrong(self.path, what, must, got, hint, line=line)

    def _refuse(self, *_: Any) -> None:
        raise self._wrong("GraphML", "have no document type or entities", "one", "Remove it.")

    def _needed(self, tag: str, given: dict[str, str], names: Iterable[str]) -> list[str]:
        for name in names:
            if not given.get(name, "").strip():
                raise self._wrong(f"<{tag}>", f"have '{name}'", "none")
        return [given[name] for name in names]

    def _start(self, name: str, given: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if not self._inside and tag != "graphml":
            raise self._wrong("GraphML", "begin with <graphml>", f"<{tag}>")
        self._inside.append((tag, given))
        self._text.clear()
        line = self._parser.CurrentLineNumber
        if tag == "key":
            [key_id] = self._needed(tag, given, ["id"])
            name, kind = given.get("attr.name", ""), given.get("attr.type", "string").lower()
            for of in _owners(given):
                self.keys[of, key_id] = _Key(name, kind)
        elif tag == "graph":
            self._graphs += 1
            if self._graphs > 1:
                raise self._wrong("GraphML", "have one graph", "another <graph>")
        elif tag == "node":
            [node] = self._needed(tag, given, ["id"])
            if node in self.nodes:
                first = self.node_lines[self.nodes[node]]
                raise self._wrong(
                    "A node", "appear once", f"{shorten(node)} again (first line {first})"
                )
            self.nodes[node] = len(self.nodes)
            self.node_lines.append(line)
        elif tag == "edge":
            names = self._needed(tag, given, ["source", "target"])
            for end, node in zip(self.ends, names, strict=True):
                end.append(node)
            self.edge_lines.append(line)
        elif tag == "hyperedge":
            raise self._wrong("An edge", "join two nodes", "a <hyperedge>")
        elif tag == "data":
            self._needed(tag, given, ["key"])

    def _end(self, _: str) -> None:
        tag, given = self._inside.pop()
        outer, outer_given = self._inside[-1] if self._inside else ("", {})
        if tag == "default" and outer == "key":
            for of in _owners(outer_given):
                self.keys[of, outer_given["id"]].default = "".join(self._text)
        elif tag == "data" and (outer, given["key"]) in self.keys:
            rows = self.nodes if outer == "node" else self.edge_lines
            self.keys[outer, given["key"]].given[len(rows) - 1] = "".join(self._text)
        self._text.clear()


def _owners(key: dict[str, str]) -> tuple[str, ...]:
    """What a `<key>` is an attribute of."""
    owner = key.get("for", "all")
    return ("node", "edge") if owner == "all" else (owner,)
