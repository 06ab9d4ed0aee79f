"""`cpgnn spark` where Spark or Java is missing: a message, before anything is started."""

from __future__ import annotations

import importlib.util

import pytest


def test_without_pyspark(cpgnn, files, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    done = cpgnn("spark", "stats", "edges.parquet")
    assert done.code == 2
    assert "pyspark is not installed" in done.err
    assert "cpgnn[spark]" in done.err


def test_without_java(cpgnn, files, monkeypatch):
    pytest.importorskip("pyspark")
    monkeypatch.setenv("PATH", str(files))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    done = cpgnn("spark", "stats", "edges.parquet")
    assert done.code == 2
    assert "Spark needs Java 17" in done.err
