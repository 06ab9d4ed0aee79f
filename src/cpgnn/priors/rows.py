"""What a node's row says, in Spark's Python workers: the priors' own code on batches of rows.

`FromFeatures` reads the features of a node; `FromColumns` what was then gathered around it;
`FromNetwork` the features, for the paper's model. They are sent to the workers as they are, without
the nodes of the fit. This file is no part of `cpgnn.spark`, which workers would have to import
whole, and needs no torch: a worker would take seconds of CPU to start it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from scipy.special import log_softmax

from cpgnn.engine.scaling import FeatureScaler
from cpgnn.graph import Graph
from cpgnn.priors.columns import STRUCTURE, log_shares
from cpgnn.priors.inputs import NARROW, ROWS, SMOOTH_SCALE, TREE_COLUMNS, Basis, Inputs
from cpgnn.priors.members import (
    EstimatorPrior,
    NetworkPrior,
    Prior,
    SpreadPrior,
    TogetherPrior,
    TreesPrior,
    floored,
)
from cpgnn.priors.network import Network

if TYPE_CHECKING:
    import pyarrow as pa

    from cpgnn.blend.blend import Blend

SMOOTHED = {"personalised": 10, "smoothed": 2}
"""Inputs that are smoothed, and in how many steps."""


def part(prefix: str, m: int, width: int) -> list[str]:
    """Names of the columns of a part."""
    return [f"{prefix}{m}_{j}" for j in range(width)]


def reads(prior: Prior) -> str:
    """What a prior reads, a word for each way in which Spark makes it."""
    if isinstance(prior, TogetherPrior):
        return "together"
    if isinstance(prior, SpreadPrior):
        return "spread"
    if isinstance(prior, EstimatorPrior):
        return "estimator"
    assert isinstance(prior, NetworkPrior | TreesPrior)
    return prior.reads


@dataclass(frozen=True, eq=False)
class Plan:
    """Which columns each prior of a blend needs: F features (0: none), c classes."""

    priors: tuple[Prior, ...]
    F: int
    c: int
    coordinates: int

    @classmethod
    def of(cls, blend: Blend, F: int) -> Plan:
        V = blend.basis.directions
        return cls(blend.priors, F, blend.num_classes, F if V is None else V.shape[1])

    def having(self, *wanted: str) -> list[tuple[int, Prior]]:
        """The priors that read one of these, with their numbers."""
        return [(m, p) for m, p in enumerate(self.priors) if reads(p) in wanted]

    @property
    def by_features(self) -> list[tuple[int, Prior]]:
        """Priors that are told from a node's own features alone."""
        if not self.F:
            return []
        return self.having("own", "words", "estimator")

    @property
    def has_columns(self) -> bool:
        return bool(self.having("columns") or (not self.F and self.having("estimator")))

    @property
    def table(self) -> list[str]:
        """Own columns that trees read."""
        width = self.F if self.F <= NARROW else TREE_COLUMNS
        return [f"z{i}" for i in range(width if self.has_columns else 0)]

    def projected(self, prior: Prior) -> int:
        """Columns to smooth for a network: its input, or its hidden units where they are fewer."""
        assert isinstance(prior, NetworkPrior)
        return min(self.coordinates, len(prior.network.b))

    @property
    def own(self) -> list[str]:
        """What `FromFeatures` writes."""
        names = list(self.table)
        for m, _ in self.by_features:
            names += part("l", m, self.c)
        for m, _ in self.having("together"):
            names += part("r", m, self.c)
        for m, prior in self.having(*SMOOTHED):
            names += part("s", m, self.projected(prior))
        return names


@dataclass(frozen=True, eq=False)
class FromNetwork:
    """id and features → id, empty (all features are 0) and the logits of a network."""

    scaler: FeatureScaler
    network: Network
    columns: list[str]

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            Z = np.asarray(_scaled(self.scaler, _matrix(batch, batch.schema.names[1:])).features)
            R = self.network.logits(Z).astype(np.float64)
            arrays = [batch.column(0), pa.array(~Z.any(axis=1)), *map(pa.array, R.T.copy())]
            yield pa.RecordBatch.from_arrays(arrays, names=["id", "empty", *self.columns])


