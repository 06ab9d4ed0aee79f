"""Names of months in the languages of exports, as English abbreviations that `strptime` reads."""

from __future__ import annotations

import re
import unicodedata

import pandas as pd

from cpgnn.io.words import WORDS

_WORD = re.compile(r"(?:\bde )?([^\W\d_]{3,})\.?(?: de\b)?")


def _bare(word: str) -> str:
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", word.lower()))


_FOUND = {
    _bare(name): english for english, names in WORDS["months"].items() for name in names.split()
}


def in_english(cells: pd.Series) -> pd.Series:
    """The cells with every month of another language by its English abbreviation."""
    return cells.str.replace(_WORD, lambda word: _FOUND.get(_bare(word[1]), word[0]), regex=True)
