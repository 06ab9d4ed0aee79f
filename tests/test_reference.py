"""Features for synthetic graphs: the injection, and where they come from."""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.nn.functional import cross_entropy

from cpgnn.datasets import as_reference
from cpgnn.errors import InputError
from cpgnn.graph import Graph
from cpgnn.reference import (
    Reference,
    gaussian_reference,
    inject_features,
    ogbn_products_reference,
)
from cpgnn.synthetic.generate import generate_graph, uniform_compatibility


def numbered_reference(sizes: list[int], sparse: bool = False) -> Reference:
    """Feature 0 of a node is its own number + 1, so that Γ can be read off."""
    labels = np.repeat(np.arange(len(sizes)), sizes)
    X = np.arange(1, len(labels) + 1, dtype=np.float32)[:, None]
    return Reference(sp.csr_array(X) if sparse else X, labels, tuple(range(len(sizes))))


def sources(X) -> np.ndarray:
    return np.asarray(X.todense() if sp.issparse(X) else X).ravel().astype(int) - 1


# -- the injection ----------------------------------------


@pytest.mark.parametrize("sparse", [False, True])
def test_injection_keeps_classes_apart_and_repeats_no_node(sparse):
    reference = numbered_reference([50, 80, 40, 9], sparse)
    H = uniform_compatibility(3, 0.2)
    graph = generate_graph([40, 30, 45], H, 10, 3, reference=reference)
    rows = sources(graph.features)
    assert len(np.unique(rows)) == 115
    # By size 45 > 40 > 30 meets 80 > 50 > 40; the class of 9 is left over.
    np.testing.assert_array_equal(np.array([0, 2, 1])[graph.labels], reference.labels[rows])


def test_equal_classes_map_in_order():
    labels = np.repeat([2, 0, 1], 5)
    X = inject_features(numbered_reference([5, 5, 5]), labels, np.random.default_rng(0))
    np.testing.assert_array_equal(sources(X) // 5, labels)


def test_any_graph_is_a_reference_and_unlabelled_nodes_are_left_out():
    labels = np.array([0, 0, 0, -1, 1, 1, 1, -1])
    X = np.arange(1, 9, dtype=np.float32)[:, None]
    graph = Graph.from_edges([0], [1], features=X, labels=labels)
    drawn = inject_features(graph, np.array([0, 1, 0, 1]), np.random.default_rng(0))
    assert not {3, 7} & set(sources(drawn).tolist())


def test_edges_do_not_depend_on_the_reference():
    H = uniform_compatibility(2, 0.2)
    bare = generate_graph([40, 40], H, 10, 3, seed=5)
    full = generate_graph([40, 40], H, 10, 3, seed=5, reference=numbered_reference([40, 40]))
    assert (bare.adjacency != full.adjacency).nnz == 0
    np.testing.assert_array_equal(bare.labels, full.labels)
    other = generate_graph([40, 40], H, 10, 3, seed=6, reference=numbered_reference([40, 40]))
    assert (sources(full.features) != sources(other.features)).any()


class Loose:
    def __init__(self, features, labels):
        self.features, self.labels = features, labels


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        (numbered_reference([50, 39]), "Class 1 of 'reference' must have at least 40 nodes"),
        (numbered_reference([500]), "'reference' must have at least 2 classes. Got 1."),
        (Loose(np.ones((3, 1)), np.full(3, -1)), "must have at least 2 classes. Got 0."),
        ("gaussian", "'reference' must have features and labels. Got 'gaussian'."),
        (Loose(None, np.zeros(3, dtype=int)), "'reference' must have features. Got none."),
        (Loose(np.ones((4, 1)), np.zeros(3, dtype=int)), "each of its 4 rows of features"),
        (Loose(np.ones((2, 1)), np.array(["a", "b"])), "must be a class index"),
    ],
)
def test_a_reference_that_does_not_fit(reference, message):
    with pytest.raises(InputError, match=message):
        generate_graph([40, 40], uniform_compatibility(2, 0.2), 10, 3, reference=reference)


def test_reference_checks_its_shapes():
    with pytest.raises(InputError, match="'features' must be a matrix"):
        Reference(np.ones(3), np.zeros(3, dtype=int), ("a",))
    with pytest.raises(InputError, match="'labels' must have one entry for each of 3 rows"):
        Reference(np.ones((3, 1)), np.zeros(2, dtype=int), ("a",))
    with pytest.raises(InputError, match=r"'labels' must lie below the number of classes \(1\)"):
        Reference(np.ones((3, 1)), np.array([0, 1, 0]), ("a",))


# -- Gaussian classes ----------------------------------------


def test_gaussian_means_are_equally_far_apart():
    """Sample means of 20,000 nodes are within 0.05 of their own, sample variances near 1."""
    reference = gaussian_reference([20_000] * 3, num_features=5, separation=4.0, seed=1)
    means = np.array([reference.features[reference.labels == c].mean(axis=0) for c in range(3)])
    gaps = np.linalg.norm(means[[0, 0, 1]] - means[[1, 2, 2]], axis=1)
    np.testing.assert_allclose(gaps, 4.0, atol=0.1)
    np.testing.assert_allclose((reference.features - means[reference.labels]).var(axis=0), 1, 0.03)


def test_gaussian_reference_is_seeded():
    one, same, other = (gaussian_reference([5, 5], 4, seed=s).features for s in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert (one != other).any()
    assert one.dtype == np.float32


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"num_features": 2}, "'num_features' must be at least 3. Got 2."),
        ({"separation": -1.0}, "'separation' must be a number of at least 0. Got -1.0."),
    ],
)
def test_gaussian_errors(arguments, message):
    with pytest.raises(InputError, match=message):
        gaussian_reference([5, 5, 5], **arguments)


