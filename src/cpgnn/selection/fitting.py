"""From a graph and a split to a fitted model: a blend, or one that the paper's training makes."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
import pandas as pd
from scipy.special import softmax
from torch import nn

from cpgnn.blend.blend import Blend, Said
from cpgnn.compatibility import (
    enhanced_belief,
    estimate_compatibility,
    recover_compatibility,
)
from cpgnn.engine.arrays import class_index, class_sizes
from cpgnn.engine.initial import estimated_compatibility
from cpgnn.engine.loop import Begin, Training, expect
from cpgnn.errors import (
    BeliefOverflowError,
    Mention,
    Message,
    advise,
    check_choice,
    must_be,
    tidy,
    wrong_value,
)
from cpgnn.graph import Graph
from cpgnn.model import CPGNN, Architecture, PriorKind
from cpgnn.selection.auto import Trial, candidates, choose, has_few
from cpgnn.selection.blending import Honest as Honest
from cpgnn.selection.blending import fit_blend
from cpgnn.selection.self_training import MAX_NODES, self_trained
from cpgnn.selection.ways import Tried
from cpgnn.settings import preset
from cpgnn.splits import Split, check_classes
from cpgnn.training import train

if TYPE_CHECKING:
    from cpgnn.classifier import CPGNNClassifier

BLENDED = ("auto", "trees", "smoothed")
"""Priors, by name, that a blend is made of."""
ONE_EACH = (
    "Every class has only one label to train on, so none can be held out to judge by: all priors "
    "count equally, no compatibility is learned, and probabilities are not calibrated. Label at "
    "least two nodes of every class."
)
PRIORS = (*BLENDED, *get_args(PriorKind))
OF_THE_PAPER = {
    **{"num_layers": None, "epochs": None, "pretrain_epochs": None, "preset": "default"},
    **{name: getattr(Architecture(), name) for name in ("hidden", "dropout", "normalization")},
}
"""What only the paper's models have, as it is where nobody asks for it."""
TRIAL_COLUMNS = ["candidate", "score", "mean", "loss", "cpu_seconds", "note"]


@dataclass(frozen=True)
class Fitted:
    """A fitted model, what it is made of, and how it came about."""

    model: CPGNN | Blend
    record: Training
    architecture: Architecture | None = None
    """None for a blend, and for a prior of the caller's own."""
    trials: Sequence[Trial] | Sequence[Tried] = ()
    """Of the candidates, the best first; none where there was nothing to choose."""
    self_trained: int = 0
    """How many predictions served as labels in a second training."""
    honest: Honest | None = None
    """Of a blend: out of fold. The paper's training has the validation nodes for that."""
    said: Said | None = None
    """Of a blend, about this graph."""
    honest_score: float = float("nan")

    @property
    def score(self) -> float:
        """The validation score of the kept epoch; of a blend, that of the honest logits."""
        return self.record.kept.score if self.record.kept else self.honest_score

    def compatibility(self, *, recalibrate: bool) -> np.ndarray:
        """The learned matrix as people read it; where nothing is propagated, the estimate."""
        estimate = self.record.initial_compatibility
        if self.record.num_layers == 0 and estimate is not None:
            return estimate
        if isinstance(self.model, CPGNN):
            H_bar = self.model.H_bar.double().numpy(force=True)
        else:
            assert self.said is not None
            H_bar = self.said.H_bar()
        return recover_compatibility(H_bar) if recalibrate else H_bar + 1 / len(H_bar)

    def trials_table(self) -> pd.DataFrame:
        """A row for each trial; what a kind of trial does not have is missing."""
        table = pd.DataFrame([vars(trial) for trial in self.trials], columns=TRIAL_COLUMNS)
        return table.assign(candidate=table["candidate"].map(str))


def check_function(prior: Callable[..., Any]) -> None:
    """Raises unless a prior of the caller's own can be called with a graph and a seed."""
    made = isinstance(prior, nn.Module)
    with suppress(ValueError):  # of what is written in C, nothing is known
        try:
            signature(prior).bind(None, None)
        except TypeError:
            made = True
    if made:
        hint = "Try prior=lambda graph, seed: MLPPrior(graph, seed=seed), for example."
        raise wrong_value(
            "prior", "be a function (graph, seed) -> nn.Module", tidy(repr(prior), 80), hint
        )


