"""The real files: the paper's data table, and each as its publisher would serve it."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from cpgnn.datasets import SPECS, load_dataset
from cpgnn.io import read_npz_arrays
from upstream import serving, write_geom_gcn, write_planetoid, write_platonov, write_wikipedia

DATA = os.environ.get("CPGNN_DATA")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not DATA, reason="CPGNN_DATA names no folder with the data sets"),
]

# Table "Statistics for our real graphs" of the paper: |V|, |E|, |Y|, F, h.
PAPER = {
    "texas": (183, 295, 5, 1703, 0.11),
    "squirrel": (5201, 198_493, 5, 2089, 0.22),
    "chameleon": (2277, 31_421, 5, 2325, 0.23),
    "citeseer": (3327, 4676, 6, 3703, 0.74),
    "pubmed": (19_717, 44_327, 3, 500, 0.80),
    "cora": (2708, 5278, 7, 1433, 0.81),
}
LOCAL = [name for name, spec in SPECS.items() if spec.expected.graph_sha256]


@pytest.fixture(autouse=True)
def data(alone, monkeypatch):
    monkeypatch.setenv("CPGNN_DATA", str(DATA))


@pytest.mark.parametrize("name", PAPER)
def test_statistics_are_the_papers(name):
    found = load_dataset(name).statistics()
    nodes, edges, classes, features, h = PAPER[name]
    assert (found.nodes, found.edges_with_self_loops) == (nodes, edges)
    assert (found.classes, found.features) == (classes, features)
    assert round(found.homophily_with_self_loops, 2) == h


def test_texas_without_self_loops():
    found = load_dataset("texas").statistics()
    assert found.edges == 279
    assert round(found.homophily, 3) == 0.061


@pytest.mark.parametrize("name", LOCAL)
def test_every_local_file_is_verified(name):
    dataset = load_dataset(name)
    assert dataset.graph.notices == ()
    assert len(dataset.splits) == 10


def test_sizes_of_the_papers_splits_of_texas():
    for split in load_dataset("texas").paper_splits():
        assert [len(part) for part in (split.train, split.val, split.test)] == [17, 22, 144]


@pytest.mark.parametrize("name", LOCAL)
def test_the_same_arrays_by_way_of_a_download(name, tmp_path, monkeypatch):
    """Upstream's layout, rebuilt from the local arrays, must come out with the same hashes.

    CiteSeer's 15 nodes without a label are written as zero rows here.
    """
    arrays = read_npz_arrays(next(Path(str(DATA)).rglob(f"{name}.npz")))
    if any("ind." in url for url in SPECS[name].urls):
        write_planetoid(tmp_path, name, arrays)
    elif name in ("squirrel", "chameleon"):
        write_wikipedia(tmp_path, name, arrays)
    elif name.endswith("_filtered"):
        write_platonov(tmp_path, name, arrays)
    else:
        film = name == "actor"
        write_geom_gcn(tmp_path, "film" if film else name, arrays, film=film)
    monkeypatch.delenv("CPGNN_DATA")
    with serving(tmp_path) as address:
        urls = tuple(f"{address}/{url.rpartition('/')[2]}" for url in SPECS[name].urls)
        monkeypatch.setitem(SPECS, name, replace(SPECS[name], urls=urls))
        dataset = load_dataset(name, cache=tmp_path / "cache")
    assert dataset.source == SPECS[name].origin
