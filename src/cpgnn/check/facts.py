"""What `cpgnn stats` says about a graph: sizes, degrees, homophily, which classes connect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cpgnn.engine.arrays import class_sizes
from cpgnn.graph import Graph
from cpgnn.homophily import class_edge_counts, relation_matrices, row_normalized, sent
from cpgnn.relations.derived import shared


@dataclass(frozen=True, eq=False)
class Stats:
    """Numbers for classes and for degrees; nothing of the size of the graph."""

    nodes: int
    edges: int
    """Undirected edges, self-loops not counted."""
    weighted: bool
    self_loops: int
    """Nodes with a self-loop."""
    features: int
    degrees: np.ndarray
    """[d, 2]: a number of neighbours, and how many nodes have it; ascending."""
    class_names: tuple[str, ...]
    class_sizes: np.ndarray
    """Labelled nodes of every class, [c]."""
    class_edges: np.ndarray
    """YᵀAY, [c, c]: see `cpgnn.homophily.class_edge_counts`."""
    class_loops: np.ndarray
    """Labelled nodes of every class with a self-loop, [c]."""
    class_edge_numbers: np.ndarray | None = None
    """`class_edges` with every edge counted once, whatever its weight; None if not counted."""
    relations: Mapping[str, np.ndarray] = field(default_factory=dict)
    """H_r [c, c] of every type, direction and kind of shared node by which labels meet."""

    @classmethod
    def of(cls, graph: Graph) -> Stats:
        neighbours, nodes = np.unique(graph.num_neighbours, return_counts=True)
        c, loops = graph.num_classes, graph.labels[graph.self_loops]
        return cls(
            nodes=graph.num_nodes,
            edges=graph.num_edges,
            weighted=graph.is_weighted,
            self_loops=len(graph.self_loops),
            features=graph.num_features or 0,
            degrees=np.stack([neighbours, nodes], axis=1).astype(np.int64),
            class_names=tuple(map(str, graph.class_names)),
            class_sizes=class_sizes(graph.labels, c),
            class_edges=class_edge_counts(graph),
            class_edge_numbers=class_edge_counts(graph, by_weight=False),
            class_loops=class_sizes(loops, c),
            relations=_relations(graph),
        )

    @property
    def isolated(self) -> int:
        return int(self.degrees[self.degrees[:, 0] == 0, 1].sum())

    @property
    def labelled(self) -> int:
        return int(self.class_sizes.sum())

    def degree_quantile(self, q: float, *, isolated: bool = True) -> float:
        """The q-quantile of the numbers of neighbours, as NumPy interpolates it."""
        degrees = self.degrees if isolated else self.degrees[self.degrees[:, 0] > 0]
        if not len(degrees):
            return float("nan")
        below = np.cumsum(degrees[:, 1])
        place = q * (below[-1] - 1)
        low, high = (
            degrees[np.searchsorted(below, at, side="right"), 0]
            for at in (int(np.floor(place)), int(np.ceil(place)))
        )
        return float(low + (high - low) * (place - np.floor(place)))

    def homophily_ratio(self, *, self_loops: bool = False, by_weight: bool = True) -> float:
        """h, Definition 1, of the weight or of the number of edges; NaN without any evidence."""
        counted = self.class_edges if by_weight else self.class_edge_numbers
        if counted is None:
            return float("nan")
        C = counted + (2.0 * np.diag(self.class_loops) if self_loops else 0.0)
        return float(np.trace(C) / C.sum()) if C.sum() else float("nan")

    def compatibility_matrix(self) -> np.ndarray:
        """H, Definition 2; rows without evidence are NaN."""
        return row_normalized(self.class_edges)


def _relations(graph: Graph) -> dict[str, np.ndarray]:
    found = relation_matrices(graph) if graph.edge_types else {}
    if graph.kinds is not None and not graph.predicted.all():
        for one in filter(None, (shared(kind, graph.predicted) for kind in graph.types)):
            C = sent(one.matrix, graph.labels, graph.num_classes)
            found[one.name] = row_normalized(C)
    return {name: H for name, H in found.items() if not np.isnan(H).all()}
