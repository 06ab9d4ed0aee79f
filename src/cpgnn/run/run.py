"""A run: a fitted graph, what the model says about it, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import pandas as pd

from cpgnn.check.finding import Finding
from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.arrays import class_sizes
from cpgnn.engine.formatting import between, percent, quoted
from cpgnn.engine.loop import Epoch
from cpgnn.engine.text import count
from cpgnn.errors import Message, advise, must_be
from cpgnn.evaluation.conformal import PredictionSets, Promise
from cpgnn.evaluation.intervals import EdgeFrequency
from cpgnn.evaluation.prediction import Prediction
from cpgnn.evaluation.relation_frequencies import relation_frequencies, strongest_first
from cpgnn.evaluation.verdict import Verdict, judge
from cpgnn.graph import Graph
from cpgnn.io import FeatureColumns
from cpgnn.run.measure import Measured
from cpgnn.splits import Split


@dataclass(frozen=True, eq=False, kw_only=True)
class Run(Measured):
    """What `train_run` returns and `load_run` reads again, the same but for `measured`."""

    classifier: CPGNNClassifier
    split: Split
    """How the model that the scores are of used the labels."""
    positive: int | None
    """The class that nodes are ranked by."""
    refitted: bool
    """Whether `classifier` was trained again, on all labels, after it was measured."""
    model: str
    """The name of the model that the scores are of, e.g. "MLP-1"."""
    kept: Epoch | None
    """The epoch that validation chose for it."""
    trials: pd.DataFrame
    """The candidates it was chosen from, the best first."""
    history: pd.DataFrame
    """Its training, one row per epoch."""
    promise: Promise | None = None
    """How the sets of classes were calibrated, where they were asked for."""
    edge_findings: tuple[Finding, ...] = ()
    """Findings about the rows of the edge file, which the graph no longer has."""
    columns: FeatureColumns | None = None
    """How the feature file was read, so that a later one is read the same way."""
    headers: tuple[tuple[str, ...], ...] = ()
    """The headers of the tables that were read, so that they are known again."""
    options: dict[str, Any] = field(default_factory=dict)
    """What the command line was asked for, column options among them: see `cpgnn.cli.options`."""
    measured: CPGNNClassifier | None = None
    """The model that the scores are of; a loaded run knows it only if it was not refitted."""

    @property
    def has_graph(self) -> bool:
        """False for a run on part of a larger graph (`cpgnn spark fit`)."""
        return hasattr(self.classifier, "graph_")

    @property
    def graph(self) -> Graph:
        if not self.has_graph:
            hint = (
                "Put its graph.npz back. Without it, a run can only predict graphs that it is "
                "given: cpgnn predict RUN EDGES --features FEATURES."
            )
            raise must_be("The run", "have the graph it was fitted on", "none", hint)
        return self.classifier.graph_

    @property
    def prediction(self) -> Prediction:
        """What the model says about the fitted graph; computed once."""
        return self.classifier.prediction()

    @cached_property
    def sets(self) -> PredictionSets | None:
        """The classes that remain for every node of the fitted graph; None if not asked for."""
        return None if self.promise is None else self.classifier.sets(self.promise)

    @cached_property
    def relations(self) -> dict[str, EdgeFrequency]:
        """Who connects with whom by each relation, the weightiest first; none if there is one."""
        if not self.has_graph:
            return {}
        found = relation_frequencies(self.graph, *self.classifier.unseen())
        return dict(strongest_first(found, self.classifier.evidence_))

    @property
    def verdict(self) -> Verdict:
        """Whether the classes can be relied on, and whether the graph helps."""
        made = judge(
            self.evaluation,
            self.without_graph,
            self.flag,
            has_features=bool(self.classifier.n_features_in_),
            too_few_labels=self._has_too_few_labels,
        )
        made = replace(made, reasons=(*made.reasons, *self.flagged_or_called()))
        if self.evaluation is None or self.known_only is None:
            return made
        every, known = self.evaluation.accuracy, self.known_only.accuracy
        nodes = count(every.n - known.n, "of these nodes has", "of these nodes have")
        unknown = (
            f"{nodes} neither edges nor features: nothing is known about them, so they get the "
            f"class shares of the training labels. Accuracy without them: {percent(known.value)} "
            f"(95 % interval {between(known.low, known.high)}); with them: {percent(every.value)}."
        )
        return replace(made, reasons=(*made.reasons, unknown))

    @property
    def _has_too_few_labels(self) -> bool:
        """Whether fewer than two classes have a label to hold out."""
        if not self.has_graph:
            return False
        return int((class_sizes(self.graph.labels, self.graph.num_classes) > 1).sum()) < 2

    def flagged_or_called(self) -> tuple[str, ...]:
        """Which column to use where the flags say something else than the most probable class."""
        if self.flag is None or not self.has_graph or self.flag.class_name not in self.class_names:
            return ()
        target = self.class_names.index(self.flag.class_name)
        P = self.prediction.probabilities[self.graph.predicted]
        flagged, called = P[:, target] >= self.flag.value, P.argmax(axis=1) == target
        if (flagged == called).all():
            return ()
        name, border = quoted(self.flag.class_name), f"{self.flag.value:.3g}"
        text = (
            f"To find {name} nodes, use the column flagged, not the column class: of all "
            f"{count(len(P), 'node')}, {flagged.sum():,} are flagged (probability at least "
            f"{border}, chosen on labels the model had not seen), while {name} is the most "
            f"probable class of {f'{called.sum():,}' if called.any() else 'none'}."
        )
        if self.classifier.class_weight is None or called.sum() < flagged.sum():
            return (text,)
        why = " With {}, every class counts as if it were equally frequent: a rare one is called "
        return (Message(text, advise(why, class_weight="balanced"), "far too often."),)

    @property
    def written(self) -> dict[str, str]:
        """Columns of the features that were not numbers: dates, say."""
        return {} if self.columns is None else self.columns.written

    @property
    def class_names(self) -> list[str]:
        return [str(name) for name in self.classifier.classes_]
