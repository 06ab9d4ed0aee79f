"""No data set of this machine, no cache of its user and no proxy gets into these tests."""

from __future__ import annotations

import pytest


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    monkeypatch.delenv("CPGNN_DATA", raising=False)
    monkeypatch.setenv("CPGNN_CACHE", str(tmp_path / "own-cache"))
    monkeypatch.setenv("no_proxy", "*")
