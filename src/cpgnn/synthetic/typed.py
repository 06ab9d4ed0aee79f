"""Synthetic graphs with types of edges and directions, each with a given compatibility matrix.

In every type each node v sends m edges: a class is drawn by H_t[y_v], then any node of that class.
O(edges), whatever the number of types.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cpgnn.errors import GraphNotice, check_count, wrong_value
from cpgnn.graph import Graph
from cpgnn.reference import Labelled, as_class_sizes, inject_features
from cpgnn.synthetic.generate import as_compatibility


@dataclass(frozen=True, eq=False)
class Drawn:
    """How the edges of one type are drawn."""

    compatibility: Any
    """H_t [c, c], rows sum to 1: of the edges that class i sends, the share that class j gets. If
    the type is undirected, H_t should be symmetric and the classes equally large: what is seen from
    both ends is then H_t, too."""
    edges_per_node: int = 6
    directed: bool = False


def generate_typed_graph(
    class_sizes: Sequence[int],
    types: Mapping[str, Drawn],
    seed: int = 0,
    reference: Labelled | None = None,
) -> Graph:
    """A graph with these types of edges, all nodes labelled.

    class_sizes: N, nodes in each of the c classes. `reference`: features to inject, as in
    `generate_graph`. An edge drawn twice is there once.
    """
    sizes = as_class_sizes(class_sizes)
    if not types:
        raise wrong_value("types", "name at least one type of edges", "none")
    c, n = len(sizes), int(sizes.sum())
    structure, injection = np.random.default_rng(check_count("seed", seed, least=0)).spawn(2)
    labels = structure.permutation(np.repeat(np.arange(c), sizes))
    by_class, start = np.argsort(labels, kind="stable"), np.cumsum(sizes) - sizes
    ends, names = [], []
    for name, drawn in types.items():
        if not hasattr(drawn, "compatibility"):
            hint = f"Try {{{name!r}: Drawn(H)}}."
            raise wrong_value("types", "say how each is Drawn", type(drawn).__name__, hint)
        H = as_compatibility(drawn.compatibility, c)
        check_count("edges_per_node", drawn.edges_per_node, least=1)
        source = np.repeat(np.arange(n), drawn.edges_per_node)
        bounds = np.cumsum(H, axis=1)[labels[source], :-1]
        to_class = (structure.random(len(source))[:, None] >= bounds).sum(axis=1)
        place = (structure.random(len(source)) * sizes[to_class]).astype(np.int64)
        ends.append(np.stack([source, by_class[start[to_class] + place]]))
        names += [name] * len(source)
    edges = np.concatenate(ends, axis=1)
    kept = edges[0] != edges[1]
    with warnings.catch_warnings(action="ignore", category=GraphNotice):
        return Graph.from_edges(
            *edges[:, kept],
            num_nodes=n,
            features=None if reference is None else inject_features(reference, labels, injection),
            labels=labels,
            class_names=range(c),
            relation=np.array(names, dtype=object)[kept],
            directed=[name for name, drawn in types.items() if drawn.directed],
        )


def moved(H: np.ndarray, places: int, *, directed: bool) -> np.ndarray:
    """H with its preferences moved on by so many classes, to make types that differ.

    Directed: class i sends to j what it sent to j − places. Otherwise mirrored, so that it stays
    symmetric if H depends on the distance of two classes on a circle: H[i, places − j].
    """
    if not places:
        return H
    j = np.arange(len(H))
    return H[:, (j - places if directed else places - j) % len(H)]
