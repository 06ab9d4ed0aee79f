"""How a text table is written: delimiter, comment lines, header, found from its first lines."""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from cpgnn.engine.text import count, shorten
from cpgnn.errors import InputError, Message, advise
from cpgnn.io.around import MOST_TOTALS, but_totals, is_total, said_of_titles, titles
from cpgnn.io.files import NotUTF8Error, Transcoded, named, opened, wrong
from cpgnn.io.headers import HeaderRule, one_line

SAMPLE_LINES = 200
SAMPLE_BYTES = 1 << 20
LONGEST_LINE, LONGEST_CELL, MOST_COLUMNS = 1 << 22, 1 << 17, 50_000
"""Bytes, characters and cells: what no table needs, and what a reader could choke on."""
BOM = b"\xef\xbb\xbf"
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
_SEP = re.compile(r'"?sep=([;,\t|])"?')
"""A first line that tells Excel the delimiter."""
_OPENS = re.compile(r'(^|[\t;,])[^\S\t]*"')
"""No tab among the blanks: a line of tabs would be read once for each of them."""
MOST_JOINED = 20
"""Lines that one row may take, where the first lines are looked at."""
_BLANKS = re.compile(rb'("(?:[^"\r\n]|"")*")|[ \t]+')


@dataclass(frozen=True)
class Dialect:
    """What the first lines of a text table tell. Delimiter " " stands for any run of blanks."""

    delimiter: str
    columns: int
    header: tuple[str, ...] | None
    skip_lines: int
    """Lines before the first row: comments, header, empty ones."""
    skip_bytes: int
    longest: int
    """Bytes of the longest line seen."""
    quoted: bool
    spaced: bool
    """Every delimiter is followed by a blank, as in `a, b`; the blank belongs to it."""
    notices: tuple[str, ...] = ()
    encoding: str | None = None
    """What the text is in, if not UTF-8."""


def sniff(path: Path, stream: IO[bytes], rule: HeaderRule) -> Dialect:
    """The dialect of the text table in `stream`, which stands at its start."""
    raw, lines = _sample(path, stream)
    rows = [i for i, line in enumerate(lines) if line.strip()]
    told = _SEP.fullmatch(lines[rows[0]]) if rows else None
    rows = rows[1:] if told else rows
    if not rows:
        raise wrong(path, "A table", "have at least one row", "an empty file")
    delimiter = told[1] if told else _delimiter([lines[i] for i in rows])
    cells = {i: _split(lines[i], delimiter) for i in rows}
    if (widest := max(map(len, cells.values()))) > MOST_COLUMNS:
        hint = "Check the delimiter and the ends of lines, or use a sparse '.npz' for features."
        must = f"have at most {MOST_COLUMNS:,} columns"
        raise wrong(path, "A table", must, f"{widest:,}", hint)
    comments = _comments([(lines[i], len(cells[i])) for i in rows])
    rows = rows[comments:]
    if not rows:
        raise wrong(path, "A table", "have at least one row", "comments only")
    spaced = delimiter in ",;" and all(
        lines[i].count(delimiter) == lines[i].count(delimiter + " ") for i in rows
    )
    if spaced:
        cells = {i: [cell.lstrip(" ") for cell in cells[i]] for i in rows}
    sample = but_totals([cells[i] for i in rows])
    above = titles(sample, rule)
    over, rows = rows[:above], rows[above:]
    first = tuple(map(one_line, cells[rows[0]]))
    has_header, announce = rule.decide(cells[rows[0]], sample[above + 1 :])
    encoding = stream.encoding if isinstance(stream, Transcoded) else None
    notices = [*_said_of_encoding(path, encoding)]
    if comments:
        notices.append(f"{path}: skipped {count(comments, 'comment line')} at the top.")
    if over:
        notices.append(f"{path}: {said_of_titles([lines[i] for i in over])}")
    if has_header and announce:
        notices.append(f"{path}: line {rows[0] + 1} ({', '.join(first)}) was read as a header.")
    skip = rows[0] + has_header * (1 + lines[rows[0]].count("\n"))
    bom = len(BOM) if raw[0].startswith(BOM) else 0
    usual = Counter(len(cells[i]) for i in rows).most_common(1)[0][0]
    return Dialect(
        delimiter=delimiter,
        columns=len(first) if has_header else usual,
        header=first if has_header else None,
        skip_lines=skip,
        skip_bytes=max(bom, sum(map(len, raw[:skip]))),
        longest=max(map(len, raw)),
        quoted=any('"' in line for line in lines),
        spaced=spaced,
        notices=tuple(notices),
        encoding=encoding,
    )


def _comments(rows: Sequence[tuple[str, int]]) -> int:
    """How many of the first lines, of so many cells each, are comments.

    A line after a bare # or % is data where it has as many cells as lines without one.
    """
    widths = {width for line, width in rows if line[0] not in "#%"} or {w for _, w in rows}
    for comments, (line, width) in enumerate(rows):
        if not _is_comment(line) and (line[0] not in "#%" or width in widths):
            return comments
    return len(rows)


def _said_of_encoding(path: Path, encoding: str | None) -> Iterator[str]:
    if encoding is not None:
        hint = advise(" (if letters look wrong: {})", encoding="…") if encoding == "cp1252" else ""
        yield Message(f"{path}: not UTF-8; read as {named(encoding)}", hint, ".")


