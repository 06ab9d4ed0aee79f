"""The elements of a GraphML file, collected one by one; document types are refused.

`xml.parsers.expat` is used because it tells the line, and because a document type can be
refused before anything in it is expanded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from cpgnn.errors import InputError
from cpgnn.io.headers import MISSING
from cpgnn.io.places import first_line, opened, wrong


@dataclass
class Attribute:
    """One `<key>`: its name, its type, its default, and the values that were given."""

    name: str
    kind: str
    default: str | None = None
    rows: list[int] = field(default_factory=list)
    values: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def column(self, n: int) -> np.ndarray:
        """The value for each of n nodes or edges; the default, or None, where none is given."""
        cells = np.full(n, self.default, dtype=object)
        cells[self.rows] = self.values
        return cells

    def numbers(self, n: int) -> tuple[np.ndarray, int | None]:
        """float64 [n], NaN where missing, and the first place that is not a number."""
        cells = self.column(n)
        numbers = np.full(n, np.nan)
        for i, cell in enumerate(cells):
            if cell is not None and cell.strip().lower() not in MISSING:
                try:
                    numbers[i] = float(cell)
                except ValueError:
                    return numbers, i
        return numbers, None

    def line_of(self, row: int) -> int | None:
        return self.lines[self.rows.index(row)] if row in self.rows else None


class GraphMLParser:
    """Collects nodes, edges and attributes while the parser walks through the file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.nodes: dict[str, int] = {}
        self.node_lines: list[int] = []
        self.ends: tuple[list[str], list[str]] = ([], [])
        self.edge_lines: list[int] = []
        self.keys: dict[tuple[str, str], Attribute] = {}
        self.graphs = 0
        self._inside: list[str] = []
        self._key: Attribute | None = None
        self._data: str | None = None
        self._text: list[str] = []
        self.parser = expat.ParserCreate(namespace_separator=" ")
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = self._end
        self.parser.CharacterDataHandler = self._text.append
        self.parser.StartDoctypeDeclHandler = self._refuse
        self.parser.EntityDeclHandler = self._refuse
        self.parser.buffer_text = True

    def wrong(
        self, what: str, must: str, got: object, hint: str = "", line: int | None = None
    ) -> InputError:
        line = line or self.parser.CurrentLineNumber
        return wrong(self.path, what, must, got, hint, line=line)

    def _refuse(self, *_: Any) -> None:
        raise self.wrong("GraphML", "have no document type or entities", "one", "Remove it.")

    def _start(self, name: str, given: dict[str, str]) -> None:
        tag = name.rpartition(" ")[2]
        if not self._inside and tag != "graphml":
            raise self.wrong("GraphML", "begin with <graphml>", f"<{tag}>")
        line = self.parser.CurrentLineNumber
        if tag == "key":
            self._key = Attribute(given.get("attr.name", ""), given.get("attr.type", "string"))
            where = given.get("for", "all")
            for kind in ("node", "edge") if where == "all" else (where,):
                self.keys[kind, self._needed(tag, given, "id")] = self._key
        elif tag == "graph":
            self.graphs += 1
            if self.graphs > 1:
                raise self.wrong("GraphML", "have one graph", "another <graph>")
        elif tag == "node":
            node = self._needed(tag, given, "id")
            if node in self.nodes:
                first = self.node_lines[self.nodes[node]]
                raise self.wrong("A node", "be there once", f"{node!r} again (first line {first})")
            self.nodes[node] = len(self.nodes)
            self.node_lines.append(line)
        elif tag == "edge":
            for end, key in zip(self.ends, ("source", "target"), strict=True):
                end.append(self._needed(tag, given, key))
            self.edge_lines.append(line)
        elif tag == "hyperedge":
            raise self.wrong("An edge", "join two nodes", "a <hyperedge>")
        elif tag == "data":
            self._data = self._needed(tag, given, "key")
        self._inside.append(tag)
        self._text.clear()

    def _needed(self, tag: str, given: dict[str, str], name: str) -> str:
        if not given.get(name, "").strip():
            raise self.wrong(f"<{tag}>", f"have '{name}'", "none")
        return given[name]

    def _end(self, _: str) -> None:
        tag = self._inside.pop()
        text = "".join(self._text)
        self._text.clear()
        if tag == "default" and self._key is not None:
            self._key.default = text
        elif tag == "data" and self._data is not None and self._inside[-1] in ("node", "edge"):
            owner = self._inside[-1]
            attribute = self.keys.get((owner, self._data))
            if attribute is not None:
                attribute.rows.append(len(self.nodes if owner == "node" else self.edge_lines) - 1)
                attribute.values.append(text)
                attribute.lines.append(self.parser.CurrentLineNumber)

    def named(self, owner: str, name: str) -> Attribute | None:
        found = (a for (kind, _), a in self.keys.items() if kind == owner)
        return next((a for a in found if a.name.lower() == name), None)


def parse_graphml(path: Path) -> GraphMLParser:
    """Everything that the file says, or an `InputError` with the line."""
    reader = GraphMLParser(path)
    with opened(path) as stream:
        try:
            reader.parser.ParseFile(stream)
        except expat.ExpatError as error:
            raise wrong(
                path,
                "GraphML",
                "be well-formed XML",
                expat.errors.messages[error.code],
                "Write or download it again.",
                line=error.lineno,
            ) from None
        except (LookupError, ValueError) as error:
            if isinstance(error, InputError):
                raise
            must = "be in an encoding that is known"
            raise wrong(path, "GraphML", must, first_line(error), "Use UTF-8.", line=1) from None
    return reader