def mlp_accuracy(reference: Reference, seed: int, epochs: int) -> float:
    """Test accuracy of the paper's MLP at its best validation epoch; 10/10/80 % of each class."""
    order = np.random.default_rng(seed).permutation(1000) + 1000 * np.arange(10)[:, None]
    rows = [part.ravel() for part in np.split(order, [100, 200], axis=1)]
    X = [torch.from_numpy(reference.features[part]) for part in rows]
    y = [torch.from_numpy(reference.labels[part]) for part in rows]
    generator = torch.Generator().manual_seed(seed)
    W = [torch.empty(100, 64), torch.empty(64, 10)]
    for weight in W:
        torch.nn.init.xavier_uniform_(weight, generator=generator).requires_grad_()
    adam = torch.optim.Adam(W, lr=0.01, weight_decay=2 * 5e-4)

    def logits(part: int) -> torch.Tensor:
        return (X[part] @ W[0]).relu() @ W[1]

    best = (0.0, 0.0)
    for _ in range(epochs):
        adam.zero_grad()
        cross_entropy(logits(0), y[0]).backward()
        adam.step()
        with torch.no_grad():
            validation = float((logits(1).argmax(1) == y[1]).float().mean())
            if validation > best[0]:
                best = (validation, float((logits(2).argmax(1) == y[2]).float().mean()))
    return best[1]


def test_gaussian_default_is_as_hard_as_the_paper():
    """The paper's MLP: 46.9–48.3 % on syn-products. 60 epochs: the best one is near 20."""
    scores = [mlp_accuracy(gaussian_reference([1000] * 10, seed=s), s, 60) for s in range(2)]
    assert np.mean(scores) == pytest.approx(0.474, abs=0.02)


# -- files and packages ----------------------------------------


@pytest.mark.slow
def test_news10_serves_the_paper_parameters():
    found = sorted(Path(os.environ.get("CPGNN_DATA", "/nowhere")).rglob("news10_features.npz"))
    if not found:
        pytest.skip("CPGNN_DATA has no news10_features.npz")
    reference = as_reference(found[0], [1000] * 10)
    graph = generate_graph([1000] * 10, uniform_compatibility(10, 0.2), reference=reference)
    for c in range(10):  # classes of 1,000 posts: each takes all of its own
        ours, theirs = graph.features[graph.labels == c], reference.features[reference.labels == c]
        np.testing.assert_array_equal(np.sort(ours, axis=0), np.sort(theirs, axis=0))


def stand_in_for_ogb(monkeypatch, dataset_class) -> None:
    """The part of ogb that is used, in its layout: `graph, labels = dataset[0]`."""
    package, module = ModuleType("ogb"), ModuleType("ogb.nodeproppred")
    module.NodePropPredDataset = dataset_class
    monkeypatch.setitem(sys.modules, "ogb", package)
    monkeypatch.setitem(sys.modules, "ogb.nodeproppred", module)


def test_ogbn_products_layout(monkeypatch, tmp_path):
    asked = {}

    class NodePropPredDataset:
        def __init__(self, name, root):
            asked.update(name=name, root=root)

        def __getitem__(self, index):
            assert index == 0
            X = np.arange(12, dtype=np.float32).reshape(6, 2)
            graph = {"edge_index": np.array([[0], [1]]), "edge_feat": None, "node_feat": X}
            return graph | {"num_nodes": 6}, np.array([[0], [1], [2], [0], [1], [2]])

    stand_in_for_ogb(monkeypatch, NodePropPredDataset)
    reference = ogbn_products_reference(tmp_path)
    assert asked == {"name": "ogbn-products", "root": str(tmp_path)}
    assert reference.features.shape == (6, 2)
    assert reference.labels.tolist() == [0, 1, 2, 0, 1, 2]
    assert reference.class_names == (0, 1, 2)
    graph = generate_graph([2, 2, 2], uniform_compatibility(3, 0.2), 3, 2, reference=reference)
    assert len(np.unique(graph.features, axis=0)) == 6


def test_ogbn_products_without_ogb(monkeypatch):
    monkeypatch.setitem(sys.modules, "ogb", None)
    monkeypatch.setitem(sys.modules, "ogb.nodeproppred", None)
    with pytest.raises(InputError, match=r'needs the package ogb.*pip install "cpgnn\[ogb\]"'):
        ogbn_products_reference("anywhere")


@pytest.mark.parametrize(
    "failure", [EOFError("EOF when reading a line"), SystemExit(-1), OSError("no route to host")]
)
def test_ogbn_products_that_cannot_be_had(failure, monkeypatch, tmp_path):
    """ogb asks before it downloads, leaves the program at a no, and may find no net."""

    class NodePropPredDataset:
        def __init__(self, name, root):
            raise failure

    stand_in_for_ogb(monkeypatch, NodePropPredDataset)
    with pytest.raises(InputError, match=f"must be available. Got {type(failure).__name__}"):
        ogbn_products_reference(tmp_path)


@pytest.mark.filterwarnings("ignore:Detected pickle protocol 4")
def test_ogbn_products_that_ogb_cannot_read_back(monkeypatch, tmp_path):
    """ogb reads its own cache with torch.load, which refuses it since torch 2.6."""
    path = tmp_path / "data_processed"
    torch.save({"graph": {"node_feat": np.ones((2, 2))}}, path, pickle_protocol=4)

    class NodePropPredDataset:
        def __init__(self, name, root):
            torch.load(path)

    stand_in_for_ogb(monkeypatch, NodePropPredDataset)
    with pytest.raises(InputError, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1") as caught:
        ogbn_products_reference(tmp_path)
    assert isinstance(caught.value.__cause__, pickle.UnpicklingError)