class Fitting:
    """What the parameters of a classifier ask for: a blend, or a model that the paper's training
    makes; of a graph with these classes (None: they are not known yet)."""

    def __init__(
        self,
        asked: CPGNNClassifier,
        class_names: Sequence[Hashable] | None = None,
        begin: Begin | None = None,
    ) -> None:
        self.asked, self.begin = asked, begin or (lambda *_: None)
        positive = None
        if asked.positive is not None and class_names is not None:
            positive = class_index(class_names, asked.positive)
        changes = {
            "epochs": asked.epochs,
            "pretrain_epochs": asked.pretrain_epochs,
            "select_by": asked.select_by and asked.select_by.replace("-", "_"),
            "class_weight": asked.class_weight,
            "positive": positive,
        }
        given = {name: value for name, value in changes.items() if value is not None}
        # What a candidate has apart from its prior, and from K where that is chosen.
        self.like = Architecture(
            num_layers=1 if asked.num_layers is None else asked.num_layers,
            hidden=asked.hidden,
            dropout=asked.dropout,
            normalization=asked.normalization,
        )
        self.settings = preset(asked.preset).within(asked.budget).but(**given)

    def check(self) -> None:
        """Raises unless the prior is one, and what else is asked for has a part in its fit."""
        asked, prior = self.asked, self.asked.prior
        # A function or a classifier, not the class of one, which is both.
        if callable(prior) == hasattr(prior, "predict_proba"):
            check_choice("prior", prior, PRIORS)
        if callable(prior):
            check_function(prior)
        check_choice("self_training", asked.self_training, (True, False))
        check_choice("calibrate", asked.calibrate, (None, True, False))
        if isinstance(prior, str) and prior in BLENDED and prior != "auto":
            for name, default in OF_THE_PAPER.items():
                if (given := getattr(asked, name)) != default:
                    hint = advise("Leave it out, or try {}.", prior=("mlp", "cheby", "link"))
                    ours = Mention("prior", (prior,))
                    must = Message("go with a prior of the paper's models, not ", ours)
                    raise wrong_value(name, must, repr(given), hint)

    @property
    def blends(self) -> bool:
        """Whether a blend is fitted: unless a setting of the paper's training is asked for."""
        asked = self.asked
        if not isinstance(asked.prior, str):
            return hasattr(asked.prior, "predict_proba")
        epochs = asked.epochs is None and asked.pretrain_epochs is None
        plain = asked.num_layers is None and self.like == Architecture() and epochs
        default = plain and self.settings.preset == "default"
        return asked.prior in BLENDED and (asked.prior != "auto" or default)

    def checked(self, graph: Graph, split: Split) -> Graph:
        """The graph, if its labels can be learned from; it notes where none can be held out."""
        check_classes(graph, split)
        sizes = class_sizes(graph.labels[split.train], graph.num_classes)
        judged = sizes.max() > 1 or np.isin(graph.labels[split.val], np.flatnonzero(sizes)).any()
        return graph if judged or not self.blends else graph.noting(ONE_EACH)

    def __call__(self, graph: Graph, split: Split) -> Fitted:
        """The graph's features must be scaled."""
        if self.blends:
            return self._blended(graph, split)
        named = isinstance(self.asked.prior, str)
        fitted = self._chosen(graph, split) if named else self._custom(graph, split)
        model, record = fitted.model, fitted.record
        assert isinstance(model, CPGNN)
        if record.initial_compatibility is None and model.num_layers == 0:  # training needs none
            estimate = estimated_compatibility(model, graph, split, self.settings)
            record.initial_compatibility = estimate
        return fitted

    def _blended(self, graph: Graph, split: Split) -> Fitted:
        made = fit_blend(
            graph,
            split,
            self.settings,
            self.asked.prior,
            budget=self.asked.budget,
            guess=self.asked.self_training,
            seed=self.asked.seed,
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
            honest=made.honest,
            said=said,
            honest_score=made.score,
        )

    def _chosen(self, graph: Graph, split: Split) -> Fitted:
        """The candidate of the highest validation score, trained with the full budget."""
        entries = candidates(graph, split, self.like, self.asked.prior, self.asked.num_layers)
        trials: list[Trial] = []
        again = self.asked.prior == "auto" and self._suits_self_training(graph, split)
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
                seed=self.asked.seed,
                device=self.asked.device,
                begin=lambda entry, epochs: self.begin(f"trying {entry}", epochs),
            )
            entries = [trial.candidate for trial in trials]
        best, model, record = self._first_trained(entries, graph, split)
        taught = 0
        if again:
            model, record, taught = self_trained(
                model,
                record,
                best.build(graph, seed=self.asked.seed, device=self.asked.device),
                graph,
                split,
                self.settings,
                seed=self.asked.seed,
                observe=self.begin(f"{best} again", self._epochs),
            )
            model.num_layers = record.num_layers
        return Fitted(model, record, best, trials, taught)

    def _custom(self, graph: Graph, split: Split) -> Fitted:
        made, like, c = self.asked.prior(graph, self.asked.seed), self.like, graph.num_classes
        model = CPGNN(made, like.num_layers, num_classes=c, normalization=like.normalization)
        return Fitted(model, self._trained(model, graph, split, "custom prior"))

    def _first_trained(
        self, entries: Sequence[Architecture], graph: Graph, split: Split
    ) -> tuple[Architecture, CPGNN, Training]:
        """The first of these whose beliefs stay finite on the full budget; trials are shorter."""
        *others, last = entries
        for entry in others:
            model = entry.build(graph, seed=self.asked.seed, device=self.asked.device)
            with suppress(BeliefOverflowError):
                return entry, model, self._trained(model, graph, split, str(entry))
        model = last.build(graph, seed=self.asked.seed, device=self.asked.device)
        return last, model, self._trained(model, graph, split, str(last))

    def _trained(self, model: CPGNN, graph: Graph, split: Split, name: str) -> Training:
        """Trains the model and leaves it with the layers that were best."""
        observe = self.begin(name, self._epochs)
        model.to(self.asked.device)
        record = train(model, graph, split, self.settings, seed=self.asked.seed, observe=observe)
        model.num_layers = record.num_layers
        return record

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
        wanted = self.asked.self_training and s.preset == "default"
        return wanted and plain and has_few(split) and graph.num_nodes <= MAX_NODES
