"""Where a table is, if not simply in a file: a sheet of a workbook, a table of a database.

`book.xlsx?sheet=Accounts`, `data.db?table=edges`, `sqlite:///data.db?table=edges`,
`postgresql://user:secret@host/bank?table=edges`.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qsl, quote, unquote, urlencode

StrPath = str | os.PathLike[str]
OPTIONS = ("table", "sheet", "schema")
BOOKS = (".xlsx", ".xlsm", ".xls")
SQLITE, DUCKDB = b"SQLite format 3\x00", b"DUCK"


@dataclass(frozen=True)
class Address:
    """A place, and which of its tables."""

    location: str
    """A file, or the URL of a database without our options."""
    options: dict[str, str] = field(default_factory=dict)

    def __fspath__(self) -> str:
        return self.location

    def __str__(self) -> str:
        """Without a password; names as they are read, where `locate` understands them so."""
        shown = re.sub(r"(://[^/@:]*):[^@]*@", r"\1:***@", self.location)
        options = (
            f"{key}={re.sub('[%&+]', lambda sign: quote(sign[0]), value)}"
            for key, value in self.options.items()
        )
        return "?".join(filter(None, (shown, "&".join(options))))

    @property
    def file(self) -> Path | None:
        """The file it is in; None for the address of a server."""
        found = re.fullmatch(r"(?:sqlite|duckdb)(?:\+\w+)?:///(.*)", self.location, re.DOTALL)
        if found:
            return Path(unquote(found[1]))
        return None if "://" in self.location else Path(self.location)

    @property
    def is_book(self) -> bool:
        return self.file is not None and self.file.suffix.lower() in BOOKS


Place = Path | Address


def locate(path: StrPath | Address) -> Place:
    """A path for files that hold one table, else an address."""
    if isinstance(path, Address):
        return path
    text = os.fspath(path)
    where, _, query = text.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    if "://" in text:
        ours = {key: value for key, value in pairs if key in OPTIONS}
        rest = urlencode([pair for pair in pairs if pair[0] not in OPTIONS])
        return Address(f"{where}?{rest}" if rest else where, ours)
    if pairs and all(key in OPTIONS for key, _ in pairs) and not Path(text).exists():
        return Address(where, dict(pairs))
    file = Path(text)
    return Address(text) if file.suffix.lower() in BOOKS or _is_database(file) else file


def _is_database(file: Path) -> bool:
    if not file.is_file():
        return False
    try:
        with file.open("rb") as stream:
            head = stream.read(16)
    except OSError:
        return False
    return head == SQLITE or head[8:12] == DUCKDB
