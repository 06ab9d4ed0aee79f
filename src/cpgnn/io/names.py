"""One rule for names from outside, in every format.

Ids of nodes, classes and features are Unicode text without control characters: on one line, and
safe to print. Ids are not blank, and differ by more than surrounding spaces; a blank class means
unknown. Names of which there are few stand in many sentences and tables, so they are not long.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import partial

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.engine.text import shorten
from cpgnn.errors import must_be
from cpgnn.graph import Graph
from cpgnn.io.files import StrPath, wrong

CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x{80}-\x{9f}]"
"""All but tabs, which are blanks, and the ends of lines."""
NO_CONTROL = "have no control characters"
LONGEST = 1000
"""Characters of the name of a class, a feature, a type or a kind."""
_ENDS = r"[\r\n]"


def has_control(names: pa.Array) -> pa.Array:
    return pc.match_substring_regex(names, CONTROL)


def has_lines(names: pa.Array) -> pa.Array:
    return pc.match_substring_regex(names, _ENDS)


def usable_names(names: Sequence[str]) -> tuple[str, ...]:
    """Those without control characters that are not too long."""
    text = pa.array(names, pa.string())
    return tuple(
        name
        for name, bad in zip(names, has_control(text).to_pylist(), strict=True)
        if not bad and len(name) <= LONGEST
    )


def check_names(
    what: str,
    names: pd.Index | Sequence[Hashable],
    path: StrPath | None = None,
    *,
    longest: int | None = LONGEST,
) -> None:
    """Raises for the first name with control characters, and for one of more than `longest`;
    `what` is it, such as "A class name"."""
    if isinstance(names, pd.Index) and names.dtype.kind in "iu":
        return
    refused = must_be if path is None else partial(wrong, path)
    text = pa.array([str(name) for name in names], pa.large_string())
    where = pc.index(pc.or_(has_control(text), has_lines(text)), True).as_py()
    if where >= 0:
        raise refused(what, NO_CONTROL, shorten(text[where].as_py()))
    if longest is not None and (name := max(text.to_pylist(), key=len, default=""))[longest:]:
        must, got = f"have at most {longest:,} characters", f"{len(name):,}: {shorten(name)}"
        raise refused(what, must, got, "Check that the right column is read.")


def check_graph_names(graph: Graph, path: StrPath | None = None) -> None:
    """The same for all names of a graph, whoever has built it."""
    check_names("A node id", graph.node_ids, path, longest=None)
    check_names("A class name", graph.class_names, path)
    check_names("A feature name", graph.feature_names or (), path)
    check_names("A type of edges", [kind.name for kind in graph.edge_types], path)
    check_names("A kind of nodes", graph.kinds.names if graph.kinds else (), path)
    for one in graph.mixed.categories if graph.mixed else ():
        check_names("A category", (one.name, *one.values), path, longest=None)
