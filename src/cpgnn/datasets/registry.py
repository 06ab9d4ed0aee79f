"""The table of data sets: where each comes from, how it is read, what it must be."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any

from cpgnn.datasets import upstream
from cpgnn.datasets.upstream import EDGES, NODES
from cpgnn.engine.text import did_you_mean
from cpgnn.errors import must_be
from cpgnn.io.npz import Arrays

GEOM_GCN = "https://raw.githubusercontent.com/graphdml-uiuc-jlu/geom-gcn/master"
PLATONOV = "https://github.com/yandex-research/heterophilous-graphs/raw/main/data"
PLANETOID = "https://github.com/kimiyoung/planetoid/raw/master/data"


@dataclass(frozen=True)
class Expected:
    """Counts and hashes of a data set; None where one is not known for certain."""

    nodes: int
    edges: int
    """With self-loops, each undirected edge once."""
    classes: int
    features: int
    splits: int = 10
    self_loops: int | None = None
    class_sizes: tuple[int, ...] | None = None
    graph_sha256: str | None = None
    splits_sha256: str | None = None


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
        hint = did_you_mean(key, list(SPECS))
        raise must_be("The name of a data set", f"be one of {', '.join(SPECS)}", repr(name), hint)
    return key, SPECS[key]


# Who publishes each kind, which files beside geom-gcn's splits, and how they are read.
_KINDS: dict[str, tuple[str, tuple[str, ...], Callable[[Path], Arrays]]] = {
    "geom_gcn": (
        "geom-gcn",
        tuple(f"{GEOM_GCN}/new_data/{{name}}/{file}" for file in (EDGES, NODES)),
        upstream.parse_geom_gcn,
    ),
    "film": (
        "geom-gcn",
        tuple(f"{GEOM_GCN}/new_data/film/{file}" for file in (EDGES, NODES)),
        upstream.parse_film,
    ),
    "wikipedia": (
        "geom-gcn, yandex-research",
        (f"{GEOM_GCN}/new_data/{{name}}/{EDGES}", f"{PLATONOV}/{{name}}.npz"),
        upstream.parse_wikipedia,
    ),
    "planetoid": (
        "Planetoid, geom-gcn",
        tuple(f"{PLANETOID}/ind.{{name}}.{suffix}" for suffix in upstream.PLANETOID_FILES),
        upstream.parse_planetoid,
    ),
    "platonov": ("yandex-research", (f"{PLATONOV}/{{name}}.npz",), upstream.parse_platonov),
}


def _spec(name: str, kind: str, class_sizes: list[int] | None = None, **counts: Any) -> Spec:
    origin, urls, parse = _KINDS[kind]
    if kind != "platonov":
        splits = "film" if kind == "film" else name
        urls += tuple(f"{GEOM_GCN}/splits/{splits}_split_0.6_0.2_{i}.npz" for i in range(10))
    expected = Expected(class_sizes=tuple(class_sizes) if class_sizes else None, **counts)
    return Spec(origin, tuple(url.format(name=name) for url in urls), parse, expected)


_TABLE = tomllib.loads((files("cpgnn.datasets") / "registry.toml").read_text(encoding="utf-8"))
SPECS = {name: _spec(name, **row) for name, row in _TABLE.items()}
"""Every data set by name, the paper's six first."""
