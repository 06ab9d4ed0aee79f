"""A small graph whose names try to break out of the page, and a quick model for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

from cpgnn.classifier import CPGNNClassifier
from cpgnn.graph import Graph
from cpgnn.io import LoadedGraph

EVIL = "<script>alert(1)</script>"
NAMES = [EVIL, '"><img src=x onerror=alert(1)>', "</script><b>", "a&b 'c' *d*", "\u2028 line"]


def hostile_graph(nodes: int = 300, classes: int = 2, long: bool = False) -> LoadedGraph:
    """`nodes` nodes in a ring of classes, each joined to the next class; some are named NAMES."""
    rng = np.random.default_rng(0)
    y = np.arange(nodes) % classes
    jumps = 1 + classes * np.array([0, 3, 7])
    source, target = np.repeat(np.arange(nodes), 3), np.add.outer(np.arange(nodes), jumps).ravel()
    tail = "-of-a-very-long-name-without-any-blank" * 3 if long else ""
    ids = np.array([f"n{i}{tail}" for i in range(nodes)], dtype=object)
    ids[: len(NAMES)] = NAMES
    names = (EVIL, *(f"class{i}{tail}" for i in range(1, classes)))
    X = np.eye(classes)[y] + rng.standard_normal((nodes, classes))
    graph = Graph.from_edges(
        source,
        target % nodes,
        num_nodes=nodes,
        features=X.astype(np.float32),
        labels=y,
        class_names=names,
    )
    return LoadedGraph(replace(graph, node_ids=pd.Index(ids)), None)


def quick_classifier() -> CPGNNClassifier:
    return CPGNNClassifier("mlp", 1, pretrain_epochs=20, epochs=20, calibrate=True)
