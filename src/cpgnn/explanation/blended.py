"""The terms of a blend's logits: own part, one for every neighbour, those two hops away."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cpgnn.blend.blend import Said
from cpgnn.relations.derived import is_far

MOST_FAR = 1_000_000
"""Nodes two hops away are told one by one up to so many terms in all, else in one sum a node."""


@dataclass(frozen=True, eq=False)
class BlendTerms:
    """Terms of s nodes, float64; m neighbours in all, those of the i-th node in rows
    pointer[i]:pointer[i + 1]."""

    parts: dict[str, np.ndarray]
    """[s, c] of each prior, without what neighbours say in it, and the base."""
    pointer: np.ndarray
    neighbours: np.ndarray
    """Positions, [m]."""
    relations: np.ndarray
    """Names, [m]."""
    weights: np.ndarray
    contributions: np.ndarray
    """[m, c]"""
    far: np.ndarray
    """[s, c]: what is said from two hops away, where it is told in one sum."""


def blend_terms(said: Said, where: np.ndarray) -> BlendTerms:
    """All terms of the logits of the nodes at `where`; they sum to `said.logits` exactly."""
    s, c = len(where), said.blend.num_classes
    far = np.zeros((s, c))
    found = []
    for relation in dict.fromkeys(one.relation for one in said.heard):
        if is_far(relation):
            entries = int(np.diff(said.inputs.relations[relation].matrix.indptr)[where].sum())
            if entries > MOST_FAR:
                far += said.sums(where, relation)
                continue
        rows, terms = said.terms(where, relation)
        owner = np.repeat(np.arange(s), np.diff(rows.indptr))
        names = np.full(len(terms), relation, dtype=object)
        found.append((owner, rows.indices, names, rows.data, terms))
    owner, neighbours, names, weights, terms = (np.concatenate(p) for p in zip(*found, strict=True))
    order = np.argsort(owner, kind="stable")
    pointer = np.concatenate([[0], np.cumsum(np.bincount(owner, minlength=s))])
    return BlendTerms(
        said.own_parts(where),
        pointer,
        neighbours[order],
        names[order],
        weights[order],
        terms[order],
        far,
    )
