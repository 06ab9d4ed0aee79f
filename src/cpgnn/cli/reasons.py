"""Explanations on standard output: sentences with a table and bars, JSON, or CSV."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Literal

from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from cpgnn.cli.printing import console, show, table
from cpgnn.engine.records import json_text
from cpgnn.explanation.explanation import Explanation
from cpgnn.explanation.terms import Term, terms

HALF = 12
"""Characters of the longest term."""
SMALLEST = 0.0005
"""What is printed as 0.000 gets no bar."""


def print_explanation(
    of: Explanation,
    form: Literal["text", "json", "csv"],
    top: int,
    also: Sequence[str] | None = None,
) -> None:
    """As text, the `top` neighbours of each node and what `also` says of it; otherwise all of them.

    JSON and CSV hold the exact terms alone.
    """
    if form == "json":
        print(json_text(of.to_dict()), end="")
    elif form == "csv":
        of.to_frame().to_csv(sys.stdout, index=False, lineterminator="\n")
    else:
        to = console()
        for i in range(len(of)):
            _print_node(to, of, i, top, also[i] if also else "")


def in_italics(words: str) -> Text:
    """Sentences with their *names* in italics."""
    pieces = words.split("*")
    return Text.assemble(*((piece, "italic" if k % 2 else "") for k, piece in enumerate(pieces)))


def _print_node(to: Console, of: Explanation, i: int, top: int, also: str) -> None:
    to.print(in_italics(f"{of.words(i)} {also}".strip()))
    if of.nothing_known is not None and of.nothing_known[i]:
        return  # there is nothing to take apart
    made = terms(of, i, top)
    best, second = (of.class_names[j] for j in (of.predicted[i], of.runner_up[i]))
    weighted = any(term.weight not in (None, 1.0) for term in made)
    heads = ["looks like", "label", *(["weight"] if weighted else [])]
    listed = table("term", *heads, f"for {best} before {second}")
    listed.add_column("", no_wrap=True)
    longest = max(abs(term.margin) for term in made)
    for term in made:
        _add(listed, term, longest, weighted)
    total = Term("sum: difference of the logits", float(of.margin(of.total[i], i)))
    listed.add_section()
    _add(listed, total, 0.0, weighted)
    show(to, listed)
    if of.features is not None:
        to.print(Text(of.features.accuracy(i)))


def _add(listed: Table, term: Term, longest: float, weighted: bool) -> None:
    cells = [escape(term.name), escape(term.looks_like), escape(term.label)]
    if weighted:
        cells.append("" if term.weight is None else f"{term.weight:g}")
    listed.add_row(*cells, f"{term.margin:+.3f}", _drawn(term.margin, longest))


def _drawn(margin: float, longest: float) -> Text:
    """A bar to the right of the axis for the class, to its left against it."""
    if longest < SMALLEST:
        return Text("")
    blocks = "█" * round(HALF * abs(margin) / longest)
    if margin < 0:
        return Text(f"{blocks:>{HALF}}│", style="red")
    return Text(f"{'':>{HALF}}│{blocks}", style="green")
