"""Results as lines of JSON: appended one by one, never rewritten, so that a kill loses nothing."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from cpgnn.errors import must_be


class ResultStore:
    """A `.jsonl` file. What is not a whole line, cut short by a kill say, is passed over."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if path.parent.exists() and not path.parent.is_dir():
            raise must_be("A place for results", "be a folder", f"the file {path.parent}")

    def read(self) -> dict[str, dict[str, Any]]:
        """Result by key; of two lines with one key the later counts."""
        results: dict[str, dict[str, Any]] = {}
        if not self.path.exists():
            return results
        for line in self.path.read_bytes().splitlines():
            try:
                result = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if _is_whole(result):
                results[result["key"]] = result
        return results

    def append(self, result: dict[str, Any]) -> None:
        """One line, on the disk when this returns."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = json.dumps(result, sort_keys=True, ensure_ascii=False) + "\n"
        handle = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            if not _ends_cleanly(handle):
                line = "\n" + line
            os.write(handle, line.encode())
            os.fsync(handle)
        finally:
            os.close(handle)


def _is_whole(result: Any) -> bool:
    numbers = ("validation", "test")
    return (
        isinstance(result, dict)
        and isinstance(result.get("key"), str)
        and all(isinstance(result.get(name), int | float) for name in numbers)
    )


def _ends_cleanly(handle: int) -> bool:
    size = os.fstat(handle).st_size
    return size == 0 or os.pread(handle, 1, size - 1) == b"\n"


def committed_results() -> Path:
    """The folder of the results that come with the package (or with its checkout)."""
    inside = Path(__file__).parent.parent / "results"
    return inside if inside.exists() else Path(__file__).parents[3] / "results"
