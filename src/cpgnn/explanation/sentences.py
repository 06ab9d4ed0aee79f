"""An explanation in sentences that a person can repeat.

How many edges lead where is always read from `edge_frequency`: the matrix that propagation
multiplies with is doubly stochastic and says something else when classes differ in size.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import softmax

from cpgnn.engine.formatting import lead, signed, whole_percent
from cpgnn.explanation.wording import because
from cpgnn.relations.derived import is_far, is_shared

if TYPE_CHECKING:
    from cpgnn.explanation.explanation import Explanation

MOST_GROUPS = 3
"""Groups of neighbours that get a sentence each; the others share one."""
UNSEEN = 0.005
"""What would be printed as ±0.00 is not told."""
NEGLIGIBLE = 0.01
"""Echoes below this share of the margin are not worth a sentence."""

_PRIORS = {
    "cheby": " The Chebyshev prior looks at neighbours itself, so they count in it too.",
    "link": " The LINK prior reads the list of neighbours itself, so they count in it too.",
    "custom": " The prior is custom and may look at neighbours itself.",
}
PARTS = {
    "base": "what all nodes start from",
    "trees": "trees on its columns and those of its neighbours",
    "words": "trees on its columns",
    "mlp": "a network on its columns",
    "together": "a network trained with the edges",
    "ppr": "its smoothed columns",
    "sgc": "the columns of nodes two hops away",
    "link": "the list of its neighbours",
    "ties": "the nodes of other kinds around it",
    "shares": "the nodes it shares with others",
    "spread": "the labels around it",
}
"""The priors of a blend in words."""
NOTHING = (
    "It has neither edges nor features, so nothing is known about it: these are the shares of the "
    "classes among the training labels."
)
USES = {"train": "used for training", "val": "used for validation", "test": "held out"}


def sentences(of: Explanation, i: int) -> Iterator[str]:
    """Why the i-th node has its class: verdict, label, prior, neighbours, echo."""
    names, P = of.class_names, of.probabilities[i]
    best, second = int(of.predicted[i]), int(of.runner_up[i])
    yield (
        f"{of.node_ids[i]} is *{names[best]}* ({whole_percent(P[best])}), "
        f"ahead of *{names[second]}* ({whole_percent(P[second])})."
    )
    if of.labels[i] >= 0:
        yield _label(of, i, best)
    if of.nothing_known is not None and of.nothing_known[i]:
        yield NOTHING
        return
    yield _prior(of, i, best)
    count = int(of.pointer[i + 1] - of.pointer[i])
    if of.num_layers == 0:
        yield "The model uses its prior alone: nothing is propagated along the edges."
    elif count == 0:
        yield "It has no neighbours, so its prior decides."
    else:
        yield from _neighbours(of, i, best, count)
    echo, margin = float(of.margin(of.returning[i], i)), float(of.margin(of.total[i], i))
    if abs(echo) > NEGLIGIBLE * max(abs(margin), NEGLIGIBLE):
        yield (
            f"Its own prior, sent out and returned by its neighbours, speaks {_side(echo)} "
            f"*{names[best]}* ({signed(echo)})."
        )


def _label(of: Explanation, i: int, best: int) -> str:
    use = f" ({USES[of.used_for[i]]})" if of.used_for[i] else ""
    agrees = "agrees" if of.labels[i] == best else "disagrees"
    return f"Its label is known: *{of.class_names[of.labels[i]]}*{use}; the model {agrees}."


def _prior(of: Explanation, i: int, best: int) -> str:
    own = of.prior[i] if of.parts is None else softmax(of.prior[i])
    like, names = int(own.argmax()), of.class_names
    share = f" ({whole_percent(own[like])})" if of.num_layers else ""
    text = f"By itself it looks like *{names[like]}*{share}"
    if like != best == of.total[i].argmax():
        text += f": without its neighbours it would not be *{names[best]}*"
    told = f"{text}.{_PRIORS.get(of.prior_kind, '')}{_parts(of, i, like)}"
    return f"{told} {because(of, i, like == best)}".rstrip()


def _parts(of: Explanation, i: int, like: int) -> str:
    """What the own part of a blend rests on: of its weightiest two, those that speak for the class
    it looks like, and those against it; nothing where their margins are between other classes."""
    if of.parts is None or like not in (of.predicted[i], of.runner_up[i]):
        return ""
    sign = 1 if like == of.predicted[i] else -1
    margins = [(name, float(of.margin(part[i], i))) for name, part in of.parts.items()]
    margins.sort(key=lambda pair: -abs(pair[1]))
    for_it = [pair for pair in margins if sign * pair[1] > 0]
    against = [pair for pair in margins[:2] if sign * pair[1] < 0]
    told = [
        " and ".join(f"{PARTS.get(name, name)} ({signed(margin)})" for name, margin in some)
        for some in (for_it[: max(2 - len(against), 1)], against)
    ]
    if not told[0]:
        return ""
    return f" That rests on {told[0]}{f'; against it: {told[1]}' if told[1] else ''}."


def _neighbours(of: Explanation, i: int, best: int, count: int) -> Iterator[str]:
    """One sentence for each class that neighbours look like, the weightiest first."""
    rows, c = of.of(i), len(of.class_names)
    far = _two_hops(of, i, rows)
    if of.relations is not None:
        rows = np.arange(rows.start, rows.stop)[~_far(of.relations[rows])]
        count = len(rows)
    like = np.where(of.looks_like[rows] < 0, c, of.looks_like[rows])  # c: no class
    size = np.bincount(like, minlength=c + 1)
    weight = np.bincount(like, of.margin(of.contributions[rows], i), minlength=c + 1)
    groups = sorted(np.flatnonzero(size), key=lambda group: -abs(weight[group]))
    if count and np.abs(weight).max() < UNSEEN:
        who = "Its only neighbour makes" if count == 1 else f"Its {count:,} neighbours make"
        yield f"{who} no difference."
        groups = []
    rather = f"*{of.class_names[best]}* rather than *{of.class_names[of.runner_up[i]]}*"
    for group in groups[:MOST_GROUPS]:
        n, total = int(size[group]), float(weight[group])
        if abs(total) < UNSEEN:
            continue
        they = "Together they speak" if n > 1 else "It speaks"
        what = f"ha{'ve' if n > 1 else 's'} no class of {'their' if n > 1 else 'its'} own"
        if group < c:
            looks, name = f"look{'' if n > 1 else 's'} like", of.class_names[group]
            what = f"{looks} *{name}*{_edges(of, int(group), best, total)}"
        yield f"{_who(n, count)} {what}. {they} {_side(total)} {rather} ({signed(total)})."
    rest = groups[MOST_GROUPS:]
    if rest:
        n, total = int(size[rest].sum()), float(weight[rest].sum())
        verb = "speak" if n > 1 else "speaks"
        yield f"The other {n:,} {verb} {_side(total)} it ({signed(total)})."
    if abs(far) >= UNSEEN:
        who = "The nodes that share others with it" if _shares(of) else "The nodes two hops away"
        yield f"{who} speak {_side(far)} {rather} ({signed(far)})."


def _two_hops(of: Explanation, i: int, rows: slice) -> float:
    """What nodes two hops away say for the node's class before the runner-up."""
    total = 0.0 if of.far is None else float(of.margin(of.far[i], i))
    if of.relations is not None:
        margins = of.margin(of.contributions[rows], i)
        total += float(margins[_far(of.relations[rows])].sum())
    return total


