"""The file a row came from, so that a message can name file, column and line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from cpgnn.errors import InputError
from cpgnn.io.dialect import Dialect, rows_of
from cpgnn.io.places import opened, wrong


@dataclass(frozen=True)
class Origin:
    """A table file and how it is written. Rows count from 0 here, lines from 1 in messages."""

    path: Path
    header: tuple[str, ...] | None = None
    """The column names, as written; None without a header."""
    dialect: Dialect | None = None
    """How a text table is written; None for other files."""
    lines: Sequence[int] | None = None
    """The line of every row, where it is known. Parquet has neither this nor a dialect."""

    @property
    def notices(self) -> tuple[str, ...]:
        return self.dialect.notices if self.dialect else ()

    def column(self, i: int) -> str:
        """`'age'`, or `3` without a header."""
        return repr(self.header[i]) if self.header else str(i + 1)

    def place(self, row: int) -> str:
        """`line 7`, found by reading the file again up to there, or `row 7` of Parquet."""
        line = self._line(row)
        return f"row {row + 1}" if line is None else f"line {line}"

    def wrong(
        self, what: str, must: str, got: object, hint: str = "", *, row: int | None = None
    ) -> InputError:
        """An `InputError` about this file, and about one row of it where that is known."""
        line = None if row is None else self._line(row)
        number = None if row is None else row + 1
        return wrong(self.path, what, must, got, hint, line=line, row=number)

    def wrong_header(self, must: str, hint: str) -> InputError:
        got = ", ".join((self.header or ())[:8])
        line = self.dialect.skip_lines if self.dialect else None
        return wrong(self.path, "The header", must, got, hint, line=line)

    def wrong_width(self, what: str, must: str, width: int) -> InputError:
        names = f" ({', '.join(self.header[:8])})" if self.header else ""
        hint = "Check the delimiter." if width == 1 else "Leave the other columns out."
        return wrong(self.path, what, must, f"{width}{names}", hint)

    def _line(self, row: int) -> int | None:
        if self.lines is not None:
            return self.lines[row]
        if self.dialect is None:
            return None
        with opened(self.path) as stream:
            return next(islice(rows_of(stream, self.dialect), row, None))[0]
