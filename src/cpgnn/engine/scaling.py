"""Feature scaling: chosen on the training graph, stored with the model, reused at prediction."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp

from cpgnn.engine.text import listed
from cpgnn.errors import must_be
from cpgnn.graph import Graph

Scaling = Literal["auto", "rows", "standard", "none"]


@dataclass(frozen=True, eq=False)
class FeatureScaler:
    """Rows scaled to sum 1 ("rows"), columns to mean 0 and std 1 ("standard"), or neither."""

    kind: Literal["rows", "standard", "none"]
    num_features: int | None
    mean: np.ndarray | None = None
    std: np.ndarray | None = None

    @classmethod
    def fit(cls, graph: Graph, kind: Scaling = "auto") -> FeatureScaler:
        """ "auto": rows if every entry is ≥ 0 and the matrix is sparse, else standard.

        A table with categories is standardised, however many 0/1 columns they have.
        """
        X: Any = graph.features
        F = graph.num_features
        if X is None or kind == "none":
            return cls("none", F)
        if graph.kinds is not None:  # rows of nodes without features would count as zeros
            X = X[graph.kinds.has_features]
        sparse = sp.issparse(X)
        counts = sparse and graph.mixed is None and bool((X.data >= 0).all())
        if kind == "rows" or (kind == "auto" and sparse and counts):
            return cls("rows", F)
        # In float64: in float32 the rounding of E[x²] - mean² would pass for a deviation.
        X = X.astype(np.float64) if sparse else X
        mean = np.asarray(X.mean(axis=0, dtype=np.float64)).ravel()
        square = X.power(2) if sparse else np.square(X, dtype=np.float64)
        return cls.from_moments(mean, np.asarray(square.mean(axis=0)).ravel(), centred=not sparse)

    @classmethod
    def from_moments(
        cls, mean: np.ndarray, square: np.ndarray, *, centred: bool = True
    ) -> FeatureScaler:
        """ "standard" from E[x] and E[x²] of every column, float64 [F].

        A sparse matrix is not centred: subtracting the mean would fill it.
        """
        std = np.sqrt(np.maximum(square - mean**2, 0))
        std[std <= 1e-7 * np.abs(mean)] = 1.0  # a constant column says nothing: keep it at 0
        std[std == 0] = 1.0
        kept = mean if centred else np.zeros_like(mean)
        return cls("standard", len(mean), kept.astype(np.float32), std.astype(np.float32))

    def __call__(self, graph: Graph) -> Graph:
        """The graph with scaled features."""
        if graph.num_features != self.num_features:
            F, must = self.num_features, "have no features, as in the fit"
            must = f"have the {F} features the model was fitted with" if F else must
            raise must_be("The graph", must, graph.num_features or "no features")
        X: Any = graph.features
        if X is None or self.kind == "none":
            return graph
        sparse = sp.issparse(X)
        if self.kind == "rows":
            total = np.asarray(X.sum(axis=1, dtype=np.float64)).ravel()
            with np.errstate(divide="ignore"):
                scale = np.where(total != 0, 1 / total, 1.0).astype(np.float32)
            per_entry = np.repeat(scale, np.diff(X.indptr)) if sparse else scale[:, None]
            return graph.with_features(_times(X, per_entry), mixed=graph.mixed)
        assert self.mean is not None
        assert self.std is not None
        if sparse and not self.mean.any():
            return graph.with_features(_times(X, 1 / self.std[X.indices]), mixed=graph.mixed)
        X = X.toarray() if sparse else X  # fitted on a dense matrix, whose mean counts
        X = (X - self.mean) / self.std
        if graph.kinds is not None:
            X[~graph.kinds.has_features] = 0
        return graph.with_features(X, mixed=graph.mixed)


def match_names(
    wanted: Sequence[str], given: Sequence[str], what: str = "The graph"
) -> tuple[list[int], list[str]]:
    """The position in `given` of each feature that a model was fitted with, and what is left over.

    A feature that is missing, or there twice, is an error that names it.
    """
    if list(wanted) == list(given):
        return list(range(len(given))), []
    positions = {name: i for i, name in enumerate(given)}
    known = set(wanted)
    extra = [name for name in given if name not in known]
    missing = [name for name in wanted if name not in positions]
    if missing:
        close = difflib.get_close_matches(missing[0], extra[:1000], n=1)
        hint = f"Is {close[0]!r} meant to be {missing[0]!r}?" if close else "Add them."
        got = f"none called {listed(missing)}" + (f", but {listed(extra)}" if extra else "")
        raise must_be(what, "have the features that the model was fitted with", got, hint)
    if len(positions) < len(given):
        twice = next(name for i, name in enumerate(given) if positions[name] != i)
        raise must_be(what, "name each feature once", f"{twice!r} twice")
    return [positions[name] for name in wanted], extra


def _times(X: Any, scale: np.ndarray) -> Any:
    """Every stored entry of X times its scale."""
    if not sp.issparse(X):
        return X * scale
    return sp.csr_array((X.data * scale, X.indices, X.indptr), shape=X.shape)
