"""One rule for names from outside, in every format.

Ids of nodes, classes and features are Unicode text without control characters: on one line, and
safe to print. An id or a class is not blank, and ids differ by more than surrounding spaces.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable

import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.engine.text import shorten
from cpgnn.io.files import StrPath, wrong

CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\x{80}-\x{9f}]"
"""All but tabs, which are blanks, and the ends of lines."""
NO_CONTROL = "have no control characters"
_ENDS = r"[\r\n]"


def has_control(names: pa.Array) -> pa.Array:
    return pc.match_substring_regex(names, CONTROL)


def has_lines(names: pa.Array) -> pa.Array:
    return pc.match_substring_regex(names, _ENDS)


def check_names(
    path: StrPath, what: str, names: Iterable[Hashable], *, blank: bool = False
) -> None:
    """Raises for the first name that is against the rule; `what` is it, such as "A class name"."""
    text = pa.array([str(name) for name in names], pa.large_string())
    odd = pc.or_(has_control(text), has_lines(text))
    must = NO_CONTROL
    if not blank and not pc.any(odd).as_py():
        odd, must = pc.equal(pc.utf8_trim_whitespace(text), ""), "not be blank"
    where = pc.index(odd, True).as_py()
    if where >= 0:
        raise wrong(path, what, must, shorten(text[where].as_py()))
