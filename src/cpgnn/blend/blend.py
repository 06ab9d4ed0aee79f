"""A blend: several priors and one matrix for every relation, summed in log-odds.

    logits_v = Σ_m w_m log B_m(v) + b + Σ_r Σ_u P_r(v, u) (B(u) − 1/c) H̄_r

B(u) is the label where u's trained the model, else what the blend itself believed a round earlier.
It is the equation that `second_stage` fits, kept with all it needs to speak about any graph.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.blend.second_stage import Hearers, Stage, beliefs
from cpgnn.engine.text import count
from cpgnn.errors import BeliefOverflowError, notify
from cpgnn.graph import Graph
from cpgnn.priors.inputs import Basis, Inputs
from cpgnn.priors.members import Heard, Prior, TogetherPrior
from cpgnn.relations.derived import with_columns_of_others
from cpgnn.relations.edge_weights import RAW, Weights
from cpgnn.relations.relation import TWO_HOPS

LEAST = 0.005
"""A weight that is not 0.00."""


@dataclass(frozen=True)
class Hearing:
    """A relation that is heard, and the exponent γ of P = D^-γ A."""

    relation: str
    gamma: float


@dataclass(frozen=True, eq=False)
class Blend:
    """Fitted priors, fitted rounds of the second stage, and the labels that they know."""

    priors: tuple[Prior, ...]
    hears: tuple[Hearing, ...]
    w_0: np.ndarray
    """[M]: how the priors are weighed before anybody is heard."""
    stages: tuple[Stage, ...]
    basis: Basis
    labels: np.ndarray
    """[nodes of the fit]: those that trained it, -1 elsewhere."""
    num_classes: int
    edge_weights: Weights = RAW
    """What is made of the weights of edges, in every graph."""

    def inputs(self, scaled: Graph, known: np.ndarray | None = None) -> Inputs:
        """What the priors read of a graph; `known` says where its nodes stand in that of the fit
        (None: they are the same)."""
        n = len(self.labels)
        known = np.arange(n) if known is None else known
        labels = np.where(known >= 0, self.labels[known], -1)
        weighed = with_columns_of_others(self.edge_weights(scaled))
        return Inputs(weighed, self.basis, known, n, labels)

    @np.errstate(over="ignore", invalid="ignore")  # told below
    def said(self, x: Inputs) -> Said:
        """Everything the blend says about a graph."""
        logs = [x.uniform_elsewhere(prior.log_beliefs(x)) for prior in self.priors]
        P = [Hearers.of(x.propagator(one.relation, one.gamma)) for one in self.hears]
        known = np.flatnonzero(x.labels >= 0)
        one_hot = np.eye(self.num_classes, dtype=np.float32)[x.labels[known]]
        logits = Stage.before(self.w_0, self.num_classes)(logs, ())
        for stage in self.stages:
            B = beliefs(logits)
            B[known] = one_hot
            logits = stage.everywhere(logs, P, B)
        if lost := int((~np.isfinite(logits)).any(axis=1).sum()):
            raise BeliefOverflowError(
                f"Beliefs of {count(lost, 'node')} must be finite. Got infinite ones. "
                "Look for very large numbers in the features, or fit again."
            )
        return Said(self, x, tuple(logs), B, logits)

    @property
    def stage(self) -> Stage:
        """The last round: what logits are made of."""
        return self.stages[-1]

    @property
    def weights(self) -> dict[str, float]:
        """How much the priors of each name count."""
        found: dict[str, float] = {}
        for prior, w in zip(self.priors, self.stage.w, strict=True):
            found[prior.name] = found.get(prior.name, 0.0) + float(w)
        return found

    def __str__(self) -> str:
        w = self.weights
        priors = " + ".join(
            f"{w[n]:.2f} {n}" for n in sorted(w, key=lambda n: -w[n]) if w[n] >= LEAST
        )
        own = (
            p.relations for p in self.priors if isinstance(p, TogetherPrior) and w[p.name] >= LEAST
        )
        heard = dict.fromkeys([*(hears.relation for hears in self.hears), *chain(*own)])
        return f"{priors or 'no prior'}; {', '.join(heard)}"


@dataclass(frozen=True, eq=False)
class Said:
    """What a blend says about the n nodes of a graph."""

    blend: Blend
    inputs: Inputs
    log_beliefs: tuple[np.ndarray, ...]
    """[n, c] of each prior."""
    beliefs: np.ndarray
    """B [n, c] that neighbours speak with."""
    logits: np.ndarray

    @cached_property
    def heard(self) -> list[Heard]:
        """Everything neighbours say: in the second stage, and in priors that hear them."""
        stage = self.blend.stage
        found = [
            Heard(hears.relation, hears.gamma, self.beliefs, H_bar)
            for hears, H_bar in zip(self.blend.hears, stage.H_bar, strict=True)
        ]
        for prior, w in zip(self.blend.priors, stage.w, strict=True):
            if w:
                found += [
                    Heard(one.relation, one.gamma, one.beliefs, w * one.H_bar)
                    for one in prior.heard(self.inputs)
                ]
        return found

    def propagator(self, one: Heard) -> sp.csr_array:
        return self.inputs.propagator(one.relation, one.gamma)

    def own_parts(self, where: np.ndarray) -> dict[str, np.ndarray]:
        """[s, c] of the priors of each name, without what neighbours say in them, and the base;
        float64."""
        stage = self.blend.stage
        parts = {"base": np.tile(stage.b, (len(where), 1))}
        for m, prior in enumerate(self.blend.priors):
            if stage.w[m]:
                part = stage.w[m] * self.own_part(m, where)
                parts[prior.name] = parts.get(prior.name, 0.0) + part
        return parts

    def own_part(self, m: int, where: np.ndarray) -> np.ndarray:
        """[s, c]: the m-th prior by itself, without what neighbours say in it; float64."""
        part = self.log_beliefs[m][where].astype(np.float64)
        for one in self.blend.priors[m].heard(self.inputs):
            part -= _said_to(self.propagator(one)[where], one)
        return part

    def terms(self, where: np.ndarray, relation: str) -> tuple[sp.csr_array, np.ndarray]:
        """Rows `where` of the relation's matrix, and what each entry of it says, [entries, c]."""
        rows = self.inputs.relations[relation].matrix[where]
        total = np.zeros((rows.nnz, self.blend.num_classes))
        for one in self.heard:
            if one.relation == relation:
                P = self.propagator(one)[where]
                speech = (one.beliefs - 1 / self.blend.num_classes) @ one.H_bar
                total += P.data[:, None] * speech[P.indices]
        return rows, total

    def sums(self, where: np.ndarray, relation: str) -> np.ndarray:
        """[s, c]: all that the nodes at `where` hear over a relation."""
        total = np.zeros((len(where), self.blend.num_classes))
        for one in self.heard:
            if one.relation == relation:
                total += _said_to(self.propagator(one)[where], one)
        return total

    def H_bar(self, relation: str | None = None) -> np.ndarray:
        """H̄ [c, c] of all that is heard over a relation: how a node's logits move, on average, when
        all its neighbours are of one class; None: over all of them but two hops. Centred: what adds
        to all classes alike says nothing.
        """
        total = np.zeros((self.blend.num_classes,) * 2)
        for one in self.heard:
            if one.relation == relation or (relation is None and one.relation != TWO_HOPS):
                reach = np.asarray(self.propagator(one).sum(axis=1))
                total += (reach[reach > 0].mean() if (reach > 0).any() else 0.0) * one.H_bar
        centred: np.ndarray = total - total.mean(axis=0) - total.mean(axis=1, keepdims=True)
        return centred + total.mean()

    def evidence(self) -> dict[str, float]:
        """Shares of the evidence: own part and each relation, by the mean size of their terms."""
        everyone = np.arange(len(self.logits))
        parts = {"own": sum(self.own_parts(everyone).values(), np.zeros(1))}
        for one in self.heard:
            said = _said_to(self.propagator(one), one)
            parts[one.relation] = parts.get(one.relation, np.zeros(1)) + said
        sizes = {name: _size(part) for name, part in parts.items()}
        total = sum(sizes.values()) or 1.0
        return {name: size / total for name, size in sizes.items()}


