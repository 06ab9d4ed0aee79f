"""From a graph and a split to a fitted model: a blend, or one that the paper's training makes."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import softmax

from cpgnn.blend.blend import Blend, Said
from cpgnn.compatibility import enhanced_belief, estimate_compatibility
from cpgnn.engine.loop import Begin, Training, expect
from cpgnn.errors import BeliefOverflowError, must_be
from cpgnn.graph import Graph
from cpgnn.model import CPGNN, Architecture
from cpgnn.selection.auto import Trial, candidates, choose, has_few
from cpgnn.selection.blending import Tried, fit_blend
from cpgnn.selection.self_training import MAX_NODES, self_trained
from cpgnn.settings import Settings
from cpgnn.splits import Split
from cpgnn.training import train

BLENDED = ("auto", "trees", "smoothed")
"""Priors, by name, that a blend is made of."""


@dataclass(frozen=True, eq=False)
class Honest:
    """Logits of labelled nodes by a model that did not learn from their labels."""

    nodes: np.ndarray
    """[m]"""
    logits: np.ndarray
    """[m, c]"""


@dataclass(frozen=True)
class Fitted:
    """A fitted model, what it is made of, and how it came about."""

    model: CPGNN | Blend
    record: Training
    architecture: Architecture | None = None
    """None for a blend, and for a prior of the caller's own."""
    trials: tuple[Trial, ...] | tuple[Tried, ...] = ()
    """Of the candidates, the best first; none where there was nothing to choose."""
    self_trained: int = 0
    """How many predictions served as labels in a second training."""
    honest: Honest | None = None
    """Of a blend: out of fold. The paper's training has the validation nodes for that."""
    said: Said | None = None
    """Of a blend, about this graph."""
    score: float = float("nan")
    """Of the honest logits, or of the kept epoch."""


@dataclass(frozen=True)
class Fitting:
    """What to fit: a prior ("auto", a name, a scikit-learn classifier, or a function that makes a
    module) and K, None: choose."""

    prior: Any
    num_layers: int | None
    like: Architecture
    """What a candidate has apart from these two."""
    self_training: bool
    settings: Settings
    changed: bool
    """Whether the epochs of the preset were changed: the paper's training is asked for."""
    seed: int
    device: str
    begin: Begin
    budget: str = "normal"

    def __call__(self, graph: Graph, split: Split) -> Fitted:
        """The graph's features must be scaled."""
        if self.blends:
            return self._blended(graph, split)
        if isinstance(self.prior, str):
            return self._chosen(graph, split, self.prior)
        like = self.like
        prior = self.prior(graph, self.seed)
        c = graph.num_classes
        model = CPGNN(prior, like.num_layers, num_classes=c, normalization=like.normalization)
        return Fitted(*self._trained(model, graph, split, "custom prior"))

    @property
    def blends(self) -> bool:
        """Whether a blend is fitted: unless a setting of the paper's training is asked for."""
        if not isinstance(self.prior, str):
            return hasattr(self.prior, "predict_proba")
        plain = self.num_layers is None and self.like == Architecture()
        default = self.settings.preset == "default" and not self.changed
        return self.prior in BLENDED and (self.prior != "auto" or (plain and default))

    def _blended(self, graph: Graph, split: Split) -> Fitted:
        made = fit_blend(
            graph,
            split,
            self.settings,
            self.prior,
            budget=self.budget,
            guess=self.self_training,
            seed=self.seed,
            begin=self.begin,
        )
        said, y, train = made.said, graph.labels, split.train
        B_tilde = enhanced_belief(softmax(said.logits.astype(np.float64), axis=1), y, train)
        A = graph.adjacency[train].astype(np.float64)
        estimate = estimate_compatibility(A, B_tilde, y[train], weighting=self.settings.weighting)
        return Fitted(
            said.blend,
            Training(num_layers=1, initial_compatibility=estimate),
            trials=made.trials,
            self_trained=made.guessed,
            honest=Honest(made.nodes, made.honest),
            said=said,
            score=made.score,
        )

    def _chosen(self, graph: Graph, split: Split, prior: str) -> Fitted:
        entries = candidates(graph, split, self.like, prior, self.num_layers)
        best, trials = entries[0], list[Trial]()
        again = prior == "auto" and self._suits_self_training(graph, split)
        expect(self.begin, (len(entries) if len(entries) > 1 else 0) + 1 + again)
        if len(entries) > 1:
            if len(split.val) == 0:
                raise must_be(
                    "The split",
                    "have validation nodes to choose among several models",
                    "none",
                    "Name a prior and num_layers, or set validation above 0.",
                )
            trials = choose(
                entries,
                graph,
                split,
                self.settings,
                seed=self.seed,
                device=self.device,
                begin=lambda entry, epochs: self.begin(f"trying {entry}", epochs),
            )
        model, record, best = self._first_trained(
            [trial.architecture for trial in trials] or [best], graph, split
        )
        labels = 0
        if again:
            model, record, labels = self_trained(
                model,
                record,
                self._built(best, graph),
                graph,
                split,
                self.settings,
                seed=self.seed,
                observe=self.begin(f"{best} again", self._epochs),
            )
            model.num_layers = record.num_layers
        return Fitted(model, record, best, tuple(trials), labels)

    def _first_trained(
        self, entries: list[Architecture], graph: Graph, split: Split
    ) -> tuple[CPGNN, Training, Architecture]:
        """The first of these whose beliefs stay finite on the full budget; trials are shorter."""
        for entry in entries[:-1]:
            with suppress(BeliefOverflowError):
                return *self._trained(self._built(entry, graph), graph, split, str(entry)), entry
        last = entries[-1]
        return *self._trained(self._built(last, graph), graph, split, str(last)), last

    def _built(self, architecture: Architecture, graph: Graph) -> CPGNN:
        return architecture.build(graph, seed=self.seed, device=self.device)

    def _trained(
        self, model: CPGNN, graph: Graph, split: Split, name: str
    ) -> tuple[CPGNN, Training]:
        model = model.to(self.device)
        observe = self.begin(name, self._epochs)
        record = train(model, graph, split, self.settings, seed=self.seed, observe=observe)
        model.num_layers = record.num_layers
        return model, record

    @property
    def _epochs(self) -> int:
        return self.settings.pretrain_epochs + self.settings.epochs

    def _suits_self_training(self, graph: Graph, split: Split) -> bool:
        """Whether confident predictions serve as labels.

        Not where one class is looked for or the classes are weighted: what is sure is mostly of
        the common classes.
        """
        s = self.settings
        plain = s.positive is None and s.class_weight is None and s.select_by == "accuracy"
        wanted = self.self_training and s.preset == "default"
        return wanted and plain and has_few(split) and graph.num_nodes <= MAX_NODES
