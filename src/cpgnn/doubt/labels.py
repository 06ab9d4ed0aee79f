"""Labels that are probably wrong: what the model, not knowing a label, would have said instead.

The label of a node is doubted as far as another class is likelier without it. Beliefs are out of
fold; the labels of the neighbours are heard through H:

    Q(v)_i ∝ P(v)_i · exp(λ · mean_u log Σ_j H_ij B̃(u)_j),

where B̃(u) is what is known of neighbour u: its label, softened, or the model's belief, and H_ij the
share of the edges of class i that lead to class j. (Not the doubly stochastic matrix, in which what
few thieves do is what everybody does.) The doubt is log max_{i ≠ y} Q(v)_i - log Q(v)_y, and a
neighbour contradicts a label if its term is for the other class.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.classifier import CPGNNClassifier
from cpgnn.doubt.folds import out_of_fold
from cpgnn.engine.arrays import class_sizes
from cpgnn.engine.formatting import quoted
from cpgnn.engine.text import in_a_cell, together
from cpgnn.evaluation.conformal import mean_around, strangeness, suits
from cpgnn.graph import Graph
from cpgnn.relations.derived import joining

STRENGTH = 1.0
"""λ; see benchmarks/label_errors.py."""
SOFT = 0.1
"""How much of a neighbour's label is taken to be wrong."""
NAMED = 5
"""Contradicting neighbours that are named at most."""
MOST_NAMED = 5
"""Such classes that a sentence names."""
MOST = 1 / 3
"""Where a larger share of a class's labels is contradicted, it is the model that is wrong."""
COLUMNS = ["rank", "id", "label", "suggested", "p_label", "p_suggested", "doubt", "against", "who"]


def review_labels(
    fitted: CPGNNClassifier,
    *,
    beliefs: tuple[np.ndarray, np.ndarray] | None = None,
    strength: float = STRENGTH,
    seed: int = 0,
) -> pd.DataFrame:
    """The labelled nodes whose label another class contradicts, most doubtful first.

    `beliefs`: nodes [m] and probabilities [m, c] out of fold; None: `out_of_fold`. Columns: rank,
    id, label, suggested, p_label and p_suggested (the share of belief each has), doubt (the log of
    their ratio), against (how many neighbours contradict the label) and who (the first of them,
    separated by "|"; an id that contains "|" or begins with a quotation mark stands there as JSON).
    """
    own = fitted.prediction()
    nodes, P_nodes = beliefs or out_of_fold(fitted, seed=seed)
    graph, P, H = own.graph, own.probabilities.copy(), fitted.edge_frequency_
    P[nodes] = P_nodes
    labelled = np.flatnonzero(graph.labels >= 0)
    known = P.copy()
    known[labelled] *= SOFT
    known[labelled, graph.labels[labelled]] += 1 - SOFT
    S, A = suits(known, H), joining(graph)
    Q = 1 - strangeness(P, mean_around(A, S), strength)[nodes]
    y, rows = graph.labels[nodes], np.arange(len(nodes))
    rest = Q.copy()
    rest[rows, y] = -1
    other = rest.argmax(axis=1)
    own, best = Q[rows, y], Q[rows, other]
    doubt = np.log(np.maximum(best, 1e-12)) - np.log(np.maximum(own, 1e-12))
    order = np.argsort(-doubt, kind="stable")
    order = order[doubt[order] > 0]
    names, ids = [str(name) for name in graph.class_names], graph.node_ids.astype(str)
    table = []
    for rank, k in enumerate(order, start=1):
        against = _against(A, S, nodes[k], int(y[k]), int(other[k]))
        who = "|".join(map(in_a_cell, ids[against[:NAMED]]))
        label, suggested = names[y[k]], names[other[k]]
        told = (float(own[k]), float(best[k]), float(doubt[k]), len(against), who)
        table.append((rank, ids[nodes[k]], label, suggested, *told))
    return pd.DataFrame(table, columns=COLUMNS)


def but_missed(table: pd.DataFrame, graph: Graph) -> tuple[pd.DataFrame, str]:
    """Doubtful labels without the classes that the model misses too often to doubt them; and which
    these are, in words."""
    sizes = class_sizes(graph.labels, graph.num_classes)
    doubted = table["label"].value_counts()
    named = dict(zip(map(str, graph.class_names), sizes.tolist(), strict=True))
    missed = [name for name, size in named.items() if doubted.get(name, 0) > MOST * size]
    if not missed:
        return table, ""
    each = [f"{quoted(name)} ({doubted[name]} of {named[name]})" for name in missed[:MOST_NAMED]]
    more = [f"{len(missed) - MOST_NAMED:,} more"] if len(missed) > MOST_NAMED else []
    words = (
        f"The model contradicts so many labels of {together([*each, *more])} that the model is "
        "more likely to be wrong than the labels."
    )
    return table[~table["label"].isin(missed)], words


def _against(A: sp.csr_array, S: np.ndarray, v: int, label: int, other: int) -> np.ndarray:
    """Neighbours of v whose term is for the other class, the strongest first."""
    start, end = A.indptr[v], A.indptr[v + 1]
    near = A.indices[start:end]
    terms = S[near, other] - S[near, label]
    order = np.argsort(-terms, kind="stable")
    return np.asarray(near[order][terms[order] > 0])
