"""`CPGNNClassifier`: fit a graph, get classes, probabilities and the matrix of who connects."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from cpgnn.blend.blend import Said, known_nodes
from cpgnn.engine.arrays import Matrix, as_array
from cpgnn.engine.inputs import check_device, to_graph
from cpgnn.engine.loop import Begin
from cpgnn.engine.saving import load_model, save_model
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.engine.threads import threads_for
from cpgnn.errors import LARGEST_SEED, check_count, check_share, wrong_value
from cpgnn.evaluation.calibration import Scaling, calibration_nodes, softmax
from cpgnn.evaluation.conformal import (
    Per,
    PredictionSets,
    Promise,
    evidence,
    make_promise,
    prediction_sets,
)
from cpgnn.evaluation.intervals import CONFIDENCE, EdgeFrequency, edge_frequency_interval
from cpgnn.evaluation.metrics import weighted_share
from cpgnn.evaluation.prediction import (
    Prediction,
    as_in_fit,
    finite_logits,
    nothing_known,
    strangers,
)
from cpgnn.graph import Graph
from cpgnn.io.to_fit import ColumnOptions, to_fit
from cpgnn.model import CPGNN
from cpgnn.relations.derived import joining
from cpgnn.selection.fitting import Fitting, Honest
from cpgnn.splits import Split, stratified_split

VALIDATION = 0.2  # the share of the labels that chooses the epoch of the paper's training


class CPGNNClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
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
        Whether to fit the temperature of `predict_proba`. A blend does, out of fold, unless False;
        the paper's training if True, on `calibration_nodes`, which then do not choose the epoch.
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
    temperature_, contrast_ : T and γ of `predict_proba`; 1 and 0 if not calibrated
    calibration_ : the nodes that set it; none if there were too few, or `calibrate` is off
    num_layers_ : layers in use, 1 in a blend; 0 when the prior alone was best on validation nodes
    model_ : the `Blend` or `CPGNN`; architecture_ : of a `CPGNN` with a built-in prior, else None
    scaler_, settings_, split_, graph_ : what it was fitted with, and on
    honest_ : nodes, and their logits by a model that did not learn from their labels
    evidence_ : of a blend, the shares of own part and relations in what decides
    history_ : DataFrame, one row per epoch; H_bars_ : H̄ at every tenth of phase 2 (not saved)
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
    _edges: str | None = None  # of a loaded blend: `edges_hash` of the fitted graph

    def check_params(self) -> None:
        """Raises if a parameter makes no sense, before any data is read."""
        Fitting(self).check()
        check_share("validation", self.validation_share)
        check_count("seed", self.seed, least=0, most=LARGEST_SEED)
        check_device(self.device)

    @property
    def blends(self) -> bool:
        """Whether `fit` makes a blend; else it trains a model as in the paper."""
        return Fitting(self).blends

    @property
    def validation_share(self) -> float:
        """`validation`, or what `fit` takes where it is None."""
        drawn = 0.0 if self.blends else VALIDATION
        return drawn if self.validation is None else self.validation

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
        fitting = Fitting(self, graph.class_names, begin)
        split = split or stratified_split(graph.labels, validation=drawn[0], seed=self.seed)
        graph = fitting.checked(graph, split)
        scaler = scaler or FeatureScaler.fit(graph, fitting.settings.feature_scaling)
        scaled = scaler(graph)
        held = split.val[:0]  # nodes that set the temperature do not choose the epoch
        if self.calibrate and not fitting.blends:
            held = calibration_nodes(graph.labels, split.val, self.seed)
        choosing = Split(split.train, np.setdiff1d(split.val, held), split.test)
        with threads_for(graph):
            fitted = fitting(scaled, choosing)

        self.graph_, self.nodes_, self.node_ids_ = graph, graph.fingerprint(), graph.node_ids
        self.settings_, self.split_, self.scaler_ = fitting.settings, split, scaler
        self.classes_ = as_array(graph.class_names)
        self.n_features_in_ = graph.num_features or 0
        self.feature_names_in_ = graph.feature_names
        counts = np.bincount(graph.labels[split.train], minlength=graph.num_classes)
        self.class_shares_: np.ndarray | None = counts / counts.sum()
        self.model_, self.architecture_ = fitted.model, fitted.architecture
        self.self_trained_, self.validation_score_ = fitted.self_trained, fitted.score
        self.trials_, self.history_ = fitted.trials_table(), fitted.record.table()
        self.num_layers_, self.kept_ = fitted.record.num_layers, fitted.record.kept
        self.H_bars_, self.initial_from_ = fitted.record.H_bars, fitted.record.initial_from
        self.initial_compatibility_ = fitted.record.initial_compatibility

        self.temperature_, self.contrast_ = Scaling()
        self._own = own = self._predicted(graph, scaled, fitted.said)
        self.honest_ = honest = fitted.honest or Honest(held, own.logits[held], only_T=True)
        self.calibration_ = held if self.calibrate is False else honest.calibrating
        if len(self.calibration_):
            self.temperature_, self.contrast_ = honest.scaling(graph.labels)

        self.evidence_ = {} if own.said is None else own.said.evidence()
        self.compatibility_ = fitted.compatibility(recalibrate=self.settings_.recalibrate)
        self.edge_frequency_interval_ = self.edge_frequency_interval()
        self.edge_frequency_ = self.edge_frequency_interval_.share
        return self

    def see(self, graph: Graph) -> None:
        """The fitted graph at a later time: the same nodes, other edges. Nothing is trained."""
        if graph.fingerprint() != self.nodes_:
            raise wrong_value("graph", "have the nodes of the fitted graph", "other nodes")
        self.graph_, self._own = graph, None

    @property
    def name(self) -> str:
        """What the fitted model is called."""
        made = self.architecture_ or self.model_
        return "a custom prior" if isinstance(made, CPGNN) else str(made)

    @property
    def scaling_(self) -> Scaling:
        """What makes probabilities of logits."""
        return Scaling(self.temperature_, self.contrast_)

    def prediction(self, graph: Graph | None = None) -> Prediction:
        """Everything the model says about a graph; about the fitted one it is asked only once."""
        check_is_fitted(self, "model_")
        fitted: Graph | None = getattr(self, "graph_", None)
        if graph is not None and graph is not fitted:
            graph = to_graph(graph, labels=False)
            made, F = self.architecture_, self.n_features_in_
            if made and not made.is_inductive(F) and graph.fingerprint() != self.nodes_:
                raise strangers("the LINK prior" if F else "no features", graph)
            graph = as_in_fit(graph, self.feature_names_in_, fitted)
            return self._predicted(graph, self.scaler_(graph))
        if fitted is None:
            raise wrong_value("graph", "be given to a model loaded without its graph", "None")
        if self._own is None:
            self._own = self._predicted(fitted, self.scaler_(fitted))
        if self._own.scaling != self.scaling_:
            self._own = replace(self._own, scaling=self.scaling_)
        return self._own

    def _predicted(self, graph: Graph, scaled: Graph, said: Said | None = None) -> Prediction:
        """`said`: what a blend says of it, where that is known."""
        fitted: Graph | str | None = getattr(self, "graph_", self._edges)
        with threads_for(scaled):
            if isinstance(self.model_, CPGNN):
                logits = finite_logits(self.model_, scaled)
            else:
                if said is None:
                    same = graph is fitted or graph.fingerprint() == self.nodes_
                    known = None if same else known_nodes(graph, self.node_ids_, fitted)
                    said = self.model_.said(self.model_.inputs(scaled, known))
                logits = said.logits
        nothing, shares = np.zeros(graph.num_nodes, dtype=bool), self.class_shares_
        if shares is not None:
            nothing = nothing_known(scaled, said, self.architecture_, self.split_.train)
        return Prediction(graph, scaled, logits, nothing, shares, self.scaling_, said)

    def logits(self, graph: Graph | None = None) -> np.ndarray:
        """Logits [n, c] of every node: of a blend; or B̄^(K) + 1/c, the prior's where K is 0."""
        return self.prediction(graph).logits.copy()

    def predict_proba(self, graph: Graph | None = None) -> np.ndarray:
        """softmax(logits · s^γ / T) [n, c], s [n] their spread; without edges and features, the
        shares of the training labels."""
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
        right = self.predict(graph)[known] == as_array(labelled.class_names)[labelled.labels[known]]
        return weighted_share(right, known, sample_weight)

    # -- how sure that is -------------------------------------------------------------------------

    def edge_frequency_interval(
        self, confidence: float = CONFIDENCE, *, seed: int = 0
    ) -> EdgeFrequency:
        """`edge_frequency_` with intervals at another confidence; nothing is retrained."""
        graph = self.prediction().graph
        return edge_frequency_interval(
            joining(graph),
            graph.labels,
            *self.unseen(),
            initial=self.initial_compatibility_,
            asked=graph.predicted,
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
        """Labelled nodes whose labels the model learned from; those judged by a model that had not
        seen theirs; and beliefs [n, c], of the latter by that model."""
        split, B, kept = self.split_, self.prediction().probabilities, self.out_of_fold()
        if kept is None:
            return split.train, split.val, B
        B = B.copy()
        B[kept[0]] = kept[1]
        return np.setdiff1d(split.train, kept[0]), kept[0], B

    def out_of_fold(self) -> tuple[np.ndarray, np.ndarray] | None:
        """Nodes that trained the model, and what models that had not seen their labels say."""
        honest: Honest | None = getattr(self, "honest_", None)
        if honest is None or not np.isin(honest.nodes, self.split_.train).any():
            return None
        return honest.nodes, softmax(honest.logits, *self.scaling_)

    # -- keeping and showing it -------------------------------------------------------------------

    def save(self, folder: str | Path) -> None:
        """Writes the model as safetensors and JSON; the graph is not part of it."""
        check_is_fitted(self, "model_")
        save_model(self, Path(folder))

    @classmethod
    def load(cls, folder: str | Path, graph: Graph | None = None) -> CPGNNClassifier:
        """A saved model. With the graph it was fitted on, `predict()` needs no argument."""
        return load_model(cls, Path(folder), graph)

    def _repr_html_inner(self) -> str:
        """Fitted, what was learned; else what scikit-learn shows."""
        if not hasattr(self, "model_"):
            return str(super()._repr_html_inner())
        from cpgnn.report.grids import first_classes
        from cpgnn.report.notebook import MOST_CLASSES, classifier_html

        return classifier_html(self, first_classes(self, MOST_CLASSES))

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        """What notebooks ask for first; HTML where the display of scikit-learn says so."""
        html = {"text/html": self._repr_html_()} if hasattr(self, "_repr_html_") else {}
        return {"text/plain": repr(self)} | html

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.target_tags.required = False
        return tags
