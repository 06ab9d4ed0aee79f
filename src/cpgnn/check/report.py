"""`check`: what is wrong or risky in a graph before anything is trained, and whether it helps."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import chain
from typing import Any

import numpy as np

from cpgnn.check.columns import constant_columns, given_away, missing_features
from cpgnn.check.compare import Comparison
from cpgnn.check.compare import compare as with_and_without
from cpgnn.check.counted import counted
from cpgnn.check.facts import Stats
from cpgnn.check.finding import Finding, worst_first
from cpgnn.check.independence import Independence
from cpgnn.check.labels import left_out, rare_positive
from cpgnn.check.names import class_names, similar_ids
from cpgnn.check.relations import RelationWorth, relation_worths
from cpgnn.check.sampling import unlike_the_rest
from cpgnn.check.structure import edge_rows, parts, weights
from cpgnn.check.times import one_sided
from cpgnn.check.twins import repeated_nodes
from cpgnn.engine.arrays import labels_of
from cpgnn.engine.loop import Begin, expect
from cpgnn.engine.records import plain
from cpgnn.graph import Graph
from cpgnn.homophily import (
    adjusted_homophily,
    homophily_ratio,
    label_informativeness,
    node_homophily,
)
from cpgnn.io import LoadedGraph
from cpgnn.run.fit import choose_split
from cpgnn.splits import Split, stratified_split


@dataclass(frozen=True)
class Homophily:
    """How far edges join like with like; NaN where no edge joins two labelled nodes.

    Of the weight of the edges, or of their number.
    """

    edge_homophily: float
    """Share of edges, or of their weight, within a class."""
    node_homophily: float
    """Mean share of a node's neighbours that have its class."""
    adjusted_homophily: float
    """0 if edges ignore the classes, 1 if they always stay within one."""
    label_informativeness: float
    """How much a neighbour's class tells about a node's, from 0 to 1, the same or another."""

    @classmethod
    def of(cls, graph: Graph, *, by_weight: bool = True) -> Homophily:
        measures = homophily_ratio, node_homophily, adjusted_homophily, label_informativeness
        return cls(*(measure(graph, by_weight=by_weight) for measure in measures))


