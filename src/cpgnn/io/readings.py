"""Numbers in other formats: decimal commas, money, percent, dates, yes and no.

A column of text is read as numbers when every known cell fits one way of writing them. Two ways
that fit but disagree (`1,234`), and cells that do not fit where nearly all others do, are errors
that name column and cell. A column where no way fits is text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from cpgnn.engine.formatting import percent as in_percent
from cpgnn.engine.text import count, listed, shorten
from cpgnn.errors import advise
from cpgnn.io.headers import LONGEST_NUMBER, SPREADSHEET_ERRORS
from cpgnn.io.months import in_english
from cpgnn.io.tables import TableFile, as_array, known_cells
from cpgnn.io.words import WORDS

Decimal = Literal[".", ","]

NEARLY = 0.9
"""From this share of fitting cells on, the others are taken for mistakes, not for text."""
SAMPLE = 1000
"""Different cells that a reading must half fit before all are tried."""

_SPACES = "\u00a0\u202f "
_CURRENCY = (
    r"[$€£¥₹₽₩₺₴]|US\$|kr\.?|zł|Fr\.|AUD|BRL|CAD|CHF|CNY|CZK|DKK|EUR|GBP|HKD|HUF|INR|JPY|KRW|MXN|"
    r"NOK|NZD|PLN|RUB|SEK|SGD|TRY|USD|ZAR|円|元|원|Kč|Ft|руб\.?"
)
_DRESSED = re.compile(
    rf"(?P<open>\()?(?P<sign>[+\-−]?)[{_SPACES}]?(?P<money>{_CURRENCY})?[{_SPACES}]?(?P<sign2>[+\-−]?)"
    rf"(?P<digits>[\d.,][\d.,'’{_SPACES}]*?(?:[eE][+-]?\d+)?)"
    rf"[{_SPACES}]?(?P<percent>%)?(?P<money2>{_CURRENCY})?(?P<sign3>-?)(?P<close>\))?"
)


def _digits(decimal: str, thousands: str) -> re.Pattern[str]:
    """Digits with decimals after `decimal`, perhaps in groups of three, or as in India."""
    grouped = rf"[1-9]\d{{0,2}}(?P<by>[{thousands}'’{_SPACES}])\d{{3}}(?:(?P=by)\d{{3}})*"
    if thousands == ",":
        grouped += r"|[1-9]\d?(?:,\d\d)+,\d{3}"
    decimals = rf"(?:{re.escape(decimal)}\d*)?"
    return re.compile(rf"(?:{grouped}){decimals}|\d*{decimals}(?:[eE][+-]?\d+)?")


_DIGITS = {".": _digits(".", ","), ",": _digits(",", ".")}
_UNIT = re.compile(r"\d\s?([^\W\d_]{1,4}[²³]?|°[CF]?)$")
_CLOCK = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?")
_PAIRS: list[str] = WORDS["cells"]["yes_no"]
_YES = {pair.split()[0] for pair in _PAIRS}
_NO = {pair.split()[1] for pair in _PAIRS}
# fmt: off
_DAYS = (
    "%d.%m.%Y", "%d.%m.%y", "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%y", "%m/%d/%y", "%d-%m-%Y", "%m-%d-%Y",
    "%Y/%m/%d", "%Y.%m.%d", "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%b %d, %Y", "%B %d, %Y",
    "%d. %b %Y", "%d %b %y", "%d-%b-%y", "%Y年%m月%d日", "%Y. %m. %d.",
)
_DATED = re.compile(r"^(?:\d+[-/.: ,年]|[^\W\d]+[. ]).*\d")
_TIMES = ("", " %H:%M", " %H:%M:%S", " %I:%M %p", " %I:%M:%S %p")
# fmt: on
_DATE_FORMATS = ("ISO8601", *(day + time for day in _DAYS for time in _TIMES))
_SIGNS = {
    form: {*re.sub(r"%.|\s", "", form)} & {*(".-/年月日:" if "%m" in form else ":")}
    for form in _DATE_FORMATS
}
"""Signs without which nothing is a date of that format; with names of months, they vary."""


@dataclass(frozen=True)
class Reading:
    """How the cells of a column become numbers; stored with a run."""

    kind: Literal["number", "date", "time", "yes/no"]
    decimal: Decimal = "."
    """Of numbers. What is not the decimal sign may separate thousands."""
    percent: bool = False
    """Whether every number is followed by %, and divided by 100."""
    date_format: str = ""
    """Of dates, as `strptime` has it, or ISO8601. Dates become days after 1970-01-01."""
    unit: str = ""
    """Of numbers: what follows each of them, such as kg; left out."""

    def numbers(self, cells: pd.Series) -> np.ndarray:
        """The cells, text, as float64; NaN where one does not fit."""
        if self.kind == "date":
            if "%b" in self.date_format:
                cells = in_english(cells)
            texts = cells.to_numpy(
                dtype=object
            )  # Series would take twice as long, column by column
            days = pd.to_datetime(texts, format=self.date_format, errors="coerce", utc=True)
            since = np.asarray(days.tz_localize(None) - pd.Timestamp(0), "timedelta64[ns]")
            return since / np.timedelta64(1, "D")
        parse: Callable[[str], float] = self._number
        if self.kind == "time":
            parse = _seconds
        elif self.kind == "yes/no":
            parse = _yes_or_no
        return np.fromiter(map(parse, cells), dtype=np.float64, count=len(cells))

    def _number(self, cell: str) -> float:
        if len(cell) > LONGEST_NUMBER or not cell.endswith(self.unit):
            return np.nan
        found = _DRESSED.fullmatch(cell.removesuffix(self.unit).rstrip())
        if found is None or bool(found["percent"]) != self.percent:
            return np.nan
        digits = found["digits"]
        fits = _DIGITS[self.decimal].fullmatch(digits)
        brackets = bool(found["open"]), bool(found["close"])
        signs = [sign for sign in (found["sign"], found["sign2"], found["sign3"]) if sign]
        if not fits or len(set(brackets)) > 1 or len(signs) + brackets[0] > 1:
            return np.nan
        plain = re.sub(rf"['’{_SPACES}{',' if self.decimal == '.' else '.'}]", "", digits)
        try:
            value = float(plain.replace(",", "."))
        except ValueError:
            return np.nan
        value = -value if brackets[0] or "-" in signs or "−" in signs else value
        return value / 100 if self.percent else value

    def __str__(self) -> str:
        if self.kind == "number":
            sign = "percent, " if self.percent else ""
            sign += f"unit {self.unit!r}, " if self.unit else ""
            return f"numbers ({sign}decimal {'comma' if self.decimal == ',' else 'point'})"
        return {"date": "dates", "time": "times of day"}.get(self.kind, "yes or no")


def _seconds(cell: str) -> float:
    found = _CLOCK.fullmatch(cell)
    if found is None:
        return np.nan
    return 3600.0 * int(found[1]) + 60 * int(found[2]) + int(found[3] or 0)


def _yes_or_no(cell: str) -> float:
    plain = cell.lower()
    return 1.0 if plain in _YES else 0.0 if plain in _NO else np.nan


def find_reading(file: TableFile, i: int, decimal: Decimal | None = None) -> Reading | None:
    """How column `i`, which is text, is read as numbers; None if it is text indeed."""
    counts = pc.value_counts(as_array(known_cells(file.table.column(i))).drop_null())
    cells = pd.Series(counts.field("values").to_pylist(), dtype=object)
    times = counts.field("counts").to_numpy()
    if not len(cells):
        return None
    perfect: list[tuple[Reading, np.ndarray]] = []
    nearest, most = None, 0.0
    for reading in _candidates(cells, decimal):
        if np.isnan(reading.numbers(cells[:SAMPLE])).mean() > 0.5:
            continue
        values = reading.numbers(cells)
        share = float(times[~np.isnan(values)].sum() / times.sum())
        if share == 1:
            perfect.append((reading, values))
        elif share > most and not reading.unit:  # 12A among 12B is no slip
            nearest, most = (reading, values), share
    if perfect:
        return _the_one(file, i, cells, perfect)
    if nearest is None or most < NEARLY:
        return None
    reading, values = nearest
    bad = cells[np.isnan(values)].iloc[0]
    what = f"Every cell of column {file.column(i)}"
    must = f"be readable as {reading}, like {in_percent(most, 0)} of them"
    hint = "Correct the cell, or empty it."
    raise file.wrong(what, must, shorten(bad), hint, row=_row_of(file, i, bad))


def _row_of(file: TableFile, i: int, cell: str) -> int:
    """The first row with this cell in column `i`."""
    row: int = pc.index(pc.utf8_trim_whitespace(file.table.column(i)), cell).as_py()
    return row


def _candidates(cells: pd.Series, decimal: Decimal | None) -> Iterator[Reading]:
    words = set(cells[:10].str.lower())
    if len(cells) <= 10 and any(words <= set(pair.split()) for pair in _PAIRS):
        yield Reading("yes/no")
    sample = cells[:SAMPLE]
    if sample.str.contains(r"\d").mean() < 0.5:
        return
    for sign in (".", ",") if decimal is None else (decimal,):
        for percent in (False, True):
            yield Reading("number", sign, percent)
        if (found := _UNIT.search(cells[0])) and sample.str.endswith(found[1]).all():
            yield Reading("number", sign, unit=found[1])
    if sample.str.contains(_DATED).mean() >= 0.5:
        yield Reading("time")
        there = {*"".join(sample)}
        for date_format, signs in _SIGNS.items():
            if signs <= there:  # thousands of columns would take minutes
                yield Reading("date", date_format=date_format)


def _the_one(
    file: TableFile, i: int, cells: pd.Series, perfect: list[tuple[Reading, np.ndarray]]
) -> Reading:
    """The reading, if all that fit agree; of money, three digits after the sign are thousands."""
    first, values = perfect[0]
    for other, others in perfect[1:]:
        differ = values != others
        if not differ.any():
            continue
        if first.kind == other.kind == "number" and cells[differ].str.contains(_CURRENCY).all():
            return first if abs(values).sum() > abs(others).sum() else other
        cell = cells[differ].iloc[0]
        what, must = f"Column {file.column(i)}", "have only one possible reading"
        got = f"{cell!r}, which may be {_value(first, cell)} or {_value(other, cell)}"
        hint: str = "Write dates with the year first: 2024-12-31."
        if first.kind == "number":
            hint = advise("Use {}.", decimal=(".", ","))
        raise file.wrong(what, must, got, hint, row=_row_of(file, i, cell))
    return first


def _value(reading: Reading, cell: str) -> str:
    value = float(reading.numbers(pd.Series([cell], dtype=object))[0])
    if reading.kind == "date":
        return str((pd.Timestamp(0) + pd.Timedelta(days=value)).date())
    return f"{value:.15g}"


def read_numbers(file: TableFile, i: int, reading: Reading) -> np.ndarray:
    """Column `i` as float64, NaN where a cell is missing; one that does not fit is an error."""
    column = file.table.column(i)
    if pa.types.is_floating(column.type):  # typed numbers, of Parquet
        if reading.kind in ("date", "time"):
            must, got = f"be readable as {reading}, as when the model was fitted", "numbers"
            raise file.wrong(f"Column {file.column(i)}", must, got)
        return np.asarray(column.to_numpy())
    coded = pc.dictionary_encode(as_array(known_cells(column)))
    cells = pd.Series(coded.dictionary.to_pylist(), dtype=object)
    values = reading.numbers(cells)
    bad = np.isnan(values)
    if reading.kind == "date" and bad.any():  # Parquet's own dates become ISO 8601
        values[bad] = Reading("date", date_format="ISO8601").numbers(cells[bad])
        bad = np.isnan(values)
    if bad.any():
        cell = cells[bad].iloc[0]
        what = f"A feature (column {file.column(i)})"
        must = f"be readable as {reading}, as when the model was fitted"
        raise file.wrong(what, must, shorten(cell), row=_row_of(file, i, cell))
    codes = pc.fill_null(coded.indices, -1).to_numpy(zero_copy_only=False)
    return np.append(values, np.nan)[codes]


def reading_notices(file: TableFile, readings: dict[int, Reading]) -> list[str]:
    """What to say about columns that were read so, by column: one sentence for each reading."""
    notices = []
    for reading in dict.fromkeys(readings.values()):
        places = [i for i, other in readings.items() if other == reading]
        names = listed([file.header[i] if file.header else i + 1 for i in places])
        column = file.table.column(places[0])
        if pa.types.is_floating(column.type):
            continue
        known = as_array(known_cells(column)).drop_null()
        if not len(known):
            continue
        example = max(pc.unique(known)[:SAMPLE].to_pylist(), key=len)
        value = f"{float(reading.numbers(pd.Series([example], dtype=object))[0]):.15g}"
        unit = {"date": " days after 1970-01-01", "time": " seconds after midnight"}
        are = "column" if len(places) == 1 else "columns"
        what = f"{file.path}: {are} {names} read as {reading}"
        notices.append(f"{what}: {example!r} is {value}{unit.get(reading.kind, '')}.")
    return notices + _error_notices(file)


def _error_notices(file: TableFile) -> list[str]:
    notices = []
    for i, column in enumerate(file.table.columns[1:], start=1):
        if not pa.types.is_string(column.type):
            continue
        trimmed = pc.utf8_trim_whitespace(column)
        errors = trimmed.filter(
            pc.is_in(pc.utf8_lower(trimmed), value_set=pa.array(SPREADSHEET_ERRORS))
        )
        if len(errors):
            cells = count(len(errors), "cell holds", "cells hold")
            found = listed(pc.unique(errors).to_pylist())
            notices.append(
                f"{file.path}: {cells} a spreadsheet error in column {file.column(i)} "
                f"({found}); taken as missing."
            )
    return notices
