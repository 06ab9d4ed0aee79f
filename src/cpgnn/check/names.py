"""Findings about names: ids and classes that look alike, and classes that mean "unknown"."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator

import numpy as np
import pandas as pd

from cpgnn.check.finding import EXAMPLES, Finding, named
from cpgnn.engine.text import count, listed
from cpgnn.errors import advise
from cpgnn.graph import Graph
from cpgnn.io.labels import alike, stands_for_unknown


def similar_ids(graph: Graph) -> Iterator[Finding]:
    """Ids that differ only by case or surrounding spaces, in one file or between two."""
    if pd.api.types.is_integer_dtype(graph.node_ids.dtype) or not graph.num_nodes:
        return
    found = _like_another(graph.node_ids)
    if not len(found):
        return
    lonely = int((graph.num_neighbours[found] == 0).sum())
    yield Finding(
        "problem" if lonely else "risk",
        "similar-ids",
        "Some node ids differ only by case, spaces or Unicode form",
        f"{count(len(found), 'id')}, such as {_told_apart(graph.node_ids[found[:2]])}, count "
        "as different nodes."
        + (
            f" {count(lonely, 'of them has', 'of them have')} no edge: the files seem to write "
            "ids differently."
            if lonely
            else ""
        ),
        "Write every id the same way in all files.",
        len(found),
        named(graph, found),
    )


def class_names(graph: Graph) -> Iterator[Finding]:
    """Classes that differ only by case or spaces, and classes that look like "unknown"."""
    names = [str(name) for name in graph.class_names]
    found = _like_another(names)
    if len(found):
        same = np.isin(graph.labels, found)
        yield Finding(
            "problem",
            "similar-classes",
            "Classes differ only by case, spaces or Unicode form",
            f"{_told_apart([names[i] for i in found])} count as different classes "
            f"({count(int(same.sum()), 'node')}).",
            "Write every class the same way.",
            len(found),
            named(graph, same),
        )
    for name in [name for name in names if stands_for_unknown(name, names)][:EXAMPLES]:
        nodes = np.flatnonzero(graph.labels == names.index(name))
        yield Finding(
            "risk",
            "placeholder-class",
            f"The class {name!r} looks like a placeholder for 'unknown'",
            f"{count(len(nodes), 'node has', 'nodes have')} this label, and it would be learned "
            "and predicted like any other class.",
            advise("If it means unknown, use {}.", unlabelled=name),
            len(nodes),
            named(graph, nodes),
        )


def _told_apart(names: Iterable[object]) -> str:
    """The names; with their accents spelt out where two would look the same."""
    shown = [str(name) for name in names]
    plain = {unicodedata.normalize("NFKC", name) for name in shown}
    return listed(shown if len(plain) == len(shown) else [ascii(name)[1:-1] for name in shown])


def _like_another(names: Iterable[object]) -> np.ndarray:
    """Positions of the names that are like another, those that are alike side by side."""
    group = alike(names)
    found = np.flatnonzero(group >= 0)
    return found[np.argsort(group[found], kind="stable")]