def _sample(path: Path, stream: IO[bytes]) -> tuple[list[bytes], list[str]]:
    """The first lines as bytes with their ends, and decoded without; text only."""
    raw: list[bytes] = []
    size = 0
    while len(raw) < SAMPLE_LINES and size < SAMPLE_BYTES:
        line = stream.readline(LONGEST_LINE)
        if not line:
            break
        if len(line) == LONGEST_LINE:
            raise long_line(path, len(raw) + 1)
        raw.extend(line.splitlines(keepends=True))  # a lone CR ends a line as well
        size += len(line)
    head = b"".join(raw)
    if _CONTROL.search(head):
        must = "be text (CSV, TSV), or Parquet named '.parquet'"
        hint = "Check the file and its extension."
        raise wrong(path, "A table", must, "binary content", hint)
    lines = []
    for number, line in enumerate(raw, start=1):
        try:
            text = line.removeprefix(BOM if number == 1 else b"").decode("utf-8")
        except UnicodeDecodeError:
            raise not_utf8(path, line, number) from None
        lines.append(text.rstrip("\r\n"))
    return raw, _joined(lines)


def _joined(lines: list[str]) -> list[str]:
    """Lines on which a quoted cell continues are joined to its first line, and left empty."""
    made, i = list(lines), 0
    while i < len(lines):
        end = i + 1
        if lines[i].count('"') % 2 and _OPENS.search(lines[i]):
            while end < min(i + MOST_JOINED, len(lines)) and not lines[end].count('"') % 2:
                end += 1
            if end < min(i + MOST_JOINED, len(lines)):
                end += 1
                made[i:end] = ["\n".join(lines[i:end]), *[""] * (end - i - 1)]
            else:
                end = i + 1
        i = end
    return made


def not_utf8(path: Path, line: bytes, number: int) -> InputError:
    shown = shorten(line.decode("latin-1").strip())
    hint = advise(
        "Name its encoding with {} (cp1250, shift_jis, gb18030 …), or save it as UTF-8.",
        encoding="…",
    )
    got = f"other bytes in {shown}"
    return wrong(path, "A table", "be UTF-8", got, hint, line=number, kind=NotUTF8Error)


def long_line(path: Path, number: int) -> InputError:
    must, hint = f"have at most {LONGEST_LINE:,} bytes", "Check the ends of lines and the quotes."
    return wrong(path, "A line", must, "more", hint, line=number)


def _is_comment(line: str) -> bool:
    return line.startswith(("# ", "% ", "##", "%%", "#\t", "%\t")) or line in ("#", "%")


def _delimiter(lines: Sequence[str]) -> str:
    """Tab, semicolon or comma if most lines have it, the most regular first; else blanks."""
    lines = [line for line in lines if not _is_comment(line)]
    best, share = " ", 0.0
    for delimiter in "\t;,":
        widths = Counter(len(_split(line, delimiter)) for line in lines)
        if lines and widths[1] <= len(lines) / 2:
            regular = max(number for width, number in widths.items() if width > 1) / len(lines)
            if regular > share:
                best, share = delimiter, regular
    if best == "\t" and share < 1 and len({len(_split(line, " ")) for line in lines}) == 1:
        return " "  # tabs and blanks mixed
    return best


def _split(line: str, delimiter: str) -> list[str]:
    if delimiter == " ":
        line = squeeze(line.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")
    if '"' not in line:
        return line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter), [""])
    except csv.Error:
        return [line]


def squeeze(text: bytes) -> bytes:
    """Every run of blanks and tabs as one blank, none at the ends of a line; quotes are kept."""
    if b'"' in text:
        text = _BLANKS.sub(lambda match: match[1] or b" ", text)
    elif b"  " in text or b"\t" in text:
        text = re.sub(rb"[ \t]+", b" ", text)
    for end in (b"\n", b"\r"):
        text = text.replace(b" " + end, end).replace(end + b" ", end)
    return text.strip(b" ")


def rows_of(stream: IO[bytes], dialect: Dialect) -> Iterator[tuple[int, list[str]]]:
    """Every row with the line it starts on, from the start of the file; for messages only."""

    def lines() -> Iterator[str]:
        blanks = dialect.delimiter == " "
        for number, part in enumerate(iter(lambda: stream.readline(LONGEST_LINE), b"")):
            for line in part.removeprefix(b"" if number else BOM).splitlines(keepends=True):
                yield (squeeze(line) if blanks else line).decode("utf-8", "surrogateescape")

    source = lines()
    for _ in range(dialect.skip_lines):
        next(source, None)
    reader = csv.reader(source, delimiter=dialect.delimiter)
    while True:
        start = dialect.skip_lines + reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error:
            yield start, []
            continue
        if row:
            yield start, row


def lines_below(path: Path, dialect: Dialect) -> list[str]:
    """Text below the last row, `(759 rows affected)`, if nothing else is wrong with the rows."""
    ragged: list[tuple[int, str]] = []
    rows = 0
    with opened(path, dialect.encoding) as stream:
        for rows, (_, row) in enumerate(rows_of(stream, dialect), start=1):
            if len(row) != dialect.columns:
                if len(row) != 1 or len(ragged) == MOST_TOTALS:
                    return []
                ragged.append((rows, row[0]))
    below = [text for at, text in ragged if at > rows - len(ragged)]
    told = all(" " in text.strip() or is_total(text) for text in below)
    return below if told and len(below) == len(ragged) < rows else []
