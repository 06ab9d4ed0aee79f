"""Random graphs with types, directions, weights and kinds, and blends in which every prior speaks.

The same tables as pandas, as a `Graph` and as Spark's DataFrames.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression

from cpgnn import CPGNNClassifier, Graph
from cpgnn.blend.blend import Hearing
from cpgnn.blend.mean import mean_of
from cpgnn.blend.second_stage import Stage
from cpgnn.errors import GraphNotice
from cpgnn.priors.members import (
    EstimatorPrior,
    NetworkPrior,
    SpreadPrior,
    TogetherPrior,
    own_columns,
)
from cpgnn.priors.network import Network, Together
from cpgnn.relations.derived import heard_relations
from cpgnn.relations.edge_weights import Weights
from cpgnn.splits import Split

CLASSES = ("ash", "beech", "cedar")
TYPES = ("knows", "pays", "sees")
WORLDS: dict[str, dict[str, Any]] = {
    "one relation": {"text": True, "weighted": True},
    "types, many features": {
        "types": TYPES,
        "directed": ("pays",),
        "weighted": True,
        "width": 140,
    },
    "kinds": {"kinds": True, "types": TYPES[:2], "directed": ("pays",), "text": True},
    "a direction, no features": {"directed": True, "weighted": True, "width": 0},
}
"""Options of `random_world`; with them, `loud` has every kind of prior and every relation."""


def drawn(seed: int) -> dict[str, Any]:
    """Options of `random_world`, each drawn on its own."""
    rng = np.random.default_rng(seed)
    types = TYPES[: rng.integers(0, 4)]
    one_way = tuple(name for name in types if rng.random() < 0.5)
    return {
        "n": int(rng.integers(30, 90)),
        "text": bool(rng.random() < 0.5),
        "weighted": bool(rng.random() < 0.5),
        "types": types,
        "directed": one_way if types else bool(rng.random() < 0.5),
        "kinds": bool(rng.random() < 0.4),
        "width": int(rng.choice([0, 3, 130])),
    }


@dataclass(frozen=True)
class World:
    """A graph as tables."""

    edges: pd.DataFrame
    labels: pd.DataFrame
    features: pd.DataFrame | None
    kinds: pd.DataFrame | None
    relation: str | None
    directed: list[str] | bool

    def graph(self) -> Graph:
        """As one machine has it; nodes of kinds without features have rows of zeros."""
        features, kinds = self.features, self.kinds
        if kinds is not None and features is not None:
            bare = kinds[~kinds["id"].isin(features["id"])]["id"]
            zeros = pd.DataFrame(0.0, index=range(len(bare)), columns=features.columns[1:])
            zeros.insert(0, "id", bare.to_numpy())
            features = pd.concat([features, zeros], ignore_index=True)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", GraphNotice)
            graph = Graph.from_pandas(
                self.edges,
                self.labels[["id", "label"]],
                features,
                relation=self.relation,
                directed=self.directed,
            )
        if kinds is None:
            return graph
        known = kinds.set_index("id")["kind"].reindex(graph.node_ids)
        described = None if features is None else ["account"]
        return graph.with_kinds(known.to_numpy(), described)

    def given(self, spark):
        from cpgnn.spark import Given

        def table(frame):
            return None if frame is None else spark.createDataFrame(frame)

        return Given(
            table(self.edges),
            table(self.labels),
            table(self.features),
            kinds=table(self.kinds),
            relation=self.relation,
            directed=self.directed,
        )


def random_world(
    seed: int,
    n: int = 60,
    *,
    text: bool = False,
    weighted: bool = False,
    types: tuple[str, ...] = (),
    directed: tuple[str, ...] | bool = False,
    kinds: bool = False,
    width: int = 4,
    first: int = 0,
) -> World:
    """Nodes first … first + n - 1: repeated rows, self-loops, weights of 0, isolated nodes."""
    rng = np.random.default_rng(seed)
    names = np.array([f"n {i:04d}é" for i in range(first + n)]) if text else np.arange(first + n)
    names = names[first:]
    linked = n - 6
    u, v = rng.integers(0, linked, (2, 2 * n))
    edges = pd.DataFrame({"source": names[u], "target": names[v]})
    if weighted:
        edges["weight"] = np.where(rng.random(len(u)) < 0.1, 0.0, rng.random(len(u)) * 3)
    if types:
        edges["means"] = np.array(types, dtype=object)[rng.integers(0, len(types), len(u))]
    is_account = (first + np.arange(n)) % 10 < (7 if kinds else 10)
    accounts = np.flatnonzero(is_account)
    known = rng.permutation(accounts)[: len(accounts) // 2]
    label = np.array(CLASSES, dtype=object)[(first + known) % 3]
    labels = pd.DataFrame({"id": names[known], "label": label, "split": "train"})
    features = None
    if width:
        X = rng.normal(1, 2, (n, width)).astype(np.float32)
        X[np.arange(n), (first + np.arange(n)) % 3] += 2
        if width > 100:
            X = np.where(rng.random(X.shape) < 0.9, 0, np.abs(X)).astype(np.float32)
        features = pd.DataFrame(X, columns=[f"f.{i}" for i in range(width)])
        features.insert(0, "id", names)
        features = features[is_account].reset_index(drop=True)
    kind = pd.DataFrame({"id": names, "kind": np.where(is_account, "account", "device")})
    one_way = list(directed) if isinstance(directed, tuple) else directed
    relation = "means" if types else None
    return World(edges, labels, features, kind if kinds else None, relation, one_way)


def loud(graph: Graph, seed: int = 0) -> CPGNNClassifier:
    """Trees fitted to the labels, a random network for every other input, all relations heard."""
    rng = np.random.default_rng(seed)
    train, empty = np.flatnonzero(graph.labels >= 0), np.empty(0, int)
    made = CPGNNClassifier("trees", budget="fast").fit(graph, split=Split(train, empty, empty))
    blend, c = made.model_, graph.num_classes
    x = blend.inputs(made.scaler_(graph))

    def network(width: int, hidden: int = 5) -> Network:
        shapes = ((width, hidden), (hidden,), (hidden, c), (c,))
        return Network(*(rng.normal(0, 0.7, shape).astype(np.float32) for shape in shapes))

    relations = [*heard_relations(graph)]
    own = own_columns(x)
    fitted = LogisticRegression().fit(np.nan_to_num(np.asarray(own)[train]), graph.labels[train])
    priors = [*blend.priors, NetworkPrior("link", "rows", network(graph.num_nodes))]
    if np.isfinite(own).all():
        priors.append(EstimatorPrior("logistic", fitted, c))
    if graph.kinds is not None:
        priors.append(NetworkPrior("ties", "all_rows", network(graph.num_nodes, 4)))
        priors.append(NetworkPrior("further", "paths", network(graph.num_nodes, 3)))
        priors.append(NetworkPrior("shares", "weighed_rows", network(graph.num_nodes, 3)))
    if graph.features is None:
        priors.append(SpreadPrior("spread", c))
    else:
        wide = x.coordinates.shape[1]
        H = rng.normal(0, 0.5, (len(relations), c, c)).astype(np.float32)
        priors += [
            NetworkPrior("mlp", "own", network(graph.num_features)),
            NetworkPrior("ppr", "personalised", network(wide)),
            NetworkPrior("sgc", "smoothed", network(wide, 3)),
            TogetherPrior("together", tuple(relations), Together(network(graph.num_features), H)),
        ]
    M, R = len(priors), len(relations)

    def stage() -> Stage:
        H_bar = rng.normal(0, 0.3, (R, c, c))
        return Stage(rng.random(M), rng.normal(0, 0.1, c), H_bar)

    weights = Weights("log", 0.5) if graph.edge_types else Weights("none")
    made.model_ = replace(
        blend,
        edge_weights=Weights() if graph.features is None else weights,
        priors=tuple(priors),
        hears=tuple(Hearing(name, float(rng.choice([0, 0.5, 1]))) for name in relations),
        w_0=rng.random(M),
        stages=tuple(stage() for _ in range(3)),
    )
    if seed % 2:  # the mean of two, as the default is: priors of one name, relations heard once
        other = replace(made.model_, stages=tuple(stage() for _ in range(3)))
        made.model_ = mean_of([made.model_, other])
    made._own = None
    return made
