"""Tiny hand-made files."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

Put = Callable[[str, str | bytes], Path]


@pytest.fixture
def put(tmp_path: Path) -> Put:
    """Write a file (packed if its name ends in .gz) and return its path."""

    def write(name: str, content: str | bytes) -> Path:
        data = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write
