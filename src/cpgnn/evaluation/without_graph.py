"""What the edges are worth: an MLP on the same split that sees the features, never the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from cpgnn.architecture import Architecture
from cpgnn.engine.loop import Observer
from cpgnn.evaluation.metrics import Scored, difference, share
from cpgnn.graph import Graph
from cpgnn.settings import Settings
from cpgnn.splits import Split
from cpgnn.training import train


@dataclass(frozen=True)
class WithoutGraph:
    """Test accuracy of the MLP, and how much more the model with the graph gets right."""

    accuracy: Scored
    gain: Scored

    @classmethod
    def of(cls, blind: np.ndarray, P: np.ndarray, labels: np.ndarray) -> WithoutGraph:
        """From the probabilities [t, c] of both on the test nodes, and their labels [t]."""
        right, other = P.argmax(axis=1) == labels, blind.argmax(axis=1) == labels
        return cls(share(int(other.sum()), len(labels)), difference(right, other))

    def as_dict(self) -> dict[str, Any]:
        return {"accuracy": self.accuracy.as_dict(), "gain": self.gain.as_dict()}


def graph_blind_proba(
    graph: Graph,
    split: Split,
    settings: Settings,
    *,
    hidden: int = 64,
    dropout: float = 0.0,
    seed: int = 0,
    observe: Observer | None = None,
) -> np.ndarray:
    """Probabilities [n, c] of an MLP trained as the first phase of CPGNN trains its prior.

    The same layers, epochs, weight decay and choice of the epoch: for the MLP prior this is what
    phase 2 starts from. The graph must have features; they are taken as they are (scale them with
    `FeatureScaler` first).
    """
    model = Architecture("mlp", 0, hidden=hidden, dropout=dropout).build(graph, seed=seed)
    train(model, graph, split, settings.but(epochs=0), seed=seed, observe=observe)
    model.eval()
    with torch.no_grad():
        return torch.softmax(model(graph).double(), dim=1).cpu().numpy()
