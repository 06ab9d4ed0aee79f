"""Generated graphs with several kinds of nodes and few labels, as those of HeCo's data sets.

python kinds.py GRAPH SEED    # GRAPH: authors | papers | movies | words; a line for each pull

What `selection.blending.PULLS` was chosen by: the priors are fitted once, the second stage with the
usual pull on their weights, with the firm one, and with both to choose from. 20 labels a class
train, 1,000 choose; the loss on all other nodes stands beside the honest loss, which decides.
"""

from __future__ import annotations

import json
import sys
import warnings
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from cpgnn import Graph
from cpgnn.engine.arrays import labels_of
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.relations.kinds import as_kinds
from cpgnn.selection import blending
from cpgnn.selection.portfolio import fit_members

LABELS, CHOOSING = 20, 1_000


@dataclass
class Drawn:
    """Nodes of several kinds, each with a topic; topics belong to classes in turn."""

    rng: np.random.Generator
    classes: int
    topics: int
    topic: list[np.ndarray] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    edges: list[tuple[np.ndarray, np.ndarray, str]] = field(default_factory=list)

    def nodes(self, kind: str, number: int) -> np.ndarray:
        first = len(self.kinds)
        self.topic.append(self.rng.integers(0, self.topics, number))
        self.kinds += [kind] * number
        return np.arange(first, first + number)

    def joined(
        self, name: str, source: np.ndarray, kind: np.ndarray, own: float, alike: float
    ) -> None:
        """From each source an edge to one of `kind`: of its topic, of its class, or to anybody;
        the k-th most popular is chosen as k^-½."""
        topic = np.concatenate(self.topic)
        popular = 1 / np.sqrt(1 + self.rng.permutation(len(kind)))
        way = np.searchsorted([own, own + alike], self.rng.random(len(source)))
        target = np.empty(len(source), dtype=np.int64)
        of = np.stack([topic, topic % self.classes, np.zeros_like(topic)])
        for how in range(3):
            for value in np.unique(of[how, source]):
                here = (way == how) & (of[how, source] == value)
                there = of[how, kind] == value
                pool = kind[there] if there.any() else kind
                p = popular[there] if there.any() else popular
                target[here] = self.rng.choice(pool, int(here.sum()), p=p / p.sum())
        self.edges.append((source, target, name))

    def graph(self, features: np.ndarray | None = None) -> Graph:
        """Labels on the first kind."""
        n, first = len(self.kinds), self.kinds[0]
        labels = np.concatenate(self.topic) % self.classes
        labels[np.array(self.kinds) != first] = -1
        ends = (np.concatenate(column) for column in zip(*(e[:2] for e in self.edges), strict=True))
        names = np.concatenate([np.full(len(u), name, dtype=object) for u, _, name in self.edges])
        X = None
        if features is not None:
            X = sp.csr_array((n, features.shape[1]), dtype=np.float32).tolil()
            X[: len(features)] = features
            X = sp.csr_array(X)
        graph = Graph.from_edges(*ends, num_nodes=n, features=X, labels=labels, relation=names)
        described = [] if features is None else [first]
        return replace(graph, kinds=as_kinds(self.kinds, n, described))


def authors(rng: np.random.Generator) -> Graph:
    """Authors are predicted; venues and terms, which tell, are two edges away."""
    d = Drawn(rng, classes=4, topics=12)
    people, papers = d.nodes("author", 4_000), d.nodes("paper", 14_000)
    terms, venues = d.nodes("term", 7_000), d.nodes("venue", 20)
    some = rng.choice(papers, 5_000)
    d.joined("written by", np.concatenate([papers, some]), people, 0.6, 0.15)
    d.joined("appeared in", papers, venues, 0.4, 0.4)
    d.joined("has term", np.repeat(papers, 6), terms, 0.2, 0.15)
    return d.graph()


def papers(rng: np.random.Generator) -> Graph:
    """Papers with authors and references."""
    d = Drawn(rng, classes=4, topics=60)
    paper, people = d.nodes("paper", 6_500), d.nodes("author", 13_000)
    references = d.nodes("reference", 36_000)
    d.joined("written by", np.repeat(paper, 1 + rng.poisson(1.75, len(paper))), people, 0.55, 0.15)
    d.joined("refers to", np.repeat(paper, rng.geometric(1 / 9, len(paper))), references, 0.35, 0.2)
    return d.graph()


def movies(rng: np.random.Generator) -> Graph:
    """Movies with directors, many actors, and writers."""
    d = Drawn(rng, classes=3, topics=45)
    movie, directors = d.nodes("movie", 3_500), d.nodes("director", 2_500)
    actors, writers = d.nodes("actor", 33_000), d.nodes("writer", 4_500)
    d.joined("directed by", movie, directors, 0.45, 0.2)
    d.joined("with actor", np.repeat(movie, 1 + rng.poisson(17.7, len(movie))), actors, 0.2, 0.1)
    d.joined("written by", np.repeat(movie, rng.poisson(1.8, len(movie))), writers, 0.4, 0.15)
    return d.graph()


def words(rng: np.random.Generator) -> Graph:
    """Movies with words, directors and actors."""
    d = Drawn(rng, classes=3, topics=15)
    movie, directors = d.nodes("movie", 4_300), d.nodes("director", 2_100)
    actors = d.nodes("actor", 5_300)
    d.joined("directed by", movie, directors, 0.4, 0.2)
    d.joined("with actor", np.repeat(movie, 3), actors, 0.25, 0.15)
    of_word = rng.integers(0, 15, 1_500)
    strange = np.where(of_word == d.topic[0][:, None], 0.03, 0.008)
    return d.graph((rng.random(strange.shape) < strange).astype(np.float32))


def compare(name: str, seed: int) -> None:
    rng = np.random.default_rng(seed)
    graph = {"authors": authors, "papers": papers, "movies": movies, "words": words}[name](rng)
    y, c = graph.labels, graph.num_classes
    train = np.concatenate(
        [rng.choice(np.flatnonzero(y == j), LABELS, replace=False) for j in range(c)]
    )
    rest = rng.permutation(np.setdiff1d(np.flatnonzero(y >= 0), train))
    val, test = rest[:CHOOSING], rest[CHOOSING:]
    hidden = np.full_like(y, -1)
    hidden[train], hidden[val] = y[train], y[val]
    scaled = FeatureScaler.fit(graph, "auto")(graph.with_labels(hidden, graph.class_names))
    worlds = Worlds.of(hidden, c, train, val)
    x = blending._inputs(scaled, labels_of(hidden, train), 0)
    members = fit_members(x, worlds)
    logs, usual, firm = [member.logs for member in members], *blending.PULLS
    for pulls in (usual,), (firm,), (usual, firm):
        blending.PULLS = pulls
        chosen = blending.choose(members, x, worlds, None)
        R = blending.in_every_world(chosen.second, logs, chosen.propagators(x), worlds)[-1][test]
        loss = np.log(np.exp(R).sum(axis=1)) - R[np.arange(len(test)), y[test]]
        line = {"graph": name, "seed": seed, "pulls": [vars(pull) for pull in pulls]}
        line |= {"honest loss": round(-chosen.merit, 4), "loss": round(float(loss.mean()), 4)}
        line |= {"accuracy": round(float((R.argmax(axis=1) == y[test]).mean()), 4)}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    compare(sys.argv[1], int(sys.argv[2]))
