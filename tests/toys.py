"""Small graphs beside their dense matrices, from which tests derive the right answer themselves."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from hypothesis import strategies as st

from cpgnn.graph import Graph
from cpgnn.model import CPGNN, Architecture
from cpgnn.splits import Split

CPU = torch.device("cpu")


@dataclass(frozen=True)
class Toy:
    """A graph, and the same as float64 arrays that never went through the library."""

    graph: Graph
    A: np.ndarray
    X: np.ndarray
    """The features; the identity where the graph has none."""
    y: np.ndarray

    @property
    def n(self) -> int:
        return len(self.A)

    @property
    def c(self) -> int:
        return self.graph.num_classes

    def split(self, train: int, val: int) -> Split:
        nodes = np.arange(self.n)
        return Split(nodes[:train], nodes[train : train + val], nodes[train + val :])


def toy(
    seed: int = 0,
    n: int = 9,
    c: int = 3,
    *,
    density: float = 0.4,
    weighted: bool = False,
    num_features: int | None = 4,
    sparse: bool = False,
    isolated: int = 1,
) -> Toy:
    """A random graph; its last `isolated` nodes have no edge. The first c nodes show each class."""
    rng = np.random.default_rng(seed)
    linked = np.triu(rng.random((n, n)) < density, 1)
    linked[:, n - isolated :] = False
    weight = rng.integers(1, 12, (n, n)) / 4 if weighted else np.ones((n, n))
    upper = np.where(linked, weight, 0.0)
    u, v = np.nonzero(upper)
    flip = rng.random(len(u)) < 0.5
    y = np.concatenate([np.arange(c), rng.integers(0, c, n - c)])
    X: Any = None
    if num_features is not None:
        X = rng.normal(size=(n, num_features)).astype(np.float32)
        X[rng.random(X.shape) < 0.3] = 0
    graph = Graph.from_edges(
        np.where(flip, v, u),
        np.where(flip, u, v),
        weights=upper[u, v] if weighted else None,
        num_nodes=n,
        features=sp.csr_array(X) if sparse and X is not None else X,
        labels=y,
        class_names=[f"class {i}" for i in range(c)],
    )
    dense_X = np.eye(n) if X is None else X.astype(np.float64)
    return Toy(graph, upper + upper.T, dense_X, y)


@st.composite
def toys(draw: st.DrawFn, **fixed: Any) -> Toy:
    """Any toy: 4 to 9 nodes, 2 to 4 classes, weighted or not, with isolated nodes or without."""
    c = fixed.pop("c", None) or draw(st.integers(2, 4), label="classes")
    kinds = {
        "density": st.sampled_from([0.0, 0.2, 0.5, 1.0]),
        "weighted": st.booleans(),
        "num_features": st.sampled_from([None, 1, 4]),
        "sparse": st.booleans(),
        "isolated": st.integers(0, 2),
    }
    drawn = {name: draw(kind, label=name) for name, kind in kinds.items() if name not in fixed}
    n = fixed.pop("n", None) or draw(st.integers(max(c, 4), 9), label="nodes")
    return toy(draw(st.integers(0, 2**16), label="seed"), n, c, **drawn, **fixed)


def planted(
    seed: int = 0,
    n: int = 200,
    c: int = 3,
    *,
    h: float = 0.1,
    degree: float = 6.0,
    num_features: int | None = 6,
    signal: float = 1.0,
    shares: list[float] | None = None,
) -> Graph:
    """A graph whose edges stay inside their class with probability h; features hint at it."""
    rng = np.random.default_rng(seed)
    y = rng.choice(c, n, p=shares)
    u, v = rng.integers(0, n, (2, int(40 * n * degree)))
    keep = (u < v) & (rng.random(len(u)) < np.where(y[u] == y[v], h, (1 - h) / max(c - 1, 1)))
    pairs = np.unique(np.stack([u[keep], v[keep]], axis=1), axis=0)
    pairs = pairs[rng.permutation(len(pairs))[: int(n * degree / 2)]]
    X = None
    if num_features is not None:
        X = rng.normal(size=(n, num_features)) + signal * rng.normal(size=(c, num_features))[y]
    return Graph.from_edges(
        pairs[:, 0],
        pairs[:, 1],
        num_nodes=n,
        features=X,
        labels=y,
        class_names=[f"c{i}" for i in range(c)],
    )


def softmax(Z: np.ndarray) -> np.ndarray:
    E = np.exp(Z - Z.max(axis=1, keepdims=True))
    return E / E.sum(axis=1, keepdims=True)


def array(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().cpu().double().numpy()


def random_model(graph: Graph, dtype: torch.dtype = torch.float32, **parts: Any) -> CPGNN:
    """A model of these parts with weights and H̄ from a seed."""
    model = Architecture(**parts).build(graph, seed=1)
    with torch.no_grad():
        model.H_bar.copy_(torch.from_numpy(np.random.default_rng(2).normal(size=(3, 3)) / 3))
    return model.to(dtype)


def table_as_it_was(graph: Graph) -> tuple[np.ndarray, dict[str, tuple[str, ...]]]:
    """The features as a table again: numbers (NaN: missing), those of categories last; and
    the values that the numbers of each category stand for."""
    X, gaps = sp.csr_array(graph.features).toarray(), graph.mixed.gaps.toarray()
    grouped = {j for category in graph.mixed.categories for j in category.columns}
    columns = [np.where(gaps[:, j], np.nan, X[:, j]) for j in range(X.shape[1]) if j not in grouped]
    for category in graph.mixed.categories:
        hot = X[:, list(category.columns)] > 0
        columns.append(np.where(hot.any(axis=1), hot.argmax(axis=1), np.nan))
    return np.stack(columns, axis=1), {one.name: one.values for one in graph.mixed.categories}
