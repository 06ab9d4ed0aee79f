"""The table of data sets: where each comes from, how it is read, what it must be."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cpgnn.datasets.expected import EXPECTED, Expected
from cpgnn.datasets.parsing import (
    EDGES,
    NODES,
    parse_film,
    parse_geom_gcn,
    parse_platonov,
    parse_wikipedia,
)
from cpgnn.datasets.planetoid import SUFFIXES, parse_planetoid
from cpgnn.errors import must_be
from cpgnn.io.npz import Arrays

GEOM_GCN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
PLATONOV = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"
PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data"


@dataclass(frozen=True)
class Spec:
    """One data set."""

    origin: str
    """Who publishes it."""
    urls: tuple[str, ...]
    parse: Callable[[Path], Arrays]
    """Reads the folder that holds the files, each called like the end of its URL."""
    expected: Expected


def spec_of(name: str) -> tuple[str, Spec]:
    """The name as the table has it, and what belongs to it."""
    key = str(name).lower().replace("-", "_")
    if key not in SPECS:
        close = difflib.get_close_matches(key, SPECS, n=1)
        hint = f"Did you mean {close[0]}?" if close else ""
        raise must_be("The name of a data set", f"be one of {', '.join(SPECS)}", repr(name), hint)
    return key, SPECS[key]


def _splits(name: str) -> tuple[str, ...]:
    return tuple(f"{GEOM_GCN}/splits/{name}_split_0.6_0.2_{i}.npz" for i in range(10))


def _geom_gcn(name: str) -> Spec:
    files = tuple(f"{GEOM_GCN}/new_data/{name}/{file}" for file in (EDGES, NODES))
    return Spec("geom-gcn", files + _splits(name), parse_geom_gcn, EXPECTED[name])


def _film(name: str) -> Spec:
    files = tuple(f"{GEOM_GCN}/new_data/film/{file}" for file in (EDGES, NODES))
    return Spec("geom-gcn", files + _splits("film"), parse_film, EXPECTED[name])


def _wikipedia(name: str) -> Spec:
    files = (f"{GEOM_GCN}/new_data/{name}/{EDGES}", f"{PLATONOV}/{name}.npz")
    origin = "geom-gcn, yandex-research"
    return Spec(origin, files + _splits(name), parse_wikipedia, EXPECTED[name])


def _planetoid(name: str) -> Spec:
    files = tuple(f"{PLANETOID}/ind.{name}.{suffix}" for suffix in SUFFIXES)
    return Spec("Planetoid, geom-gcn", files + _splits(name), parse_planetoid, EXPECTED[name])


def _platonov(name: str) -> Spec:
    files = (f"{PLATONOV}/{name}.npz",)
    return Spec("yandex-research", files, parse_platonov, EXPECTED[name])


_KINDS = {
    "texas": _geom_gcn,
    "squirrel": _wikipedia,
    "chameleon": _wikipedia,
    "citeseer": _planetoid,
    "pubmed": _planetoid,
    "cora": _planetoid,
    "wisconsin": _geom_gcn,
    "cornell": _geom_gcn,
    "actor": _film,
    "squirrel_filtered": _platonov,
    "chameleon_filtered": _platonov,
    "roman_empire": _platonov,
    "amazon_ratings": _platonov,
    "minesweeper": _platonov,
    "tolokers": _platonov,
    "questions": _platonov,
}

SPECS = {name: kind(name) for name, kind in _KINDS.items()}
"""Every data set by name, the paper's six first."""