@dataclass(frozen=True)
class CheckReport:
    """What `check` found, worst first, and what the graph is worth."""

    nodes: int
    edges: int
    classes: int
    labelled: int
    features: int
    labelled_edges: int
    """Edges that join two labelled nodes: what homophily is counted on."""
    findings: tuple[Finding, ...]
    homophily: Homophily
    """Of the number of edges."""
    independence: Independence | None
    """Whether the classes depend on the edges at all; None without labels to tell by."""
    comparison: Comparison | None
    not_compared: str = ""
    """Why there is no comparison."""
    homophily_by_weight: Homophily | None = None
    """Of the weight of the edges; None if they have none."""
    relations: tuple[RelationWorth, ...] = ()
    """What each relation tells, the most first; none if there is only one."""

    @property
    def clean(self) -> bool:
        """Neither a problem nor a risk was found; notes do not count."""
        return not any(finding.counts for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        sizes = ("nodes", "edges", "classes", "labelled", "features", "labelled_edges")
        found = ("findings", "homophily", "homophily_by_weight", "relations")
        return {
            "clean": self.clean,
            "graph": {name: getattr(self, name) for name in sizes},
            **plain({name: getattr(self, name) for name in found}),
            "independence": self.independence and self.independence.to_dict(),
            "comparison": self.comparison and self.comparison.to_dict(),
            "not_compared": self.not_compared or None,
        }


def find(
    graph: Graph,
    split: Split | None = None,
    *,
    rows: np.ndarray | None = None,
    undirected: bool = False,
    seed: int = 0,
) -> tuple[Finding, ...]:
    """What is wrong or risky in this graph, worst first; arguments as in `check`."""
    border = split or _border(graph, seed)
    found = (
        () if rows is None else edge_rows(graph, rows, undirected=undirected),
        counted(Stats.of(graph), graph),
        weights(graph),
        parts(graph),
        similar_ids(graph),
        class_names(graph),
        () if split is None else left_out(graph, split),
        unlike_the_rest(graph),
        constant_columns(graph),
        given_away(graph),
        () if border is None else repeated_nodes(graph, border),
    )
    return worst_first(chain.from_iterable(found))


def check(
    graph: Graph,
    split: Split | None = None,
    *,
    rows: np.ndarray | None = None,
    undirected: bool = False,
    compare: bool = True,
    positive: str | None = None,
    seed: int = 0,
    begin: Begin | None = None,
) -> CheckReport:
    """What is wrong or risky in this graph, worst first, and whether its edges help.

    split: which labels train and which test. Without one, the border is drawn as `cpgnn fit`
        would draw it with this seed: a fifth of every class is test.
    rows: the edges as a file lists them, positions [2, m], and a third row with codes of their
        types, if any; a `Graph` no longer knows which were repeated or one-directional.
    undirected: it is known that their direction says nothing.
    compare: train briefly with and without the graph. Neither this nor the test of independence
        looks at test labels.
    positive: the class that is looked for. The comparison is then by its average precision, as it
        is by default if one class is rare: under 5 % of the labels.
    """
    target, found = rare_positive(graph, positive)
    if begin is not None:
        expect(begin, 1)
        begin("looking", 1)
    usable = np.empty(0, dtype=np.int64)
    if (border := split or _border(graph, seed)) is not None:
        usable = np.concatenate([border.train, border.val])
        usable = usable[graph.labels[usable] >= 0]
    known = labels_of(graph.labels, usable)
    independence = Independence.of(graph, usable, seed=seed)
    outcome: Comparison | str = "it was turned off"
    if compare:
        speaks = independence is not None and independence.speaks
        outcome = with_and_without(
            graph, usable, positive=target, graph_speaks=speaks, seed=seed, begin=begin
        )
    labelled = np.flatnonzero(graph.labels >= 0)
    listed: dict[str, Any] = {"rows": rows, "undirected": undirected}
    return CheckReport(
        nodes=graph.num_nodes,
        edges=graph.num_edges,
        classes=graph.num_classes,
        labelled=len(labelled),
        features=graph.num_features or 0,
        labelled_edges=graph.adjacency[labelled][:, labelled].nnz // 2,
        findings=worst_first([*found, *find(graph, split, seed=seed, **listed)]),
        homophily=Homophily.of(graph, by_weight=False),
        homophily_by_weight=Homophily.of(graph) if graph.is_weighted else None,
        relations=relation_worths(graph.with_labels(known, graph.class_names)),
        independence=independence,
        comparison=None if isinstance(outcome, str) else outcome,
        not_compared=outcome if isinstance(outcome, str) else "",
    )


def check_loaded(loaded: LoadedGraph, *, seed: int = 0, **options: Any) -> CheckReport:
    """`check` of a graph as its files describe it, with the split that they name; `options` are
    others of its arguments."""
    split = None
    if loaded.split is not None and _has_two_classes(loaded.graph):
        split = choose_split(loaded, test=0.2, validation=0.0, seed=seed)
    listed: dict[str, Any] = {"rows": loaded.rows, "undirected": loaded.undirected}
    report = check(loaded.graph, split, seed=seed, **listed, **options)
    more = [*missing_features(loaded), *one_sided(loaded)]
    return replace(report, findings=worst_first([*more, *report.findings]))


def _border(graph: Graph, seed: int) -> Split | None:
    """The split that `fit` would draw; None where there are no two classes."""
    if not _has_two_classes(graph):
        return None
    return stratified_split(graph.labels, validation=0.0, test=0.2, seed=seed)


def _has_two_classes(graph: Graph) -> bool:
    return len(np.unique(graph.labels[graph.labels >= 0])) > 1
