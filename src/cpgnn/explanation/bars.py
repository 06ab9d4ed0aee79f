"""The terms of one node's explanation as bars: what the terminal and the picture draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from cpgnn.explanation.explanation import Explanation


@dataclass(frozen=True)
class Bar:
    """A term, and how much it speaks for the node's class before the runner-up."""

    name: str
    margin: float
    kind: str = "sum"
    """ "prior", "neighbour", "returning", or "sum" for several terms together."""
    looks_like: str = ""
    label: str = ""
    weight: float | None = None


def bars(of: Explanation, i: int, top: int) -> list[Bar]:
    """Prior, the `top` weightiest neighbours, the other ones together, the echo; they add up."""
    made = [Bar("its own prior", float(of.margin(of.prior[i], i)), "prior", _own(of, i))]
    rows = of.of(i)
    margins = of.margin(of.contributions[rows], i)
    order = np.argsort(-np.abs(margins), kind="stable")
    names = (*of.class_names, "")
    for row in order[:top]:
        at = rows.start + int(row)
        made.append(
            Bar(
                str(of.neighbours[at]),
                float(margins[row]),
                "neighbour",
                names[of.looks_like[at]],
                names[of.neighbour_labels[at]],
                float(of.weights[at]),
            )
        )
    if len(order) > top:
        rest = float(margins[order[top:]].sum())
        made.append(Bar(f"{len(order) - top:,} more neighbours", rest))
    if of.num_layers > 1:
        echo = float(of.margin(of.returning[i], i))
        made.append(Bar("its prior, come back", echo, "returning"))
    return made


def _own(of: Explanation, i: int) -> str:
    return of.class_names[int(of.prior[i].argmax())]
