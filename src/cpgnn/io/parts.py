"""What the files of a graph say, and where the rows of each stand among all nodes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from cpgnn.engine.text import shorten
from cpgnn.io.edges import EdgeList
from cpgnn.io.feature_matrix import FeatureRows
from cpgnn.io.ids import extend
from cpgnn.io.labels import LabelRows
from cpgnn.io.names import usable_names


@dataclass(frozen=True)
class Parts:
    """Edges, features and labels of n nodes."""

    edges: EdgeList
    features: FeatureRows | None
    labels: LabelRows | None
    ids: pa.Array
    """[n]: the nodes of the edges, then those that features and labels add."""
    at_features: np.ndarray
    """The node of each row of the features."""
    at_labels: np.ndarray
    """The node of each row of the labels."""

    @classmethod
    def of(cls, edges: EdgeList, features: FeatureRows | None, labels: LabelRows | None) -> Parts:
        ids = edges.ids
        at_features, at_labels = np.arange(len(ids)), np.empty(0, dtype=np.int64)
        if features is not None and features.ids is not None:
            at_features, ids = extend(ids, features.ids)
        if labels is not None:
            at_labels, ids = extend(ids, labels.ids)
        return cls(edges, features, labels, ids, at_features, at_labels)

    @property
    def headers(self) -> tuple[tuple[str, ...], ...]:
        """The header of every table, without names that no message could show."""
        tables = [rows.file for rows in (self.edges, self.labels) if rows is not None]
        if self.features is not None:
            tables += [rows.file for rows in self.features.parts or (self.features,)]
        headers = (usable_names(file.whole_header) for file in tables if file is not None)
        return tuple(dict.fromkeys(filter(None, headers)))

    def place_of(self, position: int) -> str:
        """A node without features, and where it is first named."""
        name = shorten(self.ids[position].as_py())
        if self.labels is None or position < len(self.edges.ids):
            return f"{name} ({self.edges.place_of(position)})"
        row, file = int(np.flatnonzero(self.at_labels == position)[0]), self.labels.file
        return f"{name} ({file.path}, {file.place(row)})"
