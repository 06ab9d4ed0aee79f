"""Columns in words: "*refunds* is 14 (typical of *fraudster*: 12; +1.20)"."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from cpgnn.engine.formatting import percent, shortened, signed, whole_percent
from cpgnn.engine.text import together
from cpgnn.explanation.pieces import (
    AROUND,
    LABELS,
    NEIGHBOURS,
    OWN,
    PLACE,
    SHAPE,
    SHARING,
    TOGETHER,
)

if TYPE_CHECKING:
    from cpgnn.explanation.explanation import Explanation
    from cpgnn.explanation.features import Feature, Features

MOST = 3
"""Columns in a sentence."""
LEAST = 0.1
"""Columns that say less than this share of the weightiest are not worth a clause."""
DAYS = 10**6
"""Before and after 1970: what a calendar has room for."""
SHAPES = {
    "degree": "its number of neighbours",
    "degree, mean of neighbours": "the number of neighbours of a neighbour, on average,",
    "degree, largest of neighbours": "the largest number of neighbours of a neighbour",
    "degree, smallest of neighbours": "the smallest number of neighbours of a neighbour",
    "core number": "its core number",
    "PageRank": "its PageRank, in multiples of the mean,",
    "triangles": "the share of its neighbours that know each other",
}
WHOLE = {
    OWN: "its columns together",
    AROUND: "what is around it",
    PLACE: "its place in the graph",
    LABELS: "the labels around it",
}
PLURAL = (OWN, LABELS)
HEADS = {
    OWN: "own",
    AROUND: "around it",
    SHAPE: "shape of the graph",
    NEIGHBOURS: "list of neighbours",
    SHARING: "shares a node with",
}


def weightiest(of: Explanation, i: int) -> list[tuple[Feature, float]]:
    """The columns of the i-th node that say most for its class or against it, with how much."""
    if of.features is None:
        return []
    found = [(one, float(of.margin(one.contribution, i))) for one in of.features.merged(i)]
    return sorted(found, key=lambda pair: -abs(pair[1]))[: of.features.top]


def because(of: Explanation, i: int, agrees: bool = True) -> str:
    """A sentence on the weightiest columns; agrees: the own part speaks for the node's class."""
    found = weightiest(of, i)[:MOST]
    if not found or not found[0][1]:
        return ""
    features = of.features
    assert features is not None
    found = [pair for pair in found if abs(pair[1]) >= LEAST * abs(found[0][1])]
    best = int(of.predicted[i])
    name = of.class_names[best]

    def told(sign: int) -> str:
        some = [(one, margin) for one, margin in found if sign * margin > 0]
        nodes = NEIGHBOURS, SHARING
        texts = [_clause(features, o, best, m) for o, m in some if o.source not in nodes]
        for source in nodes:
            texts += _named([(o.column, m) for o, m in some if o.source == source], source)
        return together(texts)

    for_it, against = told(1), told(-1)
    if not for_it:
        return f"Against *{name}*: {against}."
    start = "Mostly because" if agrees else f"For *{name}*:"
    return f"{start} {for_it}" + (f"; against it: {against}." if against else ".")


def _named(found: list[tuple[str, float]], source: str) -> Iterator[str]:
    """One clause for all nodes of a source, with how much they say together."""
    if found:
        who = together([f"*{shortened(name)}*" for name, _ in found])
        are = "is" if len(found) == 1 else "are"
        said = f"{who} {are} among its neighbours"
        if source == SHARING:
            said = f"it shares a node with {who}"
        yield f"{said} ({signed(sum(margin for _, margin in found))})"


def _clause(of: Features, one: Feature, best: int, margin: float) -> str:
    """What the column is, what it typically is, and how much it says."""
    usual, size, name = one.typical[best], signed(margin), of.class_names[best]
    if one.column == TOGETHER:
        says = "say so " if one.source in PLURAL else "says so "
        return f"{WHOLE[one.source]} {says if margin > 0 else ''}({size})"
    column = f"*{shortened(one.column)}*"
    if one.source == OWN and of.sparse and not np.isnan(one.value):
        have = "" if np.isnan(usual) else f"{whole_percent(usual)} of *{name}* have it; "
        return f"it {'has' if one.value else 'lacks'} {column} ({have}{size})"
    value = "missing" if np.isnan(one.value) else _written(of, one, one.value)
    typical = "" if np.isnan(usual) else f"typical of *{name}*: {_written(of, one, usual)}; "
    if one.source == SHAPE:
        return f"{SHAPES[one.column]} is {value} ({typical}{size})"
    around = " of its neighbours" if one.source == AROUND else ""
    average = ", on average," if around else ""
    if np.isnan(one.value) and np.isnan(usual):
        return f"{column}{around} ({size})"
    return f"{column}{around}{average} is {value} ({typical}{size})"


def entry(of: Features, one: Feature, best: int) -> str:
    """The same for a table: "own: refunds = 14 (typical: 12)"."""
    if one.column == TOGETHER:
        return WHOLE[one.source]
    value = "" if np.isnan(one.value) else f" = {_written(of, one, one.value)}"
    usual = one.typical[best]
    typical = "" if np.isnan(usual) else f" (typical: {_written(of, one, usual)})"
    if typical and of.sparse and one.source == OWN:
        typical = f" ({whole_percent(usual)} have it)"
    return f"{HEADS[one.source]}: {shortened(one.column)}{value}{typical}"


def _written(of: Features, one: Feature, value: float) -> str:
    """A value as its column was written: "2021-03-14", "14:35", "49.0 %", "yes"."""
    kind = of.written.get(one.column) if one.source in (OWN, AROUND) else None
    if kind == "date" and abs(value) < DAYS:
        return str(np.datetime64(round(value), "D"))
    if kind == "time":
        return f"{int(value // 3600):02d}:{int(value // 60) % 60:02d}"
    if kind == "yes/no" and value in (0, 1):
        return "yes" if value else "no"
    return percent(value) if kind == "percent" else _number(value)


def _number(value: float) -> str:
    """ "14", "0.31", "1,250"."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"