def _far(relations: np.ndarray) -> np.ndarray:
    """Which terms come from two hops away [m]."""
    far = {name for name in set(relations.tolist()) if is_far(name)}
    return np.isin(relations.astype(str), list(far))


def _shares(of: Explanation) -> bool:
    """Whether what comes from two hops away comes by way of nodes of another kind."""
    return of.relations is not None and any(map(is_shared, set(of.relations.tolist())))


def _who(n: int, count: int) -> str:
    if n == count:
        return "Its only neighbour" if n == 1 else f"Its {n:,} neighbours"
    return f"{n:,} of its {count:,} neighbours"


def _edges(of: Explanation, group: int, best: int, total: float) -> str:
    """ "; 71 % of the edges of *buyer* nodes lead to *seller* (48 % of all edges do)".

    Nothing where that is not the reason: the numbers do not differ, or point the other way.
    """
    share, name, usual = of.edge_frequency[group, best], of.class_names[group], of.edge_share[best]
    if np.isnan(share):
        return f"; where the {of.counted} of *{name}* nodes {lead(of.counted)} is not known"
    if whole_percent(share) == whole_percent(usual) or (share > usual) != (total > 0):
        return ""
    what, best_name = of.counted, of.class_names[best]
    return (
        f"; {whole_percent(share)} of the {what} of *{name}* nodes {lead(what)} to *{best_name}* "
        f"({whole_percent(usual)} of all {what} {'does' if what == 'edge weight' else 'do'})"
    )


def _side(margin: float) -> str:
    return "for" if margin > 0 else "against"
