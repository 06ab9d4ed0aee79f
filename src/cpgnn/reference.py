"""Labelled feature vectors that a synthetic graph borrows its node features from."""

from __future__ import annotations

import os
import pickle
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from cpgnn.errors import InputError, check_count, must_be, wrong_value

# Set so that features alone are worth what ogbn-products' are in the paper, whose MLP scores
# 46.9–48.3 % on syn-products. Measured on 10 classes × 1,000 nodes, 100 features, per-class splits
# 10 % training / 10 % validation / 80 % test; MLP with 64 hidden units, ReLU, no biases, Glorot,
# Adam 0.01, loss + 5e-4·‖W‖², test accuracy at the best of 300 validation epochs, mean ± std over
# 10 seeds: 2.46 → 46.0 ± 0.8 (dropout 0.5: 46.8 ± 0.9), 2.5 → 47.0 ± 0.6 (48.1 ± 0.7); 2.5 with
# 2,000 epochs, 3 seeds: 46.9 (48.0). 2.4 → 44.8 and 2.8 → 53.5 (300 epochs, 3 seeds).
GAUSSIAN_SEPARATION = 2.5
"""Distance between two class means, in standard deviations of the noise."""


class Labelled(Protocol):
    """Anything with features [n, F] and class indices [n] (-1 = unknown), such as a `Graph`."""

    @property
    def features(self) -> np.ndarray | sp.csr_array | None: ...

    @property
    def labels(self) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Reference:
    """Features and labels without a graph."""

    features: np.ndarray | sp.csr_array
    """X_r, [n, F]."""
    labels: np.ndarray
    """y_r, [n]: class index, -1 = unknown."""
    class_names: tuple[Hashable, ...]
    """The name of every class."""

    def __post_init__(self) -> None:
        if self.features.ndim != 2:
            raise wrong_value("features", "be a matrix", f"shape {self.features.shape}")
        rows, c = self.features.shape[0], len(self.class_names)
        if self.labels.shape != (rows,):
            must = f"have one entry for each of {rows} rows of features"
            raise wrong_value("labels", must, self.labels.shape)
        if self.labels.size and self.labels.max() >= c:
            must = f"lie below the number of classes ({c})"
            raise wrong_value("labels", must, int(self.labels.max()))


def inject_features(
    reference: Labelled, labels: np.ndarray, rng: np.random.Generator
) -> np.ndarray | sp.csr_array:
    """X[v] = X_r[Γ(v)], Γ injective, and y[u] = y[v] ⇔ y_r[Γ(u)] = y_r[Γ(v)] (Algorithm 1).

    The k-th largest class of `labels` draws its nodes, without replacement, from the k-th largest
    class of the reference (ties by class index): if any one-to-one map of classes fits, this does.
    """
    X_r, y_r = _check_reference(reference)
    wanted, held = np.bincount(labels), np.bincount(y_r[y_r >= 0])
    if np.count_nonzero(held) < len(wanted):
        raise wrong_value(
            "reference", f"have at least {len(wanted)} classes", np.count_nonzero(held)
        )
    rows = np.empty(len(labels), dtype=np.int64)
    by_size = np.argsort(-wanted, kind="stable"), np.argsort(-held, kind="stable")
    for y, c in zip(*by_size, strict=False):  # the smallest classes of the reference may be left
        if held[c] < wanted[y]:
            must = f"have at least {wanted[y]} nodes to serve as class {y}"
            hint = "Try smaller class sizes or a larger reference."
            raise must_be(f"Class {c} of 'reference'", must, held[c], hint)
        rows[labels == y] = rng.permutation(np.flatnonzero(y_r == c))[: wanted[y]]
    return X_r[rows]


