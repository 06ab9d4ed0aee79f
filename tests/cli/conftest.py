"""A small graph as files, and the command line run in this process."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cpgnn.cli import main

FIT = "fit edges.csv --labels labels.csv --features features.csv --prior mlp --layers 1 --epochs 60"


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str


@pytest.fixture
def cpgnn(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., Outcome]:
    """Runs `cpgnn WORDS…` and returns its exit code and what it printed."""

    def run(*words: object) -> Outcome:
        monkeypatch.setattr("sys.argv", ["cpgnn", *map(str, words)])
        capsys.readouterr()
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return run


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with edges.csv, labels.csv and features.csv; the working folder of the test.

    Two classes, every edge joins opposites, ids with leading zeros, half of the labels known.
    """
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    n = 80
    ids = np.array([f"{i:03d}" for i in range(n)])
    classes = np.where(np.arange(n) % 2 == 0, "buyer", "seller")
    buyers, sellers = ids[::2], ids[1::2]
    edges = {(b, s) for b in buyers for s in rng.choice(sellers, size=4, replace=False)}
    table = pd.DataFrame(sorted(edges), columns=["source", "target"])
    table.to_csv("edges.csv", index=False)
    labels = pd.DataFrame({"id": ids, "label": classes})[: n // 2]
    labels.to_csv("labels.csv", index=False)
    shift = np.where(classes == "buyer", 0.4, -0.4)[:, None]
    X = rng.standard_normal((n, 5)) + shift
    features = pd.DataFrame(X, columns=[f"x{i}" for i in range(5)])
    features.insert(0, "id", ids)
    features.to_csv("features.csv", index=False)
    return tmp_path


@pytest.fixture
def fit_words() -> list[str]:
    """How `run` is fitted, but for --out."""
    return FIT.split()


@pytest.fixture(scope="session")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fitted") / "run"


@pytest.fixture
def run(cpgnn: Callable[..., Outcome], files: Path, fit_words: list[str], kept: Path) -> Path:
    """A run of the example, fitted once and copied for each test."""
    if not kept.exists():
        done = cpgnn(*fit_words, "--out", kept)
        assert done.code == 0, done.err
    return Path(shutil.copytree(kept, files / "run"))
