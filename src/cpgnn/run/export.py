"""The fitted graph of a run with its predictions, for Gephi and other programs.

GEXF 1.3 and GraphML 1.0 are written line by line, so that a large graph needs no second copy of
itself as XML; Parquet as two tables in a folder. Node ids are text and stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import repeat
from pathlib import Path
from typing import Literal
from xml.sax.saxutils import escape, quoteattr

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from cpgnn.engine.text import shorten
from cpgnn.errors import Message, advise, check_choice, must_be
from cpgnn.graph import Graph
from cpgnn.io import atomic_folder, atomic_write, check_free, write_table
from cpgnn.io.files import StrPath
from cpgnn.io.presence import check_ending
from cpgnn.run.predictions import run_predictions
from cpgnn.run.run import Run

ExportFormat = Literal["gexf", "graphml", "parquet"]
EDGE_COLUMNS = ("source", "target", "weight")
NODES, EDGES = "nodes.parquet", "edges.parquet"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_XML = '<?xml version="1.0" encoding="UTF-8"?>'


@dataclass(frozen=True, eq=False)
class _Tables:
    """Every node with its predictions; every edge once, as positions of nodes, or in both
    directions if it has none and others have."""

    nodes: pd.DataFrame
    source: np.ndarray
    target: np.ndarray
    weight: np.ndarray
    type: np.ndarray | None
    directed: bool

    @property
    def direction(self) -> str:
        return "directed" if self.directed else "undirected"

    @property
    def columns(self) -> list[tuple[str, str]]:
        """The name and the XML type of every column but the id."""
        kinds = self.nodes.dtypes.iloc[1:]
        return [(str(name), "double" if of.kind == "f" else "string") for name, of in kinds.items()]

    def node_cells(self) -> Iterator[tuple[str, list[tuple[int, str]]]]:
        """The id of each node, and its cells that are not empty with their column's number."""
        ids, *columns = (self.nodes.iloc[:, i] for i in range(self.nodes.shape[1]))
        for node, *cells in zip(ids, *columns, strict=True):
            texts = (cell if isinstance(cell, str) else repr(cell) for cell in cells)
            told = enumerate(zip(cells, texts, strict=True))
            yield node, [(i, text) for i, (cell, text) in told if text and cell == cell]  # no NaN

    def edge_cells(self) -> Iterator[tuple[str, str, str, str]]:
        """Both ends of each edge, quoted, its weight in the shortest form, and its type."""
        ids = [quoteattr(node) for node in self.nodes["id"]]
        types = repeat("") if self.type is None else self.type
        for u, v, weight, kind in zip(self.source, self.target, self.weight, types, strict=False):
            yield ids[u], ids[v], str(weight), kind


def export_run(run: Run, out: StrPath, to: ExportFormat) -> Path:
    """Writes the fitted graph of a run, whole or not at all: a file, or for Parquet a folder.

    The nodes have the columns of predictions.parquet and `probability`, that of their class; empty
    cells are left out of XML. GEXF shows the id as label, and calls ours `known_label`. The edges
    have a `weight` and, if they have types, a `type`; nodes a `kind`, if there are several. In XML,
    if some edges have a direction, the others are there twice, both ways. Self-loops, which a fit
    sets aside, are not there. `to` is "gexf", "graphml" or "parquet" (nodes.parquet and
    edges.parquet).
    """
    out = check_export(out, to)
    if not run.has_graph:
        hint = "Fit with 'cpgnn fit'. After 'cpgnn spark fit', 'cpgnn spark predict' has the nodes."
        raise must_be("The run", "have the graph it was fitted on", "none", hint)
    tables = _tables(run, to)
    if to == "parquet":
        with atomic_folder(out) as folder:
            write_table(folder / NODES, tables.nodes)
            write_table(folder / EDGES, _edge_table(tables))
        return out
    kinds = () if run.graph.kinds is None else run.graph.kinds.names
    types = [kind.name for kind in run.graph.types]
    _check_characters("A node id", tables.nodes["id"])
    for what, names in (("A class name", run.class_names), ("A kind", kinds), ("A type", types)):
        _check_characters(what, names)
    lines = _gexf(tables) if to == "gexf" else _graphml(tables)
    with atomic_write(out) as file:
        file.writelines(f"{line}\n".encode() for line in lines)
    return out


def check_export(out: StrPath, to: str) -> Path:
    """The path, if it can be written in this format."""
    check_choice("to", to, ("gexf", "graphml", "parquet"))
    if to != "parquet":
        return check_ending(out, "the file", f".{to}")
    check_free(out)
    return Path(out)