@dataclass(frozen=True, eq=False)
class FromFeatures:
    """id, bare and x0 … → id, empty (all features are 0) and `plan.own`."""

    plan: Plan
    scaler: FeatureScaler
    basis: Basis

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            X = _matrix(batch, [f"x{i}" for i in range(self.plan.F)])
            bare = np.asarray(batch.column("bare").to_numpy(zero_copy_only=False), dtype=bool)
            X[bare] = 0
            found, empty = self._found(X, bare)
            arrays = [batch.column("id"), pa.array(empty), *map(pa.array, found.T)]
            yield pa.RecordBatch.from_arrays(arrays, names=["id", "empty", *self.plan.own])

    def _found(self, X: np.ndarray, bare: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        scaled = _scaled(self.scaler, X)
        Z = np.asarray(scaled.features)
        if bare.any():  # nodes of kinds without features
            Z = np.where(bare[:, None], np.float32(0), Z)
            scaled = scaled.with_features(Z)
        nobody = np.full(len(X), -1)
        x, plan = Inputs(scaled, self.basis, nobody, 0, nobody), self.plan
        parts: list[np.ndarray] = [np.empty((len(X), 0))]
        if plan.table:
            parts.append(Z if plan.F <= NARROW else x.coordinates[:, :TREE_COLUMNS])
        parts += [prior.log_beliefs(x) for _, prior in plan.by_features]
        for _, prior in plan.having("together"):
            parts.append(cast(TogetherPrior, prior).made.network.logits(x.own))
        for _, prior in plan.having(*SMOOTHED):
            S = np.float32(SMOOTH_SCALE) * x.coordinates
            wide = plan.projected(prior) < plan.coordinates
            parts.append(S @ cast(NetworkPrior, prior).network.W if wide else S)
        return np.concatenate(parts, axis=1).astype(np.float64), ~(Z != 0).any(axis=1)


@dataclass(frozen=True, eq=False)
class FromColumns:
    """id, asked and what was gathered → id, and Σ_m w_m log B_m + b of every round."""

    plan: Plan
    weights: np.ndarray
    """[rounds, M]"""
    base: np.ndarray
    """[rounds, c]"""
    columns: list[str]
    """Those of `Inputs.columns`."""

    @property
    def names(self) -> list[str]:
        return [name for t in range(len(self.base)) for name in part("o", t, self.plan.c)]

    def rows(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        for batch in batches:
            asked = np.asarray(batch.column("asked").to_numpy(zero_copy_only=False), dtype=bool)
            logs = [self._log_beliefs(m, p, batch) for m, p in enumerate(self.plan.priors)]
            for log_B in logs:
                log_B[~asked] = -np.log(self.plan.c)
            found = [
                sum((w * log_B for w, log_B in zip(weights, logs, strict=True)), base[None, :])
                for weights, base in zip(self.weights, self.base, strict=True)
            ]
            arrays = [batch.column("id"), *map(pa.array, np.concatenate(found, axis=1).T)]
            yield pa.RecordBatch.from_arrays(arrays, names=["id", *self.names])

    def _log_beliefs(self, m: int, prior: Prior, batch: pa.RecordBatch) -> np.ndarray:
        c, kind = self.plan.c, reads(prior)

        def read(prefix: str, width: int) -> np.ndarray:
            return _matrix(batch, part(prefix, m, width))

        if self.plan.F and kind in ("own", "words", "estimator"):
            return read("l", c)
        if kind in ("columns", "estimator"):
            x = SimpleNamespace(columns=_matrix(batch, self.columns))
            x.graph = SimpleNamespace(features=None)  # an estimator reads the columns, too
            return prior.log_beliefs(cast(Any, x))
        if kind == "spread":
            return floored(log_shares(read("s", c)))
        if kind == "together":
            logits = read("r", c).astype(np.float64) + read("t", c)
            return np.asarray(log_softmax(logits, axis=1), dtype=np.float32)
        network = cast(NetworkPrior, prior).network
        width = len(network.W)
        hidden = kind in ROWS or self.plan.projected(prior) < self.plan.coordinates
        if hidden:  # the first product was made before the sum over neighbours
            width = len(network.b)
            network = replace(network, W=np.eye(width, dtype=np.float32))
        return floored(network.logits(read("s", width)))


def light(prior: Prior) -> Prior:
    """The prior without weights for every node of the fit: those went through a table."""
    if isinstance(prior, NetworkPrior) and prior.reads in ROWS:
        none = prior.network.W[:0]
        return replace(prior, network=replace(prior.network, W=none))
    return prior


def column_names(plan: Plan, places: int) -> list[str]:
    """The columns of `Inputs.columns`, as Spark calls them."""
    shape = [f"c{i}" for i in range(len(STRUCTURE))]
    if not plan.F:
        return shape + [f"v{i}" for i in range(places)]
    return [*shape, *plan.table, *(f"n{z}" for z in plan.table), *(f"nn{z}" for z in plan.table)]


def _scaled(scaler: FeatureScaler, X: np.ndarray) -> Graph:
    """A graph without edges whose features are scaled as those of the fit were."""
    none = np.empty(0, dtype=np.int64)
    return scaler(Graph.from_edges(none, none, num_nodes=len(X), features=X))


def _matrix(batch: pa.RecordBatch, names: list[str]) -> np.ndarray:
    X = np.empty((batch.num_rows, len(names)), dtype=np.float32)
    for j, name in enumerate(names):
        X[:, j] = batch.column(name).to_numpy(zero_copy_only=False)
    return X
