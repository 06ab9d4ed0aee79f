"""Predictions and matrices as tables."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from cpgnn.classifier import CPGNNClassifier
from cpgnn.evaluation.thresholds import Flag, flagged
from cpgnn.graph import Graph
from cpgnn.run.run import Run
from cpgnn.splits import Split

BASIS = "basis"


def predictions(
    classifier: CPGNNClassifier,
    graph: Graph | None = None,
    split: Split | None = None,
    nodes: np.ndarray | None = None,
) -> pd.DataFrame:
    """One row per node: id, class, label, split, and `p_<class>` for every class.

    Labels and `split` are those of the fit; in another graph, of the nodes that it shares. With
    `nodes`, only those at these positions. Of several kinds of nodes only the one that had labels
    in the fit. Where there are nodes without edges and features, a
    last column `basis` says "nothing known" of them: their probabilities are the shares of the
    classes among the training labels.
    """
    prediction = classifier.prediction(graph)
    fitted: Graph | None = getattr(classifier, "graph_", None)
    names = np.array([str(name) for name in classifier.classes_], dtype=object)
    where = np.arange(prediction.graph.num_nodes) if nodes is None else nodes
    where = where[prediction.graph.predicted[where]]
    ids, P = prediction.graph.node_ids[where].astype(str), prediction.probabilities[where]
    label = part = np.full(len(ids), "", dtype=object)
    if fitted is not None:
        at = where
        if graph is not None:  # -1, the empty last entry: a new node
            at = fitted.node_ids.astype(str).get_indexer(ids)
        label, part = (column[at] for column in _labels_and_parts(fitted, split))
    table = {"id": ids, "class": names[P.argmax(axis=1)], "label": label, "split": part}
    table |= {f"p_{name}": P[:, i] for i, name in enumerate(names)}
    nothing = prediction.nothing_known[where]
    if nothing.any():
        table[BASIS] = np.where(nothing, "nothing known", "")
    return pd.DataFrame(table)


def run_predictions(
    run: Run, graph: Graph | None = None, nodes: np.ndarray | None = None, flag: Flag | None = None
) -> pd.DataFrame:
    """`predictions` with a column `flagged` if there is a threshold, by default that of the run,
    and with columns `set` and `set_size` if the run has a promise to keep."""
    table, flag = predictions(run.classifier, graph, run.split, nodes), flag or run.flag
    table = table if flag is None else flagged(table, flag)
    if run.promise is None:
        return table
    sets = run.sets if graph is None else run.classifier.sets(run.promise, graph)
    assert sets is not None
    where = sets.node_ids.astype(str).get_indexer(table["id"])
    return table.assign(set=sets.texts()[where], set_size=sets.sizes[where])


def _labels_and_parts(graph: Graph, split: Split | None) -> tuple[np.ndarray, np.ndarray]:
    """The label and the part of the split of every node, as text, then an empty entry."""
    n = graph.num_nodes + 1
    own = np.array([str(name) for name in graph.class_names] + [""], dtype=object)
    part = np.full(n, "", dtype=object) if split is None else split.used_for(n)
    return np.append(own[graph.labels], ""), part


def review_list(table: pd.DataFrame, positive: str) -> pd.DataFrame:
    """The nodes without a label, most probably `positive` first: where to look next."""
    unlabelled = table[table["label"] == ""]
    ranked = unlabelled.sort_values([f"p_{positive}", "id"], ascending=[False, True])
    columns = ["rank", "id", "class", "flagged", f"p_{positive}"]
    ranked = ranked.assign(rank=np.arange(1, len(ranked) + 1))
    return ranked[[column for column in columns if column in ranked]]


def matrix_table(matrix: np.ndarray, class_names: list[str]) -> pa.Table:
    """A class matrix with the names of its rows in the first column; a class may be "class" too."""
    return pa.table([pa.array(class_names), *matrix.T], names=["class", *class_names])
