"""`predict_set` for a fitted classifier: which nodes calibrate it, and the sets of all nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from cpgnn.errors import check_share
from cpgnn.evaluation.calibration import softmax
from cpgnn.evaluation.conformal import (
    Per,
    PredictionSets,
    Promise,
    evidence,
    make_promise,
    prediction_sets,
)
from cpgnn.evaluation.intervals import CONFIDENCE, EdgeFrequency, edge_frequency_interval
from cpgnn.evaluation.prediction import Prediction
from cpgnn.graph import Graph
from cpgnn.relations.derived import near
from cpgnn.splits import Split


class PredictsSets:
    """What a classifier can say about its doubt, once it is fitted."""

    split_: Split
    calibration_: np.ndarray
    compatibility_: np.ndarray
    initial_compatibility_: np.ndarray | None
    classes_: np.ndarray
    temperature_: float
    seed: int

    def prediction(self, graph: Graph | None = None) -> Prediction:
        raise NotImplementedError

    def edge_frequency_interval(
        self, confidence: float = CONFIDENCE, *, seed: int = 0
    ) -> EdgeFrequency:
        """`edge_frequency_` with intervals at another confidence; nothing is retrained."""
        graph = self.prediction().graph
        return edge_frequency_interval(
            near(graph),
            graph.labels,
            *self.unseen(),
            initial=self.initial_compatibility_,
            confidence=confidence,
            seed=seed,
        )

    def predict_set(
        self, alpha: float = 0.1, graph: Graph | None = None, *, per: Per = "all"
    ) -> PredictionSets:
        """For every node the classes that remain, so that its own is among them with probability
        1 - α: of all nodes, or with per="class" of the nodes of each class. The promise holds for
        nodes like the labelled ones (`cpgnn.evaluation.conformal`)."""
        check_share("alpha", alpha, zero=False)
        return self.sets(self.promise(1 - alpha, per), graph)

    def promise(
        self,
        coverage: float = 0.9,
        per: Per = "all",
        *,
        beliefs: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> Promise:
        """The thresholds of `predict_set`, from labels that the model did not learn from: those of
        `beliefs`, nodes [m] and probabilities [m, c], or those that the fit left."""
        own, folds = self.prediction(), beliefs or self.out_of_fold()
        y, val = own.graph.labels, self.split_.val
        known = evidence(own.probabilities, y, val, self.calibration_, folds, seed=self.seed)
        return make_promise(own.graph, known, self.compatibility_, coverage=coverage, per=per)

    def sets(self, promise: Promise, graph: Graph | None = None) -> PredictionSets:
        """The sets of a promise made before, of the nodes of this graph."""
        made, names = self.prediction(graph), tuple(map(str, self.classes_))
        return prediction_sets(promise, made.graph, made.probabilities, self.compatibility_, names)

    def unseen(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labelled nodes whose labels made what is said of them; those of which a model speaks that
        had not seen theirs; and beliefs [n, c], of the latter by that model."""
        split, B, kept = self.split_, self.prediction().probabilities, self.out_of_fold()
        if kept is None:
            return split.train, split.val, B
        B = B.copy()
        B[kept[0]] = kept[1]
        return np.setdiff1d(split.train, kept[0]), kept[0], B

    def out_of_fold(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Nodes that trained the model, and what models that had not seen them said."""
        honest: Any = getattr(self, "honest_", None)
        if honest is None or not np.isin(honest.nodes, self.split_.train).any():
            return None
        return honest.nodes, softmax(honest.logits, self.temperature_)
