"""A data set as an object: statistics counted by hand, splits, and its file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cpgnn.datasets import Statistics, as_reference, read_dataset, write_tables
from cpgnn.datasets.dataset import as_dataset, write_arrays
from cpgnn.errors import InputError
from cpgnn.graph import Graph
from cpgnn.io import read_graph
from upstream import features_of, toy_arrays


def small():
    """a-b joins two classes, b-c one; c has a self-loop; d is alone and unlabelled."""
    return as_dataset(
        Path("small.npz"),
        {
            "edge_index": np.array([[0, 1], [1, 2]]),
            "self_loops": np.array([2]),
            "labels": np.array([0, 1, 1, -1]),
            "features": np.eye(4, dtype=np.float32)[:, :3],
        },
        "small",
        "here",
    )


def test_statistics_with_and_without_self_loops():
    assert small().statistics() == Statistics(
        nodes=4,
        edges=2,
        edges_with_self_loops=3,
        classes=2,
        features=3,
        homophily=1 / 2,
        homophily_with_self_loops=2 / 3,
    )
    assert small().splits == ()


def test_the_papers_splits_are_seeded_and_per_class():
    dataset = as_dataset(Path("toy"), toy_arrays(n=60), "toy", "here")
    splits = dataset.paper_splits(3)
    assert [len(part) for part in (splits[0].train, splits[0].val, splits[0].test)] == [6, 6, 48]
    for split in splits:  # 20 nodes a class: 2, 2 and 16
        assert np.bincount(dataset.graph.labels[split.train]).tolist() == [2, 2, 2]
        assert np.bincount(dataset.graph.labels[split.test]).tolist() == [16, 16, 16]
    again = dataset.paper_splits(3)
    assert all((a.train == b.train).all() for a, b in zip(splits, again, strict=True))
    assert (splits[0].train != splits[1].train).any()
    assert len(dataset.paper_splits()) == 10
    with pytest.raises(InputError, match="'count' must be at least 1"):
        dataset.paper_splits(0)


def test_a_file_and_back(tmp_path):
    write_arrays(tmp_path / "toy.npz", toy_arrays())
    dataset = read_dataset(tmp_path / "toy.npz")
    assert dataset.name == "toy"
    assert dataset.source == str(tmp_path / "toy.npz")
    assert len(dataset.splits) == 10
    np.testing.assert_array_equal(dataset.graph.features.toarray(), features_of(toy_arrays()))


def no_val(arrays):
    del arrays["val_masks"]


def short(arrays):
    arrays["test_masks"] = arrays["test_masks"][:, 1:]


def counts(arrays):
    arrays["train_masks"] = arrays["train_masks"].astype(int)


def overlapping(arrays):
    arrays["val_masks"] = arrays["train_masks"]


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (no_val, "Split masks must be present as train_masks, val_masks, test_masks"),
        (short, r"'test_masks' must be true or false for each of 30 nodes"),
        (counts, "'train_masks' must be true or false"),
        (overlapping, "toy.npz: The parts of a split must not share nodes"),
    ],
)
def test_masks_that_are_none(spoil, message):
    arrays = toy_arrays()
    spoil(arrays)
    with pytest.raises(InputError, match=message):
        as_dataset(Path("toy.npz"), arrays, "toy", "here")


@pytest.mark.parametrize("form", ["csv", "npz"])
def test_tables_read_back_as_the_same_graph(form, tmp_path):
    graph = small().graph
    names = write_tables(graph, tmp_path / "out", features=form)
    assert names == ("edges.csv", f"features.{form}", "labels.csv")
    files = [tmp_path / "out" / name for name in ("edges.csv", "labels.csv", f"features.{form}")]
    back = read_graph(*files).graph
    order = back.positions(["0", "1", "2", "3"])
    np.testing.assert_array_equal(
        back.adjacency.toarray()[np.ix_(order, order)], graph.adjacency.toarray()
    )
    np.testing.assert_array_equal(back.features[order], graph.features)
    assert [back.node_ids[i] for i in back.self_loops] == ["2"]
    known = [None if back.labels[i] < 0 else back.class_names[back.labels[i]] for i in order]
    assert known == ["0", "1", "1", None]


def test_tables_of_a_weighted_featureless_graph(tmp_path):
    graph = Graph.from_edges([0, 1], [1, 2], weights=[0.5, 2.0], labels=["a", "b", "b"])
    assert write_tables(graph, tmp_path / "out") == ("edges.csv", "labels.csv")
    assert pd.read_csv(tmp_path / "out" / "edges.csv")["weight"].tolist() == [0.5, 2.0]


def test_a_reference_by_name_or_path(tmp_path):
    assert as_reference("none", [3, 3]) is None
    drawn = as_reference("gaussian", [3, 4], seed=1)
    assert drawn.features.shape == (7, 100)
    write_arrays(tmp_path / "toy.npz", toy_arrays())
    borrowed = as_reference(tmp_path / "toy.npz", [3, 3, 3])
    np.testing.assert_array_equal(borrowed.features.toarray(), features_of(toy_arrays()))
    np.savez(tmp_path / "bare.npz", features=np.eye(3), labels=np.arange(3))
    assert as_reference(tmp_path / "bare.npz", [1, 1]).class_names == (0, 1, 2)
    for kind in (np.uint8, np.uint64):
        np.savez(tmp_path / "unsigned.npz", features=np.eye(3), labels=np.arange(3, dtype=kind))
        assert as_reference(tmp_path / "unsigned.npz", [1, 1]).labels.tolist() == [0, 1, 2]
    np.savez(tmp_path / "none.npz", labels=np.arange(3))
    with pytest.raises(InputError, match="A reference must have 'features'"):
        as_reference(tmp_path / "none.npz", [1, 1])
    with pytest.raises(InputError, match="must be gaussian, none, ogbn-products or the path"):
        as_reference("products", [1, 1])


@pytest.mark.parametrize("label", [-5, 3, 10**12])
def test_a_label_that_is_no_class(label, tmp_path):
    np.savez(tmp_path / "odd.npz", features=np.eye(3), labels=np.array([0, 1, label]))
    with pytest.raises(InputError, match=rf"odd.npz: A label must lie in 0 … 2.* Got {label}"):
        as_reference(tmp_path / "odd.npz", [1, 1])


def test_the_papers_features_by_name(tmp_path, monkeypatch):
    monkeypatch.setenv("CPGNN_CACHE", str(tmp_path))
    monkeypatch.setattr("cpgnn.datasets.references.ogbn_products_reference", lambda root: root)
    assert as_reference("ogbn-products", [1, 1]) == tmp_path / "ogb"
