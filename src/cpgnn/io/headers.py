"""Is the first line a header? And does it say that these are the wrong columns?

The rule. A first line is a header when

(a) no cell of it is a number, and some column holds numbers in every other line that was
    looked at, but not in this one (empty and missing cells do not count); or
(b) the cells where ids stand are all common names of id columns (`source`, `dst`, `node_id`,
    `u`, …), or all its cells are common names of some column (`id`, `label`, `weight`, …); none
    of the names is an id further down, and no cell is a number. (Feature columns may have
    numbers for names, such as `id,2023,2024`.)

(c) its cells are words without a digit, every id further down has a digit, and no cell occurs
    again in its column: `payer,payee` above `a01,b07`. This is announced; or
(d) an earlier graph is known, and its cells are all in the header of one of that graph's tables.

Everything else is data. A first edge that is a misspelt header (`sorce,target`), or that may be
one (two words that occur nowhere else), is refused or announced by `cpgnn.io.edges`.
"""

from __future__ import annotations

import difflib
import re
import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cpgnn.io.words import WORDS


def plain(name: str) -> str:
    """A column name as the lists below spell it: `From Node-ID` is `fromnodeid`, `Émetteur` is
    `emetteur`."""
    bare = unicodedata.normalize("NFD", name.strip().lstrip("#%").lower())
    bare = re.sub(r"(?<=\w)\s*(\(.*\)|\[.*\])$", "", bare)  # a unit: `Montant (€)`
    return re.sub(r"[\s_.\-\u0300-\u036f]+", "", bare)


def one_line(name: str) -> str:
    """A column name as it is shown: what a spreadsheet broke into lines is put together."""
    return re.sub(r"\s*\n\s*", " ", name.strip())


_COLUMNS = {kind: frozenset(map(plain, names.split())) for kind, names in WORDS["columns"].items()}
"""Names of columns by what they hold; words.toml says what each kind is for."""
SOURCE, TARGET, ID = _COLUMNS["source"], _COLUMNS["target"], _COLUMNS["id"]
LABEL, SPLIT, WEIGHT = _COLUMNS["label"], _COLUMNS["split"], _COLUMNS["weight"]
RELATION, KIND, AMOUNT = _COLUMNS["relation"], _COLUMNS["kind"], _COLUMNS["amount"]
NODES, CLASS, COUNTER = _COLUMNS["nodes"], _COLUMNS["class"], _COLUMNS["counter"]
PAYER, PAYEE, OTHER_ACCOUNT = (_COLUMNS[end] for end in ("payer", "payee", "other_account"))
ENDINGS, WEAK = NODES | _COLUMNS["endings"], _COLUMNS["weak"]
ENDS = ID | SOURCE | TARGET
KNOWN = ENDS | LABEL | SPLIT | WEIGHT
WAYS = tuple(tuple(way.split()) for way in WORDS["cells"]["ways"])
"""What stands before the same of `ENDINGS` at the two ends: `Von Konto`, `Nach Konto`."""
SPREADSHEET_ERRORS = tuple(WORDS["cells"]["spreadsheet_errors"].split())
MISSING = ("", "na", "n/a", "nan", "-nan", "null", "none", "?", *SPREADSHEET_ERRORS)
"""What stands for a missing number, in lower case."""

NUMBER = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
_DRESSED = re.compile(r"[^\w]*(\d[\d.,:/'’ \u00a0-]*)[^\w]*")
"""Numbers in other formats (see `readings`), dates and times among them."""
LONGEST_NUMBER = 1000
"""Characters; what is longer is none, and would take patterns the square of its length."""


def is_number(cell: str) -> bool:
    return len(cell) <= LONGEST_NUMBER and re.fullmatch(NUMBER, cell.strip(), re.ASCII) is not None


@dataclass(frozen=True, kw_only=True)
class HeaderRule:
    """How to decide whether the first line of a table is a header."""

    ids: Sequence[int]
    """The columns with ids."""
    numbers: bool
    """Whether other columns may be numbers."""
    header: bool | None
    """The user's word; None: the rule above."""
    names: Collection[str]
    """A first line with one of them is a header."""
    headers: Collection[Collection[str]] = ()
    """A first line that only has words of one of these is a header."""

    def decide(self, first: Sequence[str], others: Sequence[Sequence[str]]) -> tuple[bool, bool]:
        """Whether `first` is a header, and whether that should be announced."""
        if self.header is not None:
            return self.header, False
        others = [row for row in others if any(cell.strip() for cell in row)]
        if any(cell.strip() in self.names for cell in first):
            return True, False
        if any({one_line(cell) for cell in first} <= set(header) for header in self.headers):
            return True, False
        number_names = self.numbers and tuple(self.ids) == (0,)  # features may have such names
        return is_header(first, others, self.ids, number_names)


def is_header(
    first: Sequence[str], others: Sequence[Sequence[str]], ids: Sequence[int], number_names: bool
) -> tuple[bool, bool]:
    """Whether `first` is a header by the rule above, and whether that should be announced."""
    has_number = any(is_number(cell) for cell in first)
    if not has_number and any(_tells(first, others, column) for column in range(len(first))):
        return True, False
    names = [plain(first[i]) for i in ids if i < len(first)]
    known = all(name in ENDS for name in names) or all(plain(cell) in KNOWN for cell in first)
    if len(names) == len(ids) and _unlike(first, others, ids):
        return True, not known
    if len(names) < len(ids) or not known or (has_number and not number_names):
        return False, False
    heads = {first[i] for i in ids if i < len(first)}
    below = {row[i] for row in others for i in ids if i < len(row)}
    return not heads & below, any(name in WEAK for name in names)


def _unlike(first: Sequence[str], others: Sequence[Sequence[str]], ids: Sequence[int]) -> bool:
    """Rule (c): words above ids that all have digits, none of them seen again."""
    if not others or not all(is_word(cell) for cell in first):
        return False
    below = [row[i] for row in others for i in ids if i < len(row)]
    if not all(any(char.isdigit() for char in cell) for cell in below):
        return False
    return not any(first[i] == row[i] for row in others for i in range(min(len(first), len(row))))


def is_word(name: str) -> bool:
    """Letters, perhaps with blanks, dashes or underscores between them; no digit."""
    return re.fullmatch(r"[^\W\d]([\w .\-]*[^\W])?", name.strip()) is not None and not any(
        char.isdigit() for char in name
    )


def near_name(name: str) -> str | None:
    """The common name of an end of an edge that `name` is, or is one slip away from."""
    strong = sorted(ENDS - WEAK)
    close = difflib.get_close_matches(plain(name), strong, n=1, cutoff=0.8)
    return close[0] if close else None


def _tells(first: Sequence[str], others: Sequence[Sequence[str]], column: int) -> bool:
    cells = [row[column] for row in others if column < len(row)]
    cells = [cell for cell in cells if cell.strip().lower() not in MISSING]
    name = first[column].strip().lower()
    counts_rows = column == 0 and not name and len(first) > 2  # as pandas writes an index
    return (
        (name not in MISSING or counts_rows)
        and bool(cells)
        and all(_is_value(cell) for cell in cells)
    )


def _is_value(cell: str) -> bool:
    short = len(cell) <= LONGEST_NUMBER
    return short and (is_number(cell) or _DRESSED.fullmatch(cell.strip()) is not None)


def misplaced(header: Sequence[str], allowed: Sequence[frozenset[str]]) -> bool:
    """Whether some column carries the well-known name of another one.

    `allowed` has the well-known names for each column, by position; unknown names pass.
    """
    return any(
        plain(name) in KNOWN - fitting for name, fitting in zip(header, allowed, strict=False)
    )
