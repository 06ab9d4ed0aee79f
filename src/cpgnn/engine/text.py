"""Counts, lists and long values, worded for a sentence."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Hashable, Sequence


def count(number: int, one: str, many: str | None = None) -> str:
    """`number` and what it counts.

    >>> count(1, "node"), count(2000, "node"), count(2, "node has", "nodes have")
    ('1 node', '2,000 nodes', '2 nodes have')
    """
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def listed(names: Sequence[Hashable], most: int = 5) -> str:
    """The first few names, quoted.

    >>> listed(["a", "b", "c", "d"], most=2)
    "'a', 'b' and 2 more"
    """
    return some([shorten(str(name)) for name in names[:most]], most, len(names))


def some(words: Sequence[str], most: int = 5, number: int | None = None) -> str:
    """The first few words as they are; of `number` in all, where `words` are not all of them.

    >>> some(["a (3)", "b (2)", "c (1)"], most=2)
    'a (3), b (2) and 1 more'
    """
    shown, number = ", ".join(words[:most]), number or len(words)
    return f"{shown} and {number - most:,} more" if number > most else shown


def together(words: Sequence[str]) -> str:
    """All of them: "a", "a and b", "a, b and c"."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def shorten(text: str, limit: int = 60) -> str:
    """`text`, quoted, as it fits into one line of a message."""
    return repr(text if len(text) <= limit else text[: limit - 1] + "…")


def did_you_mean(name: str, known: Sequence[str]) -> str:
    """ "Did you mean 'weight'?", where a known name is close to this one."""
    close = difflib.get_close_matches(name, known, n=1)
    return f"Did you mean {close[0]!r}?" if close else ""


def first_line(error: BaseException) -> str:
    """What an error of another library says, short enough for one of ours."""
    return (str(error).strip() or type(error).__name__).splitlines()[0][:200].rstrip(".")


def in_a_cell(name: str) -> str:
    """A name as it stands between "|" in a cell of a table: as it is, as JSON where it could be
    read otherwise.

    >>> "|".join(map(in_a_cell, ["card", "cash|cheque"]))
    'card|"cash|cheque"'
    """
    unclear = "|" in name or name.startswith('"')
    return json.dumps(name, ensure_ascii=False) if unclear else name


def of_a_cell(cell: str) -> list[str]:
    """The names in a cell.

    >>> of_a_cell('card|"cash|cheque"')
    ['card', 'cash|cheque']
    """
    words = re.findall(r'"(?:[^"\\]|\\.)*"|[^|]+', cell)
    return [json.loads(word) if word.startswith('"') else word for word in words]