def _check_reference(reference: Labelled) -> tuple[np.ndarray | sp.csr_array, np.ndarray]:
    if not (hasattr(reference, "features") and hasattr(reference, "labels")):
        hint = "Try gaussian_reference(class_sizes), or a Graph."
        raise wrong_value("reference", "have features and labels", repr(reference), hint)
    X_r, y_r = reference.features, np.asarray(reference.labels)
    if X_r is None:
        raise wrong_value("reference", "have features", "none")
    if y_r.shape != X_r.shape[:1] or not np.issubdtype(y_r.dtype, np.integer):
        must = f"be a class index for each of its {X_r.shape[0]} rows of features"
        raise must_be("The labels of 'reference'", must, f"{y_r.dtype} of shape {y_r.shape}")
    return X_r, y_r


def gaussian_reference(
    class_sizes: Sequence[int],
    num_features: int = 100,
    separation: float = GAUSSIAN_SEPARATION,
    seed: int = 0,
) -> Reference:
    """Gaussian classes: X[v] = μ_{y_v} + ε, ε ~ N(0, I), ‖μ_i − μ_j‖ = separation for all i ≠ j.

    The means are orthogonal, ‖μ_i‖ = separation/√2, in directions drawn from the seed, so there
    must be at least as many features as classes. By default an MLP that sees 10 % of the labels
    scores about 47 % on ten classes, like the paper's.
    """
    sizes = as_class_sizes(class_sizes)
    num_features = check_count("num_features", num_features, least=len(sizes))
    if not (np.isfinite(separation) and separation >= 0):
        raise wrong_value("separation", "be a number of at least 0", separation)
    rng = np.random.default_rng(check_count("seed", seed, least=0))
    directions = np.linalg.qr(rng.standard_normal((num_features, len(sizes))))[0].T
    labels = np.repeat(np.arange(len(sizes)), sizes)
    noise = rng.standard_normal((len(labels), num_features), dtype=np.float32)
    means = (separation / np.sqrt(2) * directions).astype(np.float32)
    return Reference(means[labels] + noise, labels, tuple(range(len(sizes))))


def ogbn_products_reference(root: str | os.PathLike[str]) -> Reference:
    """ogbn-products (2,449,029 products, 47 classes, 100 features), the paper's reference.

    Needs ``pip install "cpgnn[ogb]"``. If the data set is not under `root` yet, `ogb` asks in the
    terminal and downloads 1.4 GB.
    """
    try:
        from ogb.nodeproppred import NodePropPredDataset
    except ImportError:
        raise InputError(
            "The ogbn-products reference needs the package ogb, which is not installed. "
            'Try: pip install "cpgnn[ogb]".'
        ) from None
    try:
        dataset = NodePropPredDataset(name="ogbn-products", root=os.fspath(root))
    except (OSError, EOFError, SystemExit) as error:  # no net, nobody to answer, or a no
        got = f"{type(error).__name__}: {error}"
        hint = "Run it once in a terminal with network access."
        raise must_be(
            f"ogbn-products under '{os.fspath(root)}'", "be available", got, hint
        ) from None
    except pickle.UnpicklingError as error:  # github.com/snap-stanford/ogb/pull/507
        raise InputError(
            f"ogb cannot read the files it stored under '{os.fspath(root)}': it does not support "
            "torch ≥ 2.6. If the files there are from ogb itself, set the environment variable "
            "TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD=1 for this run."
        ) from error
    graph, labels = dataset[0]
    X, y = np.asarray(graph["node_feat"], dtype=np.float32), np.asarray(labels).ravel()
    return Reference(X, y.astype(np.int64), tuple(range(int(y.max()) + 1)))


def as_class_sizes(class_sizes: Sequence[int]) -> np.ndarray:
    """N [c], positive integers."""
    sizes = np.asarray(class_sizes)
    if sizes.ndim != 1 or not sizes.size or not np.issubdtype(sizes.dtype, np.integer):
        raise wrong_value(
            "class_sizes", "be a list of integers, one for each class", repr(class_sizes)
        )
    if sizes.min() < 1:
        raise wrong_value("class_sizes", "be at least 1 each", int(sizes.min()))
    return sizes.astype(np.int64)
