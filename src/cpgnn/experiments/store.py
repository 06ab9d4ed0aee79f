"""Results as lines of JSON: appended one by one, never rewritten, so that a kill loses nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from cpgnn.errors import must_be


class ResultStore:
    """A `.jsonl` file. A line that is not whole, such as one cut short by a kill, is skipped."""

    def __init__(self, path: Path, numbers: tuple[str, ...] = ()) -> None:
        """`numbers` are the numeric fields that a whole line has beside its key."""
        self.path, self.numbers = path, numbers
        if path.parent.exists() and not path.parent.is_dir():
            raise must_be("The place for results", "be a folder", f"the file {path.parent}")

    def read(self) -> dict[str, dict[str, Any]]:
        """Result by key; of two lines with one key the later counts."""
        results: dict[str, dict[str, Any]] = {}
        if not self.path.is_file():
            return results
        for line in self.path.read_bytes().splitlines():
            try:
                result = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if self._is_whole(result):
                results[result["key"]] = result
        return results

    def _is_whole(self, result: Any) -> bool:
        if not isinstance(result, dict) or not isinstance(result.get("key"), str):
            return False
        return all(_is_number(result.get(name)) for name in self.numbers)

    def append(self, result: dict[str, Any]) -> None:
        """One line, on the disk when this returns."""
        line = json.dumps(result, sort_keys=True, ensure_ascii=False) + "\n"
        handle = self._open()
        try:
            size = os.fstat(handle).st_size
            if size and os.pread(handle, 1, size - 1) != b"\n":  # cut short: a line of its own
                line = "\n" + line
            os.write(handle, line.encode())
            os.fsync(handle)
        finally:
            os.close(handle)

    def check_writable(self) -> None:
        """Raises what `append` would, before there is anything to lose."""
        os.close(self._open())

    def _open(self) -> int:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)


def _is_number(value: Any) -> bool:
    """Accuracies in percent and errors of H are far smaller; NaN is not."""
    return isinstance(value, int | float) and abs(value) <= 1e6


def results_of(
    experiment: str, folder: Path | None = None, numbers: tuple[str, ...] = ()
) -> ResultStore:
    """The results of an experiment in a folder; by default the committed ones.

    A whole line has accuracies, and the other `numbers` that are asked for.
    """
    path = (folder or committed_results()) / f"{experiment}.jsonl"
    return ResultStore(path, numbers=("validation", "test", *numbers))


def committed_results() -> Path:
    """The folder of the results that come with the package (or with its checkout)."""
    inside = Path(__file__).parent.parent / "results"
    return inside if inside.exists() else Path(__file__).parents[3] / "results"
