"""The order of nodes, of types and of kinds changes nothing that is heard or said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpgnn.blend.second_stage import fit_second_stage, in_every_world
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.graph import Graph
from cpgnn.relations.derived import heard_relations, relation_sets

ACCOUNTS, DEVICES, CLASSES = 30, 8, 2
N = ACCOUNTS + DEVICES

pytestmark = pytest.mark.filterwarnings("ignore::cpgnn.errors.GraphNotice")


def drawn(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Accounts pay accounts and use devices: ends [2, m], types [m], kinds [n], labels [n]."""
    rng = np.random.default_rng(seed)
    pays = rng.integers(0, ACCOUNTS, (2, 60))
    uses = np.stack([rng.integers(0, ACCOUNTS, 40), rng.integers(ACCOUNTS, N, 40)])
    types = np.repeat(np.array(["pays", "uses"], dtype=object), [60, 40])
    kinds = np.repeat(np.array(["account", "device"], dtype=object), [ACCOUNTS, DEVICES])
    labels = np.full(N, -1)
    labels[:ACCOUNTS] = rng.permutation(np.arange(ACCOUNTS) % CLASSES)
    return np.concatenate([pays, uses], axis=1), types, kinds, labels


def built(ends, types, kinds, labels) -> Graph:
    graph = Graph.from_edges(
        *ends, num_nodes=N, labels=labels, relation=types, directed=["pays"], class_names=[0, 1]
    )
    return graph.with_kinds(kinds)


def said(graph: Graph, worlds: Worlds, logs: np.ndarray, at: np.ndarray, names) -> np.ndarray:
    """Logits of a second stage on these relations; at: where each node of the first order is."""
    moved = np.empty_like(logs)
    moved[:, at] = logs
    relations = heard_relations(graph)
    P = [relations[name].propagator(0.5) for name in names]
    labels = np.empty_like(worlds.labels)
    labels[at] = worlds.labels
    there = replace(worlds, labels=labels, train=at[worlds.train], val=at[worlds.val])
    made = fit_second_stage([moved], P, there)
    return in_every_world(made, [moved], P, there)[:, at]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000))
def test_nodes_types_and_kinds_in_any_order(seed):
    ends, types, kinds, labels = drawn(seed)
    rng = np.random.default_rng(seed + 1)
    first = built(ends, types, kinds, labels)
    at, rows = rng.permutation(N), rng.permutation(len(types))
    back = np.argsort(at)
    calls = {"account": "z", "device": "y"}  # the other way round in the alphabet
    other = built(
        at[ends[:, rows]], types[rows], [calls[kind] for kind in kinds[back]], labels[back]
    )
    one, two = heard_relations(first), heard_relations(other)
    assert one.keys() == two.keys() == {"pays (out)", "pays (in)", "uses", "uses (shared)", "edges"}
    for name, relation in one.items():
        there = two[name].matrix.toarray()[np.ix_(at, at)]
        np.testing.assert_allclose(relation.matrix.toarray(), there, rtol=1e-6)
    assert set(relation_sets(first, one)) == set(relation_sets(other, two))

    known = np.arange(ACCOUNTS)
    worlds = Worlds.of(labels, CLASSES, known[:20], known[20:])
    logs = np.log(rng.dirichlet(np.ones(CLASSES), (worlds.num_worlds, N)).astype(np.float32))
    names = ["pays (out)", "pays (in)", "uses (shared)"]
    here = said(first, worlds, logs, np.arange(N), names)
    np.testing.assert_allclose(said(other, worlds, logs, at, names[::-1]), here, atol=2e-3)
