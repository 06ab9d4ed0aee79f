"""Excel workbooks (`.xlsx`), read with openpyxl: one sheet, values only, nothing executed."""

from __future__ import annotations

import warnings
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager

from cpgnn.engine.memory import memory_limit
from cpgnn.engine.text import first_line, listed
from cpgnn.errors import InputError
from cpgnn.io.address import Address
from cpgnn.io.databases import choose
from cpgnn.io.files import failed, opened, wrong

Numbered = Iterator[tuple[int, Sequence[object]]]
SHARE = 8
"""openpyxl needs several bytes for each byte of XML: a workbook may unpack to this part of what one
file may need."""
SMALL, RATIO = 1 << 26, 100
"""What is larger when unpacked must not be so much larger than the file: sheets pack to a tenth."""

MOST_ROWS = 1 << 20


@contextmanager
def open_sheet(place: Address) -> Iterator[tuple[Numbered, tuple[str, ...]]]:
    """The rows of a sheet with their numbers, and what to say; the first sheet unless named."""
    file = place.file
    assert file is not None
    with opened(file):  # what the system refuses is refused in our words
        pass
    if file.suffix.lower() == ".xls":
        raise wrong(place, "A workbook", "be '.xlsx'", "'.xls'", "Save it as '.xlsx' in Excel.")
    _check_size(place)
    try:
        import openpyxl
    except ImportError:
        raise failed(place, "Workbooks need openpyxl", "Run: pip install 'cpgnn[excel]'") from None
    try:
        with file.open("rb") as stream:  # openpyxl itself leaves a broken book open
            with warnings.catch_warnings(action="ignore"):  # about formats and pictures
                how = {"read_only": True, "data_only": True, "keep_links": False}
                book = openpyxl.load_workbook(stream, **how)
            names = [sheet.title for sheet in book.worksheets]
            name, told = choose(place, "sheet", names, first=True)
            sheet = book[name]
            sheet.reset_dimensions()  # what a file says about its size may be wrong
            with closing(sheet.iter_rows(values_only=True)) as rows:
                yield _numbered(place, rows), told
    except (InputError, MemoryError):
        raise
    except Exception as error:  # of any kind: openpyxl leaves it to the parsers underneath
        raise wrong(place, "A workbook", "be whole", f"'{first_line(error)}'") from None


def _numbered(place: Address, rows: Iterator[Sequence[object]]) -> Numbered:
    """The rows with their numbers; a file may claim any number, and openpyxl counts up to it."""
    for number, row in enumerate(rows, start=1):
        if number > MOST_ROWS:
            raise wrong(place, "A sheet", f"have at most {MOST_ROWS:,} rows, as in Excel", "more")
        yield number, row


def _check_size(place: Address) -> None:
    """Refuse, before anything is unpacked, what would not fit into memory."""
    try:
        with zipfile.ZipFile(place) as archive:
            entries = archive.infolist()
            parts = [e.filename for e in entries if e.filename.endswith(".xml")]
            for name in parts:
                with archive.open(name) as stream:
                    if b"<!DOCTYPE" in stream.read(1024):
                        raise wrong(place, "A workbook", "have no document type", f"one in {name}")
    except (InputError, MemoryError):
        raise
    except Exception as error:  # of any kind: archives can be broken in many ways
        got = f"'{first_line(error)}'"
        raise wrong(place, "A workbook", "be a whole '.xlsx' file", got) from None
    if "xl/workbook.xml" not in parts:
        raise wrong(place, "A workbook", "have 'xl/workbook.xml'", listed(parts) or "none")
    size, packed = (sum(getattr(e, of) for e in entries) for of in ("file_size", "compress_size"))
    limit = min(memory_limit() // SHARE, max(SMALL, RATIO * packed))
    if size > limit:
        raise wrong(place, "A workbook", f"unpack to at most {limit:,} bytes", f"{size:,}")
