"""An explanation: the logits of nodes, term by term, as arrays, as tables and in words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn.engine.arrays import Matrix
from cpgnn.engine.formatting import Counted
from cpgnn.engine.records import plain
from cpgnn.engine.text import count
from cpgnn.explanation.features import Features
from cpgnn.explanation.sentences import sentences
from cpgnn.explanation.terms import terms
from cpgnn.io import atomic_write, write_table
from cpgnn.io.files import StrPath
from cpgnn.io.presence import EXPLANATIONS, check_ending
from cpgnn.relations.relation import EDGES

MOST = 10
"""Nodes that are put into words."""
PRIOR, NEIGHBOUR, RETURNING, FAR = "prior", "neighbour", "returning", "two hops"


@dataclass(frozen=True, eq=False)
class Explanation:
    """The logits of s nodes as sums: prior + returning + far + Σ contributions = logits, exactly.

    c classes; m neighbours in all, those of the i-th node are rows pointer[i]:pointer[i + 1].
    Terms are float64 and `logits` the model's own, so the two differ by its rounding alone.
    """

    node_ids: np.ndarray
    """The owner's name of every explained node, [s]."""
    class_names: tuple[str, ...]
    logits: np.ndarray
    """The model's own, [s, c]."""
    probabilities: np.ndarray
    """What the model predicts, [s, c]."""
    prior: np.ndarray
    """The node's own part, [s, c]: log-odds of a blend; the prior's probabilities, or its logits
    where num_layers is 0."""
    returning: np.ndarray
    """Walks that start at the node and come back to it: its own prior as an echo, [s, c]."""
    pointer: np.ndarray
    """[s + 1]"""
    neighbours: np.ndarray
    """Names of the neighbours, [m]."""
    weights: np.ndarray
    """Weights of the edges to them, [m]."""
    contributions: np.ndarray
    """What arrives through each neighbour, [m, c]."""
    looks_like: np.ndarray
    """The class with each neighbour's highest belief before the last step, as an index, -1 for a
    kind of nodes without classes, [m]."""
    labels: np.ndarray
    """The node's label as an index, -1 = unknown, [s]."""
    used_for: np.ndarray
    """What that label served for in fitting: "train", "val", "test"; "" if none or unknown, [s]."""
    neighbour_labels: np.ndarray
    """[m]"""
    edge_frequency: np.ndarray
    """The share of class i's edges that lead to class j, [c, c]; NaN without evidence."""
    edge_share: np.ndarray
    """Of all edges, the share that leads to class j, [c]; NaN in a graph without edges."""
    counted: Counted
    """What both are shares of."""
    prior_kind: str
    """ "blend", "mlp", "cheby", "link" or "custom"."""
    num_layers: int
    normalization: Matrix
    nothing_known: np.ndarray | None = None
    """[s]: nodes without edges and features, whose probabilities are the class shares."""
    parts: dict[str, np.ndarray] | None = None
    """Of a blend: what `prior` is the sum of, [s, c] each."""
    relations: np.ndarray | None = None
    """Of a blend: how each neighbour is heard, "edges" or "two hops", say; [m]."""
    far: np.ndarray | None = None
    """Of a blend: what nodes two hops away say, where they are too many to be listed, [s, c]."""
    features: Features | None = None
    """What `prior` rests on, column by column, where that was asked for."""
    favoured: int | None = None
    """The class that terms speak for or against, where it is not the most probable one."""

    def __len__(self) -> int:
        return len(self.node_ids)

    def __repr__(self) -> str:
        nodes = count(len(self), "node")
        return f"Explanation({nodes}, {len(self.class_names)} classes); print it to read it"

    def __str__(self) -> str:
        """The first nodes in words."""
        shown = (self.words(i).replace("*", "") for i in range(len(self))[:MOST])
        more = [f"… and {len(self) - MOST:,} more."] if len(self) > MOST else []
        return "\n\n".join([*shown, *more])

    @cached_property
    def predicted(self) -> np.ndarray:
        """The most probable class of every node (or the one favoured), as an index, [s]."""
        if self.favoured is not None:
            return np.full(len(self), self.favoured)
        return self.probabilities.argmax(axis=1)

    @cached_property
    def runner_up(self) -> np.ndarray:
        """The most probable one of the other classes, as an index, [s]."""
        rest = self.probabilities.copy()
        rest[np.arange(len(rest)), self.predicted] = -1
        return rest.argmax(axis=1)

    @cached_property
    def owner(self) -> np.ndarray:
        """Which explained node each neighbour belongs to, [m]."""
        return np.repeat(np.arange(len(self)), np.diff(self.pointer))

    @cached_property
    def total(self) -> np.ndarray:
        """The sum of all terms, float64 [s, c]."""
        m = len(self.neighbours)
        belongs = sp.csr_array((np.ones(m), np.arange(m), self.pointer), shape=(len(self), m))
        far = 0.0 if self.far is None else self.far
        return self.prior + self.returning + far + belongs @ self.contributions

    @cached_property
    def error(self) -> np.ndarray:
        """|total - logits| of every node, relative to max(1, its largest |logit|), [s]."""
        scale = np.abs(self.logits).max(axis=1).clip(min=1.0)
        return np.abs(self.total - self.logits).max(axis=1) / scale

    def in_favour_of(self, target: int) -> Explanation:
        """What speaks for this class (an index), whether or not it is the most probable one."""
        return replace(self, favoured=target)

    def as_written(self, columns: Mapping[str, str]) -> Explanation:
        """With the values of these columns as dates, times and so on: see `Features.written`."""
        if self.features is None or not columns:
            return self
        return replace(self, features=replace(self.features, written=columns))

    def of(self, i: int) -> slice:
        """Rows of the arrays over neighbours that belong to the i-th node."""
        return slice(int(self.pointer[i]), int(self.pointer[i + 1]))

    def margin(self, terms: np.ndarray, i: int | np.ndarray) -> np.ndarray:
        """How much `terms` [..., c] speak for the class of a node before the runner-up.

        i: the node that all the terms belong to, or one for each of them.
        """
        if np.ndim(i) == 0:
            return terms[..., self.predicted[i]] - terms[..., self.runner_up[i]]
        rows = np.arange(len(terms))
        return terms[rows, self.predicted[i]] - terms[rows, self.runner_up[i]]

    def words(self, i: int) -> str:
        """Why the i-th node has its class, in sentences that a person can repeat."""
        return " ".join(sentences(self, i))

    def _repr_html_(self) -> str:
        from cpgnn.report.notebook import explanation_html

        return explanation_html(self, terms)

    def to_frame(self) -> pd.DataFrame:
        """A row for each node, term and class; those of a node and class sum to its logit.

        Columns: node, term ("prior", "neighbour", "returning", "two hops"), neighbour, weight,
        looks_like (these three for neighbours only), class, contribution. A blend's own part has a
        row for each prior, "prior: trees", and neighbours two hops away are "neighbour: two hops".
        Where `features` were asked for, that row becomes one for each column, with more about it:
        source, column, value, typical and error (see `Feature`).
        """
        if self.features is None:
            parts = {f"{PRIOR}: {name}": part for name, part in (self.parts or {}).items()}
            return self._frame(parts or {PRIOR: self.prior})
        own = self.features.to_frame()
        part = own.pop("part")
        own.insert(1, "term", PRIOR if self.parts is None else f"{PRIOR}: " + part)
        rest = self._frame({})
        columns = [*rest.columns, *own.columns.difference(rest.columns, sort=False)]
        frames = [frame.reindex(columns=columns) for frame in (own, rest)]
        some = [frame for frame in frames if len(frame)] or frames
        made = pd.concat(some, ignore_index=True)
        place = pd.Index(as_text(self.node_ids)).drop_duplicates().get_indexer(made["node"])
        return made.iloc[np.argsort(place, kind="stable")].reset_index(drop=True)

    def _frame(self, own: dict[str, np.ndarray]) -> pd.DataFrame:
        """`own` and all terms of others."""
        c, everyone = len(self.class_names), np.arange(len(self))
        nobody, through = np.full(len(self), -1), np.arange(len(self.neighbours))
        heard = np.full(len(self.neighbours), NEIGHBOUR, dtype=object)
        if self.relations is not None:
            heard = np.where(self.relations == EDGES, heard, heard + ": " + self.relations)
        blocks: list[tuple[np.ndarray, Any, np.ndarray, np.ndarray]]
        blocks = [(everyone, name, nobody, part) for name, part in own.items()]
        blocks.append((self.owner, heard, through, self.contributions))
        if self.num_layers > 1:  # else no walk is long enough to come back
            blocks.append((everyone, RETURNING, nobody, self.returning))
        if self.far is not None:
            blocks.append((everyone, FAR, nobody, self.far))
        node, at = (np.concatenate([block[k] for block in blocks]) for k in (0, 2))
        kinds = [np.broadcast_to(np.array(b[1], dtype=object), len(b[0])) for b in blocks]
        names = np.array(self.class_names, dtype=object)
        like = np.array([*self.class_names, None], dtype=object)
        table = pd.DataFrame(
            {
                "node": as_text(self.node_ids)[node],
                "term": np.concatenate(kinds),
                "neighbour": as_text([*self.neighbours, None])[at],
                "weight": np.append(self.weights, np.nan)[at],
                "looks_like": as_text([*like[self.looks_like], None])[at],
            }
        )
        order = np.argsort(node, kind="stable").repeat(c)
        table = table.iloc[order].reset_index(drop=True)
        table["class"] = np.tile(names, len(node))
        table["contribution"] = np.concatenate([b[3] for b in blocks])[order[::c]].ravel()
        return table

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and text, ready for JSON; lists over classes follow "classes"."""
        return dict(
            plain(
                {
                    "classes": self.class_names,
                    "prior": self.prior_kind,
                    "num_layers": self.num_layers,
                    "normalization": self.normalization,
                    "edge_frequency": self.edge_frequency,
                    "nodes": [self._node(i) for i in range(len(self))],
                }
            )
        )

    def write(self, path: StrPath) -> None:
        """Writes `to_dict` as .json, or `to_frame` as .csv or .parquet."""
        path = check_ending(path, *EXPLANATIONS)
        if path.suffix.lower() != ".json":
            write_table(path, self.to_frame())
            return
        text = json.dumps(self.to_dict(), ensure_ascii=False, allow_nan=False)
        with atomic_write(path) as file:
            file.write(f"{text}\n".encode())

    def _node(self, i: int) -> dict[str, Any]:
        names, rows = (*self.class_names, None), self.of(i)
        found = {
            "id": str(self.node_ids[i]),
            "class": names[self.predicted[i]],
            "label": names[self.labels[i]],
            "words": self.words(i),
            "probabilities": self.probabilities[i],
            "logits": self.logits[i],
            "prior": self.prior[i],
            "returning": self.returning[i],
        }
        if self.parts is not None:
            found["parts"] = {name: part[i] for name, part in self.parts.items()}
        if self.far is not None:
            found["two_hops"] = self.far[i]
        if self.features is not None:
            found |= {"features": self.features.rows[i], "features_error": self.features.error[i]}
        found["neighbours"] = [
            {
                "id": str(self.neighbours[at]),
                "weight": float(self.weights[at]),
                **({} if self.relations is None else {"relation": self.relations[at]}),
                "looks_like": names[self.looks_like[at]],
                "label": names[self.neighbour_labels[at]],
                "contribution": self.contributions[at],
            }
            for at in range(rows.start, rows.stop)
        ]
        return found


def as_text(names: Iterable[Any]) -> np.ndarray:
    """Names as text, in an array of objects; None stays None."""
    return np.array([None if name is None else str(name) for name in names], dtype=object)
