"""The three phases of CPGNN: pretrain the prior → initialise H̄ → both end to end."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from cpgnn.compatibility import (
    centering_penalty,
    enhanced_belief,
    estimate_compatibility,
    initial_H_bar,
)
from cpgnn.engine.adam import Adam
from cpgnn.engine.distant import estimate_from_few, spectral_radius
from cpgnn.engine.loop import (
    Best,
    Choice,
    DivergedError,
    Epoch,
    InitialSource,
    Observer,
    Patience,
    Training,
    check_trainable,
    descend,
    evaluated,
    seeded,
)
from cpgnn.engine.scores import Score, validation_score
from cpgnn.engine.target import Target, cross_entropy
from cpgnn.engine.text import count
from cpgnn.engine.threads import threads_for
from cpgnn.errors import BeliefOverflowError, Message, advise, must_be
from cpgnn.graph import Graph
from cpgnn.model import CPGNN
from cpgnn.settings import Settings
from cpgnn.splits import Split

H_BAR_EVERY = 10
"""Epochs of the second phase between two copies of H̄ that are kept to show how it was learned."""


def overall_loss(
    logits: Tensor,
    target: Target,
    Theta_p: Sequence[Tensor],
    H_bar: Tensor,
    lambda_p: float,
    eta: float,
) -> Tensor:
    """L = mean over training nodes of H(B(v), y_v) + λ_p ‖Θ_p‖² + η Σ_i |Σ_j H̄_ij|.

    The loss of pretraining, L_p, where the logits are the prior's and η is 0; the overall loss,
    L_f, where they are the model's.
    """
    train, y = target.train, target.labels
    return (
        cross_entropy(train(logits), train(y), target.class_weight)
        + lambda_p * squared_norm(Theta_p)
        + eta * centering_penalty(H_bar)
    )


def squared_norm(weights: Sequence[Tensor]) -> float:
    """‖Θ‖², its value; its gradient 2Θ is added by `Adam`, in the pass it makes anyway."""
    flat = [W.detach().flatten() for W in weights]
    return sum(torch.dot(W, W).item() for W in flat)


def train(
    model: CPGNN,
    graph: Graph,
    split: Split,
    settings: Settings | None = None,
    *,
    seed: int = 0,
    observe: Observer | None = None,
) -> Training:
    """Pretrains the prior, initialises H̄, trains both end to end; keeps the best validation epoch.

    The graph's features are used as they are (scale them with `FeatureScaler` first). The model
    ends up with the weights of the best epoch. If that epoch is in the first phase, the prior alone
    was best and the returned `num_layers` is 0: set the model's to it. The same seed gives the same
    weights on the same machine.
    """
    settings = settings or Settings()
    target = Target.of(model.view(graph), split, settings.class_weight)
    score = validation_score(settings.select_by, settings.positive)
    _check_score(score, target, settings.select_by)
    record, best = Training(), Best()

    def seen(epoch: Epoch) -> None:
        record.epochs.append(epoch)
        if epoch.phase == 2 and epoch.epoch % H_BAR_EVERY == 0:
            record.H_bars[epoch.epoch] = model.H_bar.detach().cpu().numpy().copy()
        if observe is not None:
            observe(epoch)

    # One Adam for both phases. H̄ takes part from the start, with gradients of 0 in phase 1: it
    # joins phase 2 at the step count of all weights and so moves about three times further in its
    # first hundred steps than with a count of its own.
    check_trainable(model)
    optimizer = Adam(
        model.prior.parameters(),
        [model.H_bar],
        lr=settings.learning_rate,
        eps=settings.adam_epsilon,
    )
    with threads_for(graph), seeded(seed):
        only_prior = model.num_layers == 0
        if settings.pretrain_epochs and any(p.requires_grad for p in model.prior.parameters()):
            descend(
                model,
                model.prior_logits,
                _loss(model, target, optimizer, settings, phase=1),
                target,
                optimizer,
                best,
                epochs=settings.pretrain_epochs + (settings.epochs if only_prior else 0),
                choice=Choice(score, later_wins=True, also=optimizer.state),
                observe=seen,
            )
        if not only_prior:
            if best.epoch is not None and _restarts(settings, graph):
                best.restore()
            record.initial_from = initial_source(graph, split, settings)
            record.initial_compatibility = _initialise(model, graph, split, settings, seed)
            best = _end_to_end(model, target, optimizer, best, settings, score, seen)
    best.restore()
    model.eval()
    record.kept = best.epoch
    record.num_layers = 0 if best.epoch and best.epoch.phase == 1 else model.num_layers
    return record


def _loss(
    model: CPGNN, target: Target, optimizer: Adam, settings: Settings, phase: int
) -> Callable[[Tensor], Tensor]:
    """The loss of a phase; the authors' code adds both regularisers twice in the second."""
    factor = settings.regularizer_factor if phase == 2 else 1.0
    lambda_p = settings.prior_weight_decay * factor
    eta = settings.centering_weight * factor if phase == 2 else 0.0
    optimizer.weight_decay = 2 * lambda_p
    Theta_p = list(model.prior.parameters())
    return lambda logits: overall_loss(logits, target, Theta_p, model.H_bar, lambda_p, eta)