def _tables(run: Run, to: ExportFormat) -> _Tables:
    nodes = run_predictions(run)
    P = nodes[[f"p_{name}" for name in run.class_names]]
    nodes.insert(nodes.columns.get_loc("class") + 1, "probability", P.max(axis=1))
    if len(nodes) < run.graph.num_nodes:  # other kinds of nodes have no class
        ids = run.graph.node_ids.astype(str)
        text = {name: "" for name, of in nodes.dtypes.items() if of.kind == "O" and name != "id"}
        nodes = nodes.set_index("id").reindex(ids).rename_axis("id").fillna(text).reset_index()
    graph = run.graph
    if graph.kinds is not None:
        of_kind = np.array(graph.kinds.names, dtype=object)[graph.kinds.codes]
        nodes.insert(1, "kind", of_kind if len(nodes) == len(of_kind) else of_kind[graph.predicted])
    each = listed_edges(graph, to)
    source, target = (np.concatenate([M.coords[end] for M in each]) for end in (0, 1))
    named = [np.full(M.nnz, t.name, dtype=object) for M, t in zip(each, graph.types, strict=True)]
    types = np.concatenate(named) if graph.has_types else None
    weight = np.concatenate([M.data for M in each])
    directed = any(kind.directed for kind in graph.types)
    return _Tables(nodes, source, target, weight, types, directed)


def listed_edges(graph: Graph, to: ExportFormat) -> list[sp.coo_array]:
    """The edges of each type as this format lists them: each once, or in both directions in XML
    if it has none and others have."""
    every = to != "parquet" and any(kind.directed for kind in graph.types)
    return [sp.coo_array(kind.matrix) if every else kind.each_once() for kind in graph.types]


def _edge_table(tables: _Tables) -> pa.Table:
    ids = pa.array(tables.nodes["id"], pa.large_string())  # more than 2 GB of text in all is fine
    ends = [ids.take(pa.array(end)) for end in (tables.source, tables.target)]
    types = {} if tables.type is None else {"type": pa.array(tables.type, pa.string())}
    return pa.table(dict(zip(EDGE_COLUMNS, [*ends, tables.weight], strict=True)) | types)


def _check_characters(what: str, names: Iterable[str]) -> None:
    for name in names:
        if _NOT_XML.search(name):
            hint = Message("Rename it, or use ", advise("{}.", to="parquet"))
            raise must_be(what, "have only characters that XML allows", shorten(name), hint)


def _graphml(tables: _Tables) -> Iterator[str]:
    yield _XML
    yield '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    for i, (name, kind) in enumerate(tables.columns):
        yield f'<key id="n{i}" for="node" attr.name={quoteattr(name)} attr.type="{kind}"/>'
    yield '<key id="weight" for="edge" attr.name="weight" attr.type="double"/>'
    if tables.type is not None:
        yield '<key id="type" for="edge" attr.name="type" attr.type="string"/>'
    yield f'<graph edgedefault="{tables.direction}">'
    for node, cells in tables.node_cells():
        data = (f'<data key="n{i}">{escape(c, {chr(13): "&#13;"})}</data>' for i, c in cells)
        yield f"<node id={quoteattr(node)}>{''.join(data)}</node>"
    for source, target, weight, kind in tables.edge_cells():
        of = f'<data key="type">{escape(kind)}</data>' if kind else ""
        value = f'<data key="weight">{weight}</data>'
        yield f"<edge source={source} target={target}>{value}{of}</edge>"
    yield "</graph>\n</graphml>"


def _gexf(tables: _Tables) -> Iterator[str]:
    yield _XML
    yield '<gexf xmlns="http://gexf.net/1.3" version="1.3">'
    yield f'<graph defaultedgetype="{tables.direction}" mode="static">\n<attributes class="node">'
    for i, (name, kind) in enumerate(tables.columns):
        title = quoteattr("known_label" if name == "label" else name)  # the label is what is shown
        yield f'<attribute id="{i}" title={title} type="{kind}"/>'
    yield "</attributes>"
    if tables.type is not None:
        yield '<attributes class="edge"><attribute id="type" title="type" type="string"/>'
        yield "</attributes>"
    yield "<nodes>"
    for node, cells in tables.node_cells():
        values = "".join(f'<attvalue for="{i}" value={quoteattr(c)}/>' for i, c in cells)
        name = quoteattr(node)
        yield f"<node id={name} label={name}><attvalues>{values}</attvalues></node>"
    yield "</nodes>\n<edges>"
    for i, (source, target, weight, kind) in enumerate(tables.edge_cells()):
        of = f'<attvalues><attvalue for="type" value={quoteattr(kind)}/></attvalues>'
        end = f">{of}</edge>" if kind else "/>"
        yield f'<edge id="{i}" source={source} target={target} weight="{weight}"{end}'
    yield "</edges>\n</graph>\n</gexf>"
