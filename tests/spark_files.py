"""Random tables with everything that can occur, as Parquet files and as one machine reads them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cpgnn import Graph, read_graph

CLASSES = ("ash", "beech", "cedar", "date palm")


@dataclass(frozen=True)
class Files:
    """A random graph as Parquet files, and as one machine reads them, its nodes sorted by id."""

    edges: str
    labels: str
    features: str
    graph: Graph
    split: np.ndarray

    def given(self, spark):
        from cpgnn.spark import Given

        return Given.read(spark, self.edges, self.labels, self.features)


def random_files(
    folder: Path,
    seed: int,
    *,
    text: bool = False,
    weighted: bool = False,
    hub: int = 0,
    few: bool = False,
) -> Files:
    """Repeated and reversed rows, self-loops, weights of 0, isolated nodes, unknown labels, and a
    class whose labels are all for testing. Node 0 gets `hub` edges more. `few`: a path, labels at
    its start only, so that each hop of the receptive field adds something."""
    rng = np.random.default_rng(seed)
    n = 60 + hub
    u, v = rng.integers(0, 50, (2, 150))
    u, v = np.concatenate([u, v[:30], u[:20]]), np.concatenate([v, u[:30], v[:20]])
    u, v = np.concatenate([u, np.arange(60, n)]), np.concatenate([v, np.zeros(hub, int)])
    if few:
        u, v = np.arange(30), np.arange(1, 31)
    name = np.array([f"n {i:04d}é" for i in range(n)]) if text else np.arange(n) * 7 - 20
    edges = pd.DataFrame({"source": name[u], "target": name[v]})
    if weighted:
        edges["weight"] = np.where(rng.random(len(u)) < 0.1, 0.0, rng.random(len(u)) * 3)
    known = rng.permutation(n)[:40]
    label = np.array(CLASSES, dtype=object)[rng.integers(0, 3, 40)]
    split = np.where(rng.random(40) < 0.5, "train", np.where(rng.random(40) < 0.5, "val", "test"))
    label[:3], split[:3] = CLASSES[3], "test"
    label[3], split[3] = "", "train"
    if few:
        known, label, split = np.array([0, 1, 5]), label[:3], split[4:7]
    labels = pd.DataFrame({"id": name[known], "label": label, "split": split})
    X = rng.normal(2, 3, (n, 4)).astype(np.float32)
    features = pd.DataFrame(X, columns=[f"f.{i}" for i in range(4)])
    features.insert(0, "id", name)
    features = features.sample(frac=1, random_state=seed)
    paths = []
    for what, frame in (("edges", edges), ("labels", labels), ("features", features)):
        paths.append(str(folder / f"{what}.parquet"))
        frame.to_parquet(paths[-1], index=False)
    loaded = read_graph(*paths, directed=False)  # both ways may weigh differently: they add up
    ids = loaded.graph.node_ids
    order = np.argsort(ids.to_numpy() if text else ids.astype(int).to_numpy())
    graph = loaded.graph
    A = graph.adjacency[order][:, order]
    position = np.empty(n, int)
    position[order] = np.arange(n)
    ordered = Graph.from_scipy(
        A,
        features=graph.features[order],
        labels=graph.labels[order],
        class_names=graph.class_names,
        node_ids=ids[order],
        self_loops=np.sort(position[graph.self_loops]),
    )
    return Files(*paths, ordered, loaded.split[order])
