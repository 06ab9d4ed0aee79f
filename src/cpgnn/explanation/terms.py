"""The terms of one explanation, the weightiest one by one: what terminal and picture draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cpgnn.engine.formatting import shortened
from cpgnn.engine.text import count
from cpgnn.explanation.sentences import PARTS
from cpgnn.explanation.wording import entry, weightiest
from cpgnn.relations.relation import EDGES, TWO_HOPS

if TYPE_CHECKING:
    from cpgnn.explanation.explanation import Explanation

OWN_PRIOR, ECHO = "its own prior", "its own prior, echoed back"
REST = "own: everything else"
ROUNDING = 1e-5
"""Below it, what is left of the own part is rounding."""
FAR = "all nodes two hops away"


@dataclass(frozen=True)
class Term:
    """A part of the logits, and how much it speaks for the node's class before the runner-up."""

    name: str
    margin: float
    kind: str = "sum"
    """ "prior", "neighbour", "returning", or "sum" of several terms."""
    looks_like: str = ""
    label: str = ""
    weight: float | None = None
    relation: str = ""
    """What joins a neighbour to the node, if not an edge; it stands behind the name."""

    def short(self, longest: int) -> str:
        """The name, where an id would take too much room; words of our own stay whole."""
        if self.kind != "neighbour":
            return self.name
        behind = f" ({self.relation})" if self.relation else ""
        return f"{shortened(self.name.removesuffix(behind), longest)}{behind}"


def terms(of: Explanation, i: int, top: int) -> list[Term]:
    """Prior, the `top` weightiest neighbours, the other ones together, the echo; they add up."""
    names = (*of.class_names, "")
    listed = _own(of, i)
    first = of.of(i).start
    margins = of.margin(of.contributions[of.of(i)], i)
    order = np.argsort(-np.abs(margins), kind="stable")
    for row in order[:top]:
        at = first + int(row)
        like, label = names[of.looks_like[at]], names[of.neighbour_labels[at]]
        name, weight = str(of.neighbours[at]), float(of.weights[at])
        relation = "" if of.relations is None else str(of.relations[at])
        relation = "" if relation == EDGES else relation
        name += f" ({relation})" if relation else ""
        margin = float(margins[row])
        listed.append(Term(name, margin, "neighbour", like, label, weight, relation))
    if len(order) > top:
        name = others(len(order) - top, far=of.relations is not None and TWO_HOPS in of.relations)
        listed.append(Term(name, float(margins[order[top:]].sum())))
    if of.far is not None:
        listed.append(Term(FAR, float(of.margin(of.far[i], i))))
    if of.num_layers > 1:
        listed.append(Term(ECHO, float(of.margin(of.returning[i], i)), "returning"))
    return listed


def _own(of: Explanation, i: int) -> list[Term]:
    """The own part: of a blend, prior by prior; column by column where that was asked for."""
    if of.features is not None:
        best = int(of.predicted[i])
        columns = [
            Term(entry(of.features, feature, best), margin, "prior")
            for feature, margin in weightiest(of, i)
        ]
        rest = float(of.margin(of.prior[i], i)) - sum(term.margin for term in columns)
        if columns and abs(rest) < ROUNDING:
            return columns
        return [*columns, Term(REST if columns else OWN_PRIOR, rest, "prior")]
    own = {OWN_PRIOR: of.prior}
    if of.parts is not None:
        own = {f"own: {PARTS.get(name, name)}": part for name, part in of.parts.items()}
    listed = [
        Term(name, float(of.margin(part[i], i)), "prior", of.class_names[int(part[i].argmax())])
        for name, part in own.items()
    ]
    return listed if of.parts is None else sorted(listed, key=lambda term: -abs(term.margin))


def others(number: int, *, far: bool = False) -> str:
    """ "the other neighbour", "the other 12 neighbours", "the other 12 nodes within two hops"."""
    one, several = ("node within two hops", "nodes within two hops") if far else ("neighbour", None)
    return f"the other {one}" if number == 1 else f"the other {count(number, one, several)}"
