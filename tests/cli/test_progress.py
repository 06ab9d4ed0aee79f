"""Bars count what was done, also where training stops early or has nothing to count."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from cpgnn.cli import progress
from cpgnn.engine.loop import Epoch


def test_no_bar_ends_at_zero_of_zero(monkeypatch: pytest.MonkeyPatch) -> None:
    made = io.StringIO()
    terminal = Console(file=made, force_terminal=True, width=120)
    monkeypatch.setattr(progress, "Console", lambda **_: terminal)
    with progress.progress_bar() as begin:
        begin("looking", 1)
        observe = begin("training", 100)
        for _ in range(7):
            observe(Epoch(1, 1, loss=0.5, train_accuracy=0.5, score=0.5))
    last = made.getvalue().rpartition("looking")[2]
    assert re.findall(r"(\d+)/(\d+)", last) == [("1", "1"), ("7", "7")]