def _check_score(score: Score, target: Target, name: str) -> None:
    """A score that no epoch has cannot choose one."""
    labels = target.val(target.labels)
    uniform = torch.zeros(len(labels), target.view.graph.num_classes, device=labels.device)
    if len(labels) and np.isnan(score(uniform, labels)):
        raise must_be(
            "The validation nodes",
            advise("include a node of the positive class for {}", select_by=name),
            "none",
            advise("Try another split, or {}.", select_by="accuracy"),
        )


def _end_to_end(
    model: CPGNN,
    target: Target,
    optimizer: Adam,
    best: Best,
    settings: Settings,
    score: Score,
    observe: Observer,
) -> Best:
    """Phase 2. It must be strictly better than phase 1 to win, unless it is not to be compared."""
    stop = None if settings.patience is None else Patience(settings.patience)
    if settings.epochs == 0 or not target.has_validation:
        best, stop = Best(), None
    try:
        descend(
            model,
            model,
            _loss(model, target, optimizer, settings, phase=2),
            target,
            optimizer,
            best,
            phase=2,
            epochs=settings.epochs,
            choice=Choice(score, first_competes=settings.epochs == 0, stop=stop),
            observe=observe,
        )
    except DivergedError as error:
        raise _overflow(model, target, error.epoch) from None
    return best


def _restarts(settings: Settings, graph: Graph) -> bool:
    if settings.restart == "best with features":
        return graph.features is not None
    return settings.restart == "best"


def initial_source(graph: Graph, split: Split, settings: Settings) -> InitialSource:
    """Where H̄₀ comes from: chosen by the number of labels, never by their look.

    By default H comes from paths between labels where there are no features, so that the prior
    knows nothing of unlabelled neighbours, and fewer edges join two training nodes than there are
    pairs of classes: worth up to 13 points where like joins like (docs/doubt.md). The
    presets of the paper estimate it as the paper does.
    """
    if settings.init_H != "estimate":
        return "random" if settings.init_H == "glorot" else "paths"
    if settings.preset != "default" or graph.features is not None:
        return "beliefs"
    c, known = graph.num_classes, graph.adjacency[split.train][:, split.train]
    return "paths" if known.nnz / 2 < c * (c + 1) / 2 else "beliefs"


def _initialise(
    model: CPGNN, graph: Graph, split: Split, settings: Settings, seed: int
) -> np.ndarray | None:
    """Sets H̄ to its start unless it was given; returns the estimate Ĥ it started from."""
    if model.given_H:
        return None
    if settings.init_H == "glorot":
        bound = (6 / (2 * model.num_classes)) ** 0.5
        generator = torch.Generator().manual_seed(seed)
        H_bar = torch.empty(model.num_classes, model.num_classes)
        H_bar.uniform_(-bound, bound, generator=generator)
        estimate = None
    else:
        estimate = estimated_compatibility(model, graph, split, settings)
        H_bar = torch.from_numpy(initial_H_bar(estimate))
    with torch.no_grad():
        model.H_bar.copy_(H_bar)
    return estimate


def estimated_compatibility(
    model: CPGNN, graph: Graph, split: Split, settings: Settings
) -> np.ndarray:
    """Ĥ from the training labels and the prior's beliefs about their neighbours; from paths between
    labels where `initial_source` says so."""
    if initial_source(graph, split, settings) == "paths":
        return estimate_from_few(
            graph.adjacency, graph.labels, split.train, num_classes=graph.num_classes
        )
    field = model.view(graph).of(split.train).wider
    nodes = np.arange(graph.num_nodes) if field.nodes is None else field.nodes
    logits = evaluated(model, model.prior_logits, field)
    B_p = torch.softmax(logits, dim=1).double().cpu().numpy()
    y = np.zeros(len(nodes), dtype=np.int64)
    inside = np.searchsorted(nodes, split.train)
    y[inside] = graph.labels[split.train]
    A = graph.adjacency[split.train][:, nodes].astype(np.float64)
    B_tilde = enhanced_belief(B_p, y, inside)
    return estimate_compatibility(A, B_tilde, y[inside], weighting=settings.weighting)


def _overflow(model: CPGNN, target: Target, epoch: Epoch) -> BeliefOverflowError:
    """What made the beliefs grow: K layers, each by up to ρ(A)·ρ(H̄)."""
    # D^-1A is similar to D^-½AD^-½, which is symmetric: the same radius.
    A = target.view.graph.matrix("none" if model.normalization == "none" else "sym")
    rho_A = spectral_radius(A)
    rho_H = float(np.abs(np.linalg.eigvals(model.H_bar.detach().double().cpu().numpy())).max())
    growth = f"ρ(A)·ρ(H̄) = {rho_A:.3g} · {rho_H:.3g} = {rho_A * rho_H:.3g}"
    return BeliefOverflowError(
        Message(
            f"Beliefs grew beyond what {str(model.H_bar.dtype)[6:]} can tell apart after "
            f"{count(epoch.epoch, 'epoch')} of propagation with K = {model.num_layers}: each layer "
            f"multiplies them by up to {growth}, which must stay near 1 for many layers. ",
            advise("Try {}, or fewer layers.", normalization=("sym", "row")),
        )
    )
