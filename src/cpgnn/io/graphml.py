"""GraphML as an edge list with labels, weights and features.

A node attribute named `class` or else `label` (any case) gives the labels, `split` the split, an
edge attribute `weight` the weights. Node attributes whose type is int, long, float or double
are the features. Declared defaults apply.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from cpgnn.io.edges import EdgeList
from cpgnn.io.graphml_parser import Attribute, GraphMLParser, parse_graphml
from cpgnn.io.labels import SPLITS, encode_labels
from cpgnn.io.origin import Origin
from cpgnn.io.places import count, shorten, wrong
from cpgnn.io.tables import TableFile

_NUMERIC = frozenset(("int", "integer", "long", "float", "double"))
_NOT_FEATURES = frozenset(("label", "class", "split"))


def read_graphml(path: Path, unlabelled: str | None) -> tuple[EdgeList, TableFile | None]:
    """The graph, and its numeric node attributes as a table (node id first) or None."""
    reader = parse_graphml(path)
    n, m = len(reader.nodes), len(reader.edge_lines)
    if not n:
        raise wrong(path, "A graph", "have nodes", "none")
    ids = pa.array(reader.nodes, pa.string())
    source, target = (_positions(reader, end) for end in reader.ends)
    weights, notices = _weights(reader, m)
    label = reader.named("node", "class") or reader.named("node", "label")
    codes: np.ndarray | None = None
    classes: tuple[str, ...] = ()
    if label is not None:
        codes, classes = encode_labels(pa.array(label.column(n), pa.string()), unlabelled)
    features = [
        attribute
        for (owner, _), attribute in reader.keys.items()
        if owner == "node"
        and attribute.kind.lower() in _NUMERIC
        and attribute.name.lower() not in _NOT_FEATURES
    ]
    table = None
    if features:
        columns = [ids, *(_column(reader, attribute, n) for attribute in features)]
        names = ("id", *(attribute.name for attribute in features))
        origin = Origin(path, names, lines=reader.node_lines)
        table = TableFile(origin, pa.table(columns, names=names))
    edges = EdgeList(
        path,
        ids,
        source,
        target,
        weights,
        tuple(notices),
        labels=codes,
        class_names=classes,
        node_lines=reader.node_lines,
        split=_split(reader, n),
    )
    return edges, table


def _positions(reader: GraphMLParser, end: list[str]) -> np.ndarray:
    positions = np.fromiter((reader.nodes.get(node, -1) for node in end), np.int64, len(end))
    if (positions < 0).any():
        row = int(np.argmax(positions < 0))
        must, got = "join declared nodes", shorten(end[row])
        raise reader.wrong("An edge", must, got, line=reader.edge_lines[row])
    return positions


def _weights(reader: GraphMLParser, m: int) -> tuple[np.ndarray | None, list[str]]:
    attribute = reader.named("edge", "weight")
    if attribute is None or not (attribute.rows or attribute.default is not None):
        return None, []
    weights, odd = attribute.numbers(m)
    given = np.zeros(m, dtype=bool)
    given[attribute.rows] = True
    absent = ~given if attribute.default is None else np.zeros(m, dtype=bool)
    weights[absent] = 1.0
    bad = ~(np.isfinite(weights) & (weights >= 0) & (weights <= np.finfo(np.float32).max))
    if odd is not None or bad.any():
        row = odd if odd is not None else int(np.argmax(bad))
        line = attribute.line_of(row) or reader.edge_lines[row]
        got = shorten(attribute.column(m)[row])
        raise reader.wrong("An edge weight", "be a finite number of at least 0", got, line=line)
    number = int(absent.sum())
    text = f"{reader.path}: {count(number, 'edge')} without a weight counted as 1."
    return weights, [text] if number else []


def _column(reader: GraphMLParser, attribute: Attribute, n: int) -> np.ndarray:
    numbers, odd = attribute.numbers(n)
    if odd is not None:
        got, line = shorten(attribute.column(n)[odd]), attribute.line_of(odd)
        raise reader.wrong(f"Attribute {attribute.name!r}", "be a number", got, line=line)
    return numbers


def _split(reader: GraphMLParser, n: int) -> np.ndarray | None:
    attribute = reader.named("node", "split")
    if attribute is None:
        return None
    cells = np.array([(cell or "").strip() for cell in attribute.column(n)], dtype=object)
    bad = ~np.isin(cells.astype(str), (*SPLITS, ""))
    if bad.any():
        row = int(np.argmax(bad))
        got, line = shorten(cells[row]), attribute.line_of(row)
        raise reader.wrong("A split", "be train, val, test or empty", got, line=line)
    return np.asarray(cells, dtype="<U5")
