"""Fitted priors: what a blend keeps of each, all of them functions of a graph's `Inputs`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import log_softmax, softmax

from cpgnn.priors.columns import label_shares_around
from cpgnn.priors.inputs import HALF, Inputs
from cpgnn.priors.network import Network, Together

if TYPE_CHECKING:
    from cpgnn.priors.trees import Trees

FLOOR = -12.0
"""No belief is surer than e^-12: one prior must not be able to outshout all others."""


@dataclass(frozen=True, eq=False)
class Heard:
    """What neighbours say: Σ_u P(v, u) (B(u) − 1/c) H̄ with P = D^-γ A of a relation."""

    relation: str
    gamma: float
    beliefs: np.ndarray
    """B [n, c]"""
    H_bar: np.ndarray
    """[c, c]"""


class Prior(ABC):
    """A fitted prior."""

    name: str

    @abstractmethod
    def log_beliefs(self, x: Inputs) -> np.ndarray:
        """log B [n, c], float32."""

    def heard(self, x: Inputs) -> list[Heard]:
        """The part of its log-beliefs that neighbours say, where they can be told apart."""
        return []


@dataclass(frozen=True, eq=False)
class NetworkPrior(Prior):
    """A small network on one of the inputs."""

    name: str
    reads: str
    """Name of the input: "own", "personalised", "smoothed", or one of `ROWS`."""
    network: Network

    def log_beliefs(self, x: Inputs) -> np.ndarray:
        return floored(self.network.logits(getattr(x, self.reads)))


@dataclass(frozen=True, eq=False)
class TreesPrior(Prior):
    """Boosted trees on one of the inputs: "columns" or "words"."""

    name: str
    reads: str
    trees: Trees

    def log_beliefs(self, x: Inputs) -> np.ndarray:
        return floored(self.trees.logits(getattr(x, self.reads)))


@dataclass(frozen=True, eq=False)
class SpreadPrior(Prior):
    """Known labels, spread by personalised PageRank; nothing is fitted."""

    name: str
    num_classes: int

    def log_beliefs(self, x: Inputs) -> np.ndarray:
        known = np.flatnonzero(x.labels >= 0)
        return floored(label_shares_around(x.A, known, x.labels, self.num_classes))


@dataclass(frozen=True, eq=False)
class TogetherPrior(Prior):
    """Network and matrices trained end to end."""

    name: str
    relations: tuple[str, ...]
    made: Together

    def log_beliefs(self, x: Inputs) -> np.ndarray:
        R = self.made.network.logits(x.own)
        B = softmax(R, axis=1) - np.float32(1 / R.shape[1])
        for relation, H_bar in zip(self.relations, self.made.H_bar, strict=True):
            R = R + (x.propagator(relation, HALF) @ B) @ H_bar
        return np.asarray(log_softmax(R, axis=1), dtype=np.float32)

    def heard(self, x: Inputs) -> list[Heard]:
        B = softmax(self.made.network.logits(x.own), axis=1)
        return [
            Heard(relation, HALF, B, H_bar)
            for relation, H_bar in zip(self.relations, self.made.H_bar, strict=True)
        ]


@dataclass(frozen=True, eq=False)
class EstimatorPrior(Prior):
    """A scikit-learn classifier of the caller's own, fitted to the node's own columns."""

    name: str
    estimator: Any
    num_classes: int

    def log_beliefs(self, x: Inputs) -> np.ndarray:
        return estimated(self.estimator, own_columns(x), self.num_classes)


def own_columns(x: Inputs) -> Any:
    """What an estimator of the caller's own reads: X, or the shape of the graph without any."""
    return x.columns if x.graph.features is None else x.graph.features


def estimated(estimator: Any, X: Any, c: int) -> np.ndarray:
    """log B [n, c] of a fitted scikit-learn classifier whose classes are numbers."""
    P = np.zeros((X.shape[0], c))
    P[:, estimator.classes_] = estimator.predict_proba(X)
    return np.maximum(np.log(np.maximum(P, 1e-12)), FLOOR).astype(np.float32)


def floored(logits: np.ndarray) -> np.ndarray:
    """log-beliefs of logits, none surer than `FLOOR`."""
    return np.maximum(log_softmax(logits, axis=-1), FLOOR).astype(np.float32)
