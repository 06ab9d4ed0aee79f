"""`CPGNNClassifier`: fit a graph, get classes, probabilities and the matrix of who connects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from cpgnn.blend.blend import Said, known_nodes
from cpgnn.compatibility import recover_compatibility
from cpgnn.engine.arrays import Matrix, as_array
from cpgnn.engine.inputs import check_device, to_graph
from cpgnn.engine.loop import Begin
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.engine.threads import threads_for
from cpgnn.errors import LARGEST_SEED, check_choice, check_count, check_share, wrong_value
from cpgnn.evaluation.calibration import calibration_nodes, fit_temperature
from cpgnn.evaluation.prediction import (
    Prediction,
    finite_logits,
    in_order,
    nothing_known,
    strangers,
)
from cpgnn.evaluation.sets import PredictsSets
from cpgnn.graph import Graph
from cpgnn.io.to_fit import ColumnOptions, to_fit
from cpgnn.model import CPGNN, Architecture
from cpgnn.report.shown import ShownInNotebooks
from cpgnn.selection.fitting import Fitted, Fitting, Honest
from cpgnn.settings import preset
from cpgnn.splits import Split, check_classes, stratified_split

VALIDATION = 0.2  # the share of the labels that chooses the epoch of the paper's training
PRIORS = ("auto", "trees", "smoothed", "mlp", "cheby", "link")


class CPGNNClassifier(ShownInNotebooks, PredictsSets, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Node classifier for graphs whose edges join like with like, opposites, or anything between.

    Parameters
    ----------
    prior : "auto", "trees", "smoothed", "mlp", "cheby", "link", a scikit-learn classifier with
        `predict_proba`, or a function (graph, seed) -> nn.Module
        What is believed of a node before its neighbours are heard. "auto" blends several, weighed
        by their worth on labels they did not see; "trees", "smoothed" and a classifier make a blend
        of one. "mlp", "cheby", "link" and a function are trained as in the paper; so is "auto" with
        another preset, `num_layers`, `epochs` or `normalization`: it then chooses one of the three.
    num_layers : int, optional
        K, the layers of propagation of the paper's model; None: chosen by validation score.
    preset : "default", "paper" or "authors"
    hidden, dropout, normalization : see `Architecture`
    epochs, pretrain_epochs, select_by, class_weight : override the preset, see `Settings`
    positive : the name of a class, optional
        The class whose average precision chooses with select_by="average_precision".
    validation : float, optional
        Share of the labelled nodes that only choose, if `fit` is given no split. None: a fifth, to
        choose the epoch of the paper's training; nobody for a blend, whose priors and relations are
        chosen on labels that they did not see, fold by fold, so that every label trains.
    calibrate : bool, optional
        Whether to fit the temperature of `predict_proba`. A blend has beliefs out of fold for that
        and always does, unless False. The paper's training does so if True: some validation nodes
        (`calibration_nodes`) are set aside, which then do not help choose the epoch.
    self_training : bool
        On few labels: fit a second time, with the most confident half of the predictions for every
        class as extra labels, and keep the better one.
    budget : "fast", "normal" or "thorough"
        How long to train: a blend with 2, 5 or 10 folds, a fast one without the slowest of its
        priors; the paper's model with a quarter, all or twice the epochs, unless `epochs` says so.
    seed : int
        Seed of everything random: the split, the weights, dropout.
    device : str
        Where to train, e.g. "cuda".

    Attributes
    ----------
    classes_ : class names; columns of `predict_proba`
    compatibility_ : Ĥ [c, c], doubly stochastic: what propagation learned to multiply with
    initial_compatibility_, initial_from_ : the estimate it started from, and what that rests on
    edge_frequency_ : [c, c], the share of class i's edges that lead to class j
    edge_frequency_interval_ : `EdgeFrequency`, the same with 90 % intervals and its evidence
    class_shares_ : share of every class among the training labels, [c]
    temperature_ : T, what logits are divided by in `predict_proba`; 1 if not calibrated
    calibration_ : the nodes that set it; none if there were too few, or `calibrate` is off
    num_layers_ : layers in use, 1 in a blend; 0 when the prior alone was best on validation nodes
    model_ : the `Blend` or `CPGNN`; architecture_ : of a `CPGNN` with a built-in prior, else None
    scaler_, settings_, split_, graph_ : what it was fitted with, and on
    honest_ : nodes, and their logits by a model that did not learn from their labels
    evidence_ : of a blend, the shares of own part and relations in what decides
    history_ : DataFrame, one row per epoch
    H_bars_ : H̄ at every tenth epoch of the second phase (not kept by `save`)
    feature_names_in_ : names of the features, if there were any; later graphs are matched by them
    self_trained_ : how many predictions served as labels in a second training; 0 if there was none
    trials_ : DataFrame of what was tried: priors and then sets of relations with `score`, `loss`
        and `cpu_seconds`; or the paper's models with `score` of the best epoch and `mean` of all
    validation_score_ : of the kept epoch, or of labels not seen
    """

    def __init__(
        self,
        prior: Any = "auto",
        num_layers: int | None = None,
        *,
        preset: str = "default",
        hidden: int = 64,
        dropout: float = 0.0,
        normalization: Matrix = "none",
        epochs: int | None = None,
        pretrain_epochs: int | None = None,
        select_by: str | None = None,
        class_weight: str | None = None,
        positive: Any = None,
        validation: float | None = None,
        calibrate: bool | None = None,
        self_training: bool = True,
        budget: str = "normal",
        seed: int = 0,
        device: str = "cpu",
    ) -> None:
        self.prior = prior
        self.num_layers = num_layers
        self.preset = preset
        self.hidden = hidden
        self.dropout = dropout
        self.normalization = normalization
        self.epochs = epochs
        self.pretrain_epochs = pretrain_epochs
        self.select_by = select_by
        self.class_weight = class_weight
        self.positive = positive
        self.validation = validation
        self.calibrate = calibrate
        self.self_training = self_training
        self.budget = budget
        self.seed = seed
        self.device = device

    _own: Prediction | None = None  # about the fitted graph, once asked for

    # -- what the parameters ask for ------------------------------------------------------------

    def check_params(self) -> None:
        """Raises if a parameter makes no sense, before any data is read."""
        self._fitting()
        # A function or a classifier, not the class of one, which is both.
        if callable(self.prior) == hasattr(self.prior, "predict_proba"):
            check_choice("prior", self.prior, PRIORS)
        check_share("validation", self.validation_share)
        check_count("seed", self.seed, least=0, most=LARGEST_SEED)
        check_device(self.device)

    @property
    def blends(self) -> bool:
        """Whether `fit` makes a blend; else it trains a model as in the paper."""
        return self._fitting().blends

    @property
    def validation_share(self) -> float:
        """`validation`, or what `fit` takes where it is None."""
        drawn = 0.0 if self.blends else VALIDATION
        return drawn if self.validation is None else self.validation

    def _fitting(self, begin: Begin | None = None, positive: int | None = None) -> Fitting:
        """`positive`: the position of that class."""
        changes = {
            "epochs": self.epochs,
            "pretrain_epochs": self.pretrain_epochs,
            "select_by": self.select_by and self.select_by.replace("-", "_"),
            "class_weight": self.class_weight,
            "positive": positive,
        }
        given = {name: value for name, value in changes.items() if value is not None}
        like = Architecture(
            num_layers=1 if self.num_layers is None else self.num_layers,
            hidden=self.hidden,
            dropout=self.dropout,
            normalization=self.normalization,
        )
        return Fitting(
            self.prior,
            self.num_layers,
            like,
            self.self_training,
            preset(self.preset).within(self.budget).but(**given),
            changed=not {"epochs", "pretrain_epochs"}.isdisjoint(given),
            seed=self.seed,
            device=self.device,
            begin=begin or (lambda *_: None),
            budget=self.budget,
        )

    # -- fitting ------------------------------------------------------------------------------

    def fit(
        self,
        graph: Any,
        y: Any = None,
        *,
        features: Any = None,
        split: Split | None = None,
        scaler: FeatureScaler | None = None,
        begin: Begin | None = None,
        **columns: Unpack[ColumnOptions],
    ) -> CPGNNClassifier:
        """Learns from the labels of the graph, or from `y` (one label per node, or a Series indexed
        by node id; -1, None or NaN: unknown). With a `split`, only its training and validation
        labels are used. A `scaler` is one fitted to a larger graph that this one is part of.

        `graph` is a `Graph`, a NetworkX graph (node attributes `label` and `x`), a PyG `Data` (its
        masks become the split), a scipy matrix, or a DataFrame of edges with `y` and `features` as
        tables by node id; then options of `read_graph` such as `weight="amount"` name `columns`.
        """
        self.check_params()
        drawn = self.validation_share, self.seed
        graph, split = to_fit(graph, y, features, split, drawn, columns)
        fitting = self._fitting(begin, self._position_of_positive(graph))
        split = split or stratified_split(graph.labels, validation=drawn[0], seed=self.seed)
        check_classes(graph.labels, graph.class_names, split)
        self.scaler_ = scaler or FeatureScaler.fit(graph, fitting.settings.feature_scaling)
        scaled = self.scaler_(graph)
        held = split.val[:0]
        if self.calibrate and not fitting.blends:
            held = calibration_nodes(graph.labels, split.val, self.seed)
        choosing = Split(split.train, np.setdiff1d(split.val, held), split.test)
        with threads_for(graph):
            fitted = fitting(scaled, choosing)
        self.settings_, self.split_ = fitting.settings, split
        self._keep(graph, fitted)
        self._own = self._predicted(graph, scaled, 1.0, fitted.said)
        self._calibrate(fitted.honest, held)
        self._read_compatibility()
        return self

    def _position_of_positive(self, graph: Graph) -> int | None:
        if self.positive is None:
            return None
        if self.positive not in graph.class_names:
            names = ", ".join(map(str, graph.class_names))
            raise wrong_value("positive", f"be one of the classes {names}", repr(self.positive))
        return graph.class_names.index(self.positive)

    def _keep(self, graph: Graph, fitted: Fitted) -> None:
        """The graph of the fit, and what the fit has made."""
        record = fitted.record
        self.graph_, self.nodes_, self.node_ids_ = graph, graph.fingerprint(), graph.node_ids
        self.classes_ = as_array(graph.class_names)
        self.n_features_in_ = graph.num_features or 0
        self.feature_names_in_ = graph.feature_names
        counts = np.bincount(graph.labels[self.split_.train], minlength=graph.num_classes)
        self.class_shares_: np.ndarray | None = counts / counts.sum()
        self.model_, self.architecture_ = fitted.model, fitted.architecture
        self.num_layers_, self.kept_ = record.num_layers, record.kept
        self.self_trained_, self.validation_score_ = fitted.self_trained, fitted.score
        self.trials_, self.history_ = fitted.trials_table(), record.table()
        self.H_bars_, self.initial_from_ = record.H_bars, record.initial_from
        self.initial_compatibility_ = record.initial_compatibility

    def _calibrate(self, honest: Honest | None, held: np.ndarray) -> None:
        """The temperature, from logits that did not learn from their nodes' labels."""
        self.temperature_ = 1.0
        own = self.prediction()
        self.honest_ = honest or Honest(held, own.logits[held])
        self.calibration_ = held if self.calibrate is False else self.honest_.nodes
        if len(self.calibration_):
            y = own.graph.labels[self.calibration_]
            self.temperature_ = fit_temperature(self.honest_.logits, y)

    def _read_compatibility(self) -> None:
        """The learned matrix as people read it, and how often edges join which classes."""
        model, said = self.model_, self.prediction().said
        self.evidence_ = {} if said is None else said.evidence()
        if isinstance(model, CPGNN):
            H_bar = model.H_bar.detach().double().cpu().numpy()
        else:
            assert said is not None
            H_bar = said.H_bar()
        if self.num_layers_ == 0 and self.initial_compatibility_ is not None:
            self.compatibility_ = self.initial_compatibility_
        elif self.settings_.recalibrate:
            self.compatibility_ = recover_compatibility(H_bar)
        else:
            self.compatibility_ = H_bar + 1 / len(H_bar)
        self.edge_frequency_interval_ = self.edge_frequency_interval()
        self.edge_frequency_ = self.edge_frequency_interval_.share

    def see(self, graph: Graph) -> None:
        """The fitted graph at a later time: the same nodes, other edges. Nothing is trained."""
        if graph.fingerprint() != self.nodes_:
            raise wrong_value("graph", "have the nodes of the fitted graph", "other nodes")
        self.graph_, self._own = graph, None

    # -- what it learned ------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What the fitted model is called."""
        made = self.architecture_ or self.model_
        return "a custom prior" if isinstance(made, CPGNN) else str(made)

    # -- predicting -----------------------------------------------------------------------------

    def prediction(self, graph: Graph | None = None) -> Prediction:
        """Everything the model says about a graph; about the fitted one it is asked only once, so
        weights changed by hand are seen by a copy of the graph."""
        check_is_fitted(self, "model_")
        own = graph is None or graph is getattr(self, "graph_", None)
        if own and self._own is not None:
            if self._own.temperature != self.temperature_:
                self._own = replace(self._own, temperature=self.temperature_)
            return self._own
        graph = self._acceptable(None if own else graph)
        made = self._predicted(graph, self.scaler_(graph), self.temperature_)
        if own:
            self._own = made
        return made

    def _predicted(
        self, graph: Graph, scaled: Graph, temperature: float, said: Said | None = None
    ) -> Prediction:
        with threads_for(scaled):
            if isinstance(self.model_, CPGNN):
                logits = finite_logits(self.model_, scaled)
            else:
                said = said or self.model_.said(self.model_.inputs(scaled, self._known(graph)))
                logits = said.logits
        nothing = np.zeros(graph.num_nodes, dtype=bool)
        if self.class_shares_ is not None:
            nothing = nothing_known(scaled, said, self.architecture_, self.split_.train)
        return Prediction(graph, scaled, logits, nothing, self.class_shares_, temperature, said)

    def _known(self, graph: Graph) -> np.ndarray | None:
        """Where the nodes of a graph stand in that of the fit; None: they are the same."""
        fitted: Graph | None = getattr(self, "graph_", None)
        if graph is fitted or graph.fingerprint() == self.nodes_:
            return None
        return known_nodes(graph, self.node_ids_, fitted)

    def logits(self, graph: Graph | None = None) -> np.ndarray:
        """Logits [n, c] of every node: of a blend; or B̄^(K) + 1/c, the prior's where K is 0."""
        return self.prediction(graph).logits.copy()

    def predict_proba(self, graph: Graph | None = None) -> np.ndarray:
        """softmax(logits / T): probability of every class for every node, [n, c]; without a graph,
        of the fitted one. Nodes without edges and features get the shares of the training labels.
        """
        return self.prediction(graph).probabilities.copy()

    def predict(self, graph: Graph | None = None) -> np.ndarray:
        """The most probable class of every node, by its name."""
        best = self.prediction(graph).probabilities.argmax(axis=1)
        return self.classes_[best]

    def score(self, graph: Graph, y: Any = None, sample_weight: Any = None) -> float:
        """Accuracy on the nodes with a label: those of `y` (see `fit`), or the graph's own."""
        graph = to_graph(graph, labels=y is None)
        labelled = graph if y is None else graph.with_labels(y)
        known = labelled.labels >= 0
        names = as_array(labelled.class_names)
        weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        right = self.predict(graph)[known] == names[labelled.labels[known]]
        return float(np.average(right, weights=weight))

    def _acceptable(self, graph: Graph | None) -> Graph:
        fitted: Graph | None = getattr(self, "graph_", None)
        if graph is None:
            if fitted is None:
                raise wrong_value("graph", "be given to a model loaded without its graph", "None")
            return fitted
        graph = to_graph(graph, labels=False)
        made = self.architecture_
        inductive = made is None or made.is_inductive(self.n_features_in_)
        if graph is not fitted and not inductive and graph.fingerprint() != self.nodes_:
            raise strangers("the LINK prior" if self.n_features_in_ else "no features", graph)
        return in_order(graph, self.feature_names_in_)

    # -- keeping ----------------------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Writes the model as safetensors and JSON; the graph is not part of it."""
        from cpgnn.engine.saving import save_model

        check_is_fitted(self, "model_")
        save_model(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, graph: Graph | None = None) -> CPGNNClassifier:
        """A saved model. With the graph it was fitted on, `predict()` needs no argument."""
        from cpgnn.engine.saving import load_model

        return load_model(cls, Path(folder), graph)
