"""Names of months in the languages of exports, as English abbreviations that `strptime` reads."""

from __future__ import annotations

import re
import unicodedata

import pandas as pd

_MONTHS = (
    "jan gen ene janv janvier januar januari janeiro gennaio enero jän jänner sty stycznia",
    "feb fev fevr fevrier februar februari fevereiro febbraio febrero lut lutego",
    "mar mars marz marzo marco maart mrt marca mrz",
    "apr abr avr avril abril aprile april kwi kwietnia",
    "may mai maj mag mayo maio maggio mei maja",
    "jun giu juin juni junho giugno junio cze czerwca",
    "jul lug juil juillet juli julho luglio julio lip lipca",
    "aug ago aou aout agosto augustus august sie sierpnia",
    "sep set sept september septembre setembro settembre septiembre wrz września",
    "oct ott okt out octobre oktober outubro ottobre octubre paz października",
    "nov novembre november novembro noviembre lis listopada",
    "dec dic dez decembre dezember dezembro dicembre diciembre december gru grudnia",
)
_ENGLISH = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_WORD = re.compile(r"(?:\bde )?([^\W\d_]{3,})\.?(?: de\b)?")


def _bare(word: str) -> str:
    return re.sub("[\u0300-\u036f]", "", unicodedata.normalize("NFD", word.lower()))


_FOUND = {
    _bare(name): english
    for names, english in zip(_MONTHS, _ENGLISH, strict=True)
    for name in names.split()
}


def in_english(cells: pd.Series) -> pd.Series:
    """The cells with every month of another language by its English abbreviation."""
    return cells.str.replace(_WORD, lambda word: _FOUND.get(_bare(word[1]), word[0]), regex=True)
