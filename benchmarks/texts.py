"""The default on generated texts: many nodes, hundreds of dense columns, neighbours of other kinds.

`python texts.py`: every word is a node, joined to the next and sometimes to one a few places on.
Its class, one of 18 roles, follows from the role of the word before by a fixed matrix; its columns
are an embedding that several roles share. Half of the nodes train, a quarter choose, a quarter is
tested. Beside the default: the same without a network on a node's own columns.
"""

from __future__ import annotations

import time
from typing import Any
from unittest.mock import patch

import numpy as np

from cpgnn import CPGNNClassifier, Graph, Split, per_class_split
from cpgnn.engine.threads import use_threads
from cpgnn.selection import portfolio
from measuring import keep

ROLES, COLUMNS, VOCABULARY = 18, 300, 4_000


def text(n: int, seed: int) -> Graph:
    """n words: roles by a Markov chain, words that several roles share, embeddings of words."""
    rng = np.random.default_rng(seed)
    follows = rng.dirichlet(np.full(ROLES, 0.25), ROLES).cumsum(axis=1)
    roles = np.zeros(n, dtype=int)
    for i, u in enumerate(rng.random(n - 1)):
        roles[i + 1] = min(np.searchsorted(follows[roles[i]], u), ROLES - 1)
    shares = rng.dirichlet(np.full(ROLES, 0.35), VOCABULARY)
    says = shares.T * rng.pareto(1.2, VOCABULARY)
    words = np.empty(n, dtype=int)
    for role in range(ROLES):
        at = np.flatnonzero(roles == role)
        words[at] = rng.choice(VOCABULARY, len(at), p=says[role] / says[role].sum())
    noise = 0.7 * rng.standard_normal((VOCABULARY, COLUMNS))
    embedding = shares @ rng.standard_normal((ROLES, COLUMNS)) + noise
    start = np.flatnonzero(rng.random(n) < 0.45)
    end = start + rng.integers(2, 6, len(start))
    source = np.concatenate([np.arange(n - 1), start[end < n]])
    target = np.concatenate([np.arange(1, n), end[end < n]])
    X = embedding[words].astype(np.float32)
    return Graph.from_edges(source, target, features=X, labels=roles)


def by_default(graph: Graph, split: Split) -> np.ndarray:
    return CPGNNClassifier().fit(graph, split=split).predict_proba()


def without_own_network(graph: Graph, split: Split) -> np.ndarray:
    """The default where no network reads a node's own columns."""
    affordable = portfolio.affordable

    def fewer(*given: Any) -> dict[str, Any]:
        return {name: make for name, make in affordable(*given).items() if name != "mlp"}

    with patch.object(portfolio, "affordable", fewer):
        return by_default(graph, split)


def main(n: int = 10_000, graphs: int = 2) -> None:
    use_threads(1)
    contenders = {
        "default": by_default,
        "default without `mlp`": without_own_network,
    }
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in contenders}
    for seed in range(graphs):
        graph = text(n, seed)
        split = per_class_split(graph.labels, train=0.5, test=0.25, seed=seed)
        y = graph.labels[split.test]
        for name, fit in contenders.items():
            start = time.process_time()
            P = fit(graph, split)[split.test]
            seconds = time.process_time() - start
            loss = -np.log(np.maximum(P[np.arange(len(y)), y], 1e-12)).mean()
            found[name].append((float((P.argmax(axis=1) == y).mean()), float(loss), seconds))
            print(seed, name, found[name][-1], flush=True)
    rows = []
    for name, values in found.items():
        accuracy, loss, seconds = np.array(values).T
        row = {"method": name, "accuracy": accuracy.mean(), "± std over graphs": accuracy.std()}
        rows.append({**row, "log loss": loss.mean(), "CPU-s": seconds.mean(), "n": graphs})
    keep("texts", rows, f"Generated texts of {n:,} words, test nodes (`python texts.py`)")


if __name__ == "__main__":
    main()
