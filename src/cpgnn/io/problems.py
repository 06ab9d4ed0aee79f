"""Several problems of a user's files in one error: the widest first, at most twenty, then a count.

A check that can go wrong in many rows raises a `RowsError`; a reader notes what each of its checks
raises and goes on as long as the next one makes sense, then stops.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import inf

from cpgnn.errors import InputError, Message

MOST = 20
"""Problems that are told one by one."""
ENOUGH = 100
"""Problems after which no more are looked for: thousands of columns may each have one."""


class RowsError(InputError):
    """The same problem in several rows. Its message is about the first."""

    def __init__(self, rows: Sequence[InputError], total: int):
        super().__init__(*rows[0].args)
        self.file, self.line = rows[0].file, rows[0].line
        self.rows = tuple(rows[:MOST])
        self.affected = total


class Problems:
    """What was found so far."""

    def __init__(self) -> None:
        self._found: list[InputError] = []

    @contextmanager
    def noted(self) -> Iterator[None]:
        """An `InputError` raised inside is kept, and what comes after goes on."""
        try:
            yield
        except InputError as error:
            self._found += error.problems or [error]
        if len(self._found) >= ENOUGH:
            self.stop()

    def stop(self) -> None:
        """Raises what was found, if anything."""
        if self._found:
            raise _together(self._found)


def _together(found: Sequence[InputError]) -> InputError:
    found = sorted(found, key=lambda error: -inf if error.affected is None else -error.affected)
    rows = [error.rows if isinstance(error, RowsError) else (error,) for error in found]
    total = sum((error.affected or 0) if isinstance(error, RowsError) else 1 for error in found)
    if total == 1:
        return found[0]
    # The first row of every problem, then the second of each: no problem hides another.
    places = [(i, kind) for kind, several in enumerate(rows) for i in range(len(several))]
    shown = sorted((kind, i) for i, kind in sorted(places)[:MOST])
    least = "at least " if len(found) >= ENOUGH else ""
    parts: list[str] = [f"There are {least}{total:,} problems."]
    for kind, i in shown:
        parts += ["\n- ", rows[kind][i].args[0]]
    if total > len(shown):
        parts.append(f"\n- and {total - len(shown):,} more.")
    error = InputError(Message(*parts))
    error.file, error.line, error.problems = found[0].file, found[0].line, tuple(found)
    return error
