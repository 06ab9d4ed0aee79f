"""The three phases of CPGNN: pretrain the prior → initialise H̄ → both end to end."""

from __future__ import annotations

import numpy as np
import torch

from cpgnn.compatibility import (
    add_centering_gradient,
    enhanced_belief,
    estimate_compatibility,
    initial_H_bar,
)
from cpgnn.engine.adam import FusedAdam
from cpgnn.engine.loop import (
    Best,
    DivergedError,
    Epoch,
    Observer,
    Patience,
    Target,
    Training,
    descend,
    evaluated,
    seeded,
)
from cpgnn.engine.scores import Score, validation_score
from cpgnn.errors import BeliefOverflowError, Message, advise, must_be
from cpgnn.graph import Graph
from cpgnn.model import CPGNN
from cpgnn.settings import Settings
from cpgnn.splits import Split

H_BAR_EVERY = 10
"""Epochs of the second phase between two copies of H̄ that are kept to show how it was learned."""


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

    The graph's features are taken as they are (scale them with `FeatureScaler` first). When an
    epoch of the first phase is best, the model becomes its prior alone: `num_layers = 0`. The
    same seed gives the same weights on the same machine.
    """
    settings = settings or Settings()
    target = Target.of(model.view(graph), split, settings.class_weight)
    record = Training()

    def seen(epoch: Epoch) -> None:
        record.epochs.append(epoch)
        if epoch.phase == 2 and epoch.epoch % H_BAR_EVERY == 0:
            record.H_bars[epoch.epoch] = model.H_bar.detach().cpu().numpy().copy()
        if observe is not None:
            observe(epoch)

    optimizer = FusedAdam(
        [
            {"params": list(model.prior.parameters())},
            {"params": [model.H_bar] if model.H_bar.requires_grad else []},
        ],
        lr=settings.learning_rate,
        eps=settings.adam_epsilon,
    )
    prior_group = optimizer.param_groups[0]
    score = validation_score(settings.select_by, settings.positive)
    _check_score(score, target, settings.select_by)
    best = Best()
    with seeded(seed):
        # Phase 1. Ties go to the later epoch; L2 with weight λ has the gradient 2λW.
        prior_group["weight_decay"] = 2 * settings.prior_weight_decay
        only_prior = model.num_layers == 0
        if settings.pretrain_epochs and any(p.requires_grad for p in model.prior.parameters()):
            descend(
                model,
                model.prior_logits,
                target,
                optimizer,
                best,
                epochs=settings.pretrain_epochs + (settings.epochs if only_prior else 0),
                score=score,
                keep_moments=True,
                later_wins=True,
                observe=seen,
            )
        if not only_prior:
            if best.epoch is not None and _restarts(settings, graph):
                best.restore()
            record.initial_compatibility = _initialise(model, graph, split, settings, seed)
            best = _end_to_end(model, target, optimizer, best, settings, score, seen)
    best.restore()
    model.eval()
    record.kept = best.epoch
    if best.epoch is not None and best.epoch.phase == 1:
        model.num_layers = 0
    return record


def _check_score(score: Score, target: Target, name: str) -> None:
    """A score that no epoch has cannot choose one."""
    labels = target.labels[target.num_train :]
    uniform = torch.zeros(len(labels), target.view.graph.num_classes)
    if len(labels) and np.isnan(score(uniform.to(labels.device), labels)):
        raise must_be(
            "The validation nodes",
            advise("show a node of the positive class, for {}", select_by=name),
            "none",
            advise("Try another split, or {}.", select_by="accuracy"),
        )


def _end_to_end(
    model: CPGNN,
    target: Target,
    optimizer: FusedAdam,
    best: Best,
    settings: Settings,
    score: Score,
    observe: Observer,
) -> Best:
    """Phase 2. It must be strictly better than phase 1 to win, unless it is not to be compared."""
    factor = settings.regularizer_factor
    optimizer.param_groups[0]["weight_decay"] = 2 * settings.prior_weight_decay * factor
    eta = settings.centering_weight * factor
    penalised = eta > 0 and model.H_bar.requires_grad
    nothing_to_choose = settings.epochs == 0 or len(target.labels) == target.num_train
    best = Best() if nothing_to_choose else best
    patience = None if nothing_to_choose else settings.patience
    try:
        descend(
            model,
            model,
            target,
            optimizer,
            best,
            phase=2,
            epochs=settings.epochs,
            score=score,
            regularize=(lambda: add_centering_gradient(model.H_bar, eta)) if penalised else None,
            stop=None if patience is None else Patience(patience),
            first_competes=settings.epochs == 0,
            observe=observe,
        )
    except DivergedError as error:
        raise _overflow(model, target, error.epoch) from None
    return best


def _restarts(settings: Settings, graph: Graph) -> bool:
    if settings.restart == "best with features":
        return graph.features is not None
    return settings.restart == "best"


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
    """Ĥ from the training labels and the prior's beliefs about their neighbours."""
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
    from scipy.sparse.linalg import eigsh

    # D^-1A is similar to D^-½AD^-½, which is symmetric: the same radius.
    A = target.view.graph.matrix("none" if model.normalization == "none" else "sym")
    rho_A = float(abs(eigsh(A.astype(np.float64), k=1, return_eigenvectors=False)[0]))
    rho_H = float(np.abs(np.linalg.eigvals(model.H_bar.detach().double().cpu().numpy())).max())
    growth = f"ρ(A)·ρ(H̄) = {rho_A:.3g} · {rho_H:.3g} = {rho_A * rho_H:.3g}"
    return BeliefOverflowError(
        Message(
            f"Beliefs grew beyond what {str(model.H_bar.dtype)[6:]} can tell apart after "
            f"{epoch.epoch} epochs of propagation with K = {model.num_layers}: each layer "
            f"multiplies them by up to {growth}, which must stay near 1 for many layers. ",
            advise("Try {}, or fewer layers.", normalization=("sym", "row")),
        )
    )