def _said_to(P: sp.csr_array, one: Heard) -> np.ndarray:
    """What the rows of P hear, [rows, c], float64."""
    speech = (one.beliefs - 1 / one.beliefs.shape[1]) @ one.H_bar
    return np.asarray(P @ speech, dtype=np.float64)


def _size(terms: np.ndarray) -> float:
    """Mean norm over nodes, of what differs between classes."""
    centred = terms - terms.mean(axis=1, keepdims=True)
    return float(np.sqrt((centred**2).sum(axis=1)).mean())


def known_nodes(graph: Graph, ids: pd.Index, fitted: Graph | str | None) -> np.ndarray:
    """Where each node of a later graph stands among the `ids` of the fit, -1 if it is new.

    Nodes that nobody named are only numbers: they are taken for the nodes of the fit where the
    later graph begins with all the edges that the fit had, else for strangers. Of a model loaded
    without its graph, the `edges_hash` is known: then it must begin with exactly these.
    """
    n, new = len(ids), graph.node_ids
    if not unnamed(ids):
        if ids.dtype != new.dtype:
            ids, new = (index.astype(str).astype(object) for index in (ids, new))
        return np.asarray(ids.get_indexer(new))
    nobody = np.full(graph.num_nodes, -1)
    numbered = pd.api.types.is_integer_dtype(new) and np.array_equal(new, np.arange(len(new)))
    if not numbered or graph.num_nodes < n:
        return nobody
    if _begins_with(graph.adjacency[:n, :n], fitted):
        nobody[:n] = np.arange(n)
    elif not isinstance(fitted, Graph):
        notify(
            f"All {graph.num_nodes:,} nodes are taken for new ones: nodes without names are those "
            f"of the fit if the edges among the first {n:,} are the same. Load the model with its "
            "graph, or name the nodes and fit again."
        )
    return nobody


def _begins_with(A: sp.csr_array, fitted: Graph | str | None) -> bool:
    """Whether A has the edges of the fit, or exactly these where only their hash is known."""
    if not isinstance(fitted, Graph):
        return edges_hash(A) == fitted
    return bool((fitted.adjacency != 0).multiply(A != 0).nnz == fitted.adjacency.nnz)


def edges_hash(A: sp.csr_array) -> str:
    """A hash of who is joined, whatever the weights."""
    ends = sp.csr_array(A != 0).sorted_indices()
    parts = (part.astype(np.int64).tobytes() for part in (ends.indptr, ends.indices))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def unnamed(ids: pd.Index) -> bool:
    """Whether nobody named the nodes: they are 0 … n-1 by default."""
    return isinstance(ids, pd.RangeIndex) and ids.start == 0 and ids.step == 1
