"""Numbers and names as people read them: one rule each for terminal, page and sentences."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Literal

from markupsafe import Markup, escape

LONGEST = 40


def percent(share: float, digits: int = 1) -> str:
    """A score or a share: "73.2 %"; "–" where there is none."""
    return "–" if math.isnan(share) else f"{100 * share:.{digits}f} %"


def between(low: float, high: float, digits: int = 1) -> str:
    """The ends of an interval: "70.1–76.3 %"."""
    if math.isnan(low) or math.isnan(high):
        return "–"
    return f"{100 * low:.{digits}f}–{percent(high, digits)}"


def whole_percent(share: float) -> str:
    """Where edges lead, in sentences: "71 %", but never 0 % or 100 % of what is neither."""
    if 0 < share < 0.01:
        return "under 1 %"
    if 0.99 < share < 1:
        return "over 99 %"
    return percent(share, 0)


def ratio(h: float) -> str:
    """The homophily ratio, as papers write it: "0.123"."""
    return "–" if math.isnan(h) else f"{h:.3f}"


def probability(p: float) -> str:
    """Of one node: "97.31 %", "> 99.99 %", "< 0.01 %"."""
    hundredths = round(1e4 * p)
    if hundredths in (0, 10_000):
        return "> 99.99 %" if hundredths else "< 0.01 %"
    return f"{hundredths / 100:.2f} %"


def what_decides(evidence: Mapping[str, float]) -> str:
    """The shares of own part and relations: "its own part 29 %, edges 71 %"."""
    named = {"own": "its own part"}
    shares = {named.get(n, n): percent(x, 0) for n, x in evidence.items()}
    return ", ".join(f"{name} {share}" for name, share in shares.items())


def carried(evidence: Mapping[str, float], relation: str) -> str:
    """How much a relation says: "71 % of the evidence"."""
    share = evidence.get(relation, 0.0)
    return f"{percent(share, 0)} of the evidence" if share else "not heard by the model"


def signed(margin: float) -> str:
    """How much a term speaks for or against: "+1.28"."""
    return f"{margin:+.2f}"


def shortened(name: object, longest: int = LONGEST) -> str:
    """A name without its middle where it would fill a line: long ones often differ at the end."""
    text, end = str(name), longest // 3
    return text if len(text) <= longest else f"{text[: longest - 1 - end]}…{text[-end:]}"


def abridged(text: str, longest: int) -> str:
    """The beginning of a text that is too long."""
    return text if len(text) <= longest else f"{text[: longest - 1]}…"


def quoted(name: object) -> str:
    """ "“fraud”", in the middle of a sentence."""
    return f"“{shortened(name)}”"


def emphasised(words: str) -> Markup:
    """Sentences as HTML with their *names* in italics; everything else is escaped."""
    pieces = (str(escape(piece)) for piece in words.split("*"))
    return Markup("".join(f"<em>{p}</em>" if i % 2 else p for i, p in enumerate(pieces)))


Counted = Literal["edges", "edge weight", "shared-node links"]
"""What a share of who connects with whom is a share of; see `relations.derived.counted`."""
SHARED_NODE_LINKS = (
    "A shared-node link joins two nodes that share a node of another kind; no edge joins them."
)


def lead(counted: Counted) -> str:
    """The verb of what is counted."""
    return "leads" if counted == "edge weight" else "lead"


def matrix_title(counted: Counted) -> str:
    """Over the matrix of who connects with whom."""
    return f"Where the {counted} of a class (row) {lead(counted)} (column), in percent"
