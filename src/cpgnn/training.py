"""The three phases of CPGNN: pretrain the prior → initialise H̄ → both end to end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

import numpy as np
import torch
from torch import Tensor

from cpgnn.compatibility import centering_penalty
from cpgnn.engine.adam import Adam
from cpgnn.engine.distant import spectral_radius
from cpgnn.engine.initial import initial_source, initialise
from cpgnn.engine.loop import (
    Best,
    Choice,
    DivergedError,
    Epoch,
    Observer,
    Patience,
    Training,
    check_trainable,
    descend,
)
from cpgnn.engine.randomness import seeded
from cpgnn.engine.scores import check_score, validation_score
from cpgnn.engine.target import Target, cross_entropy
from cpgnn.engine.text import count
from cpgnn.engine.threads import threads_for
from cpgnn.engine.views import View
from cpgnn.errors import BeliefOverflowError, Message, advise
from cpgnn.graph import Graph
from cpgnn.model import CPGNN
from cpgnn.settings import Settings
from cpgnn.splits import Split


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
    return (
        cross_entropy(target.train(logits), target.train_labels, target.class_weight)
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
    check_score(score, target, settings.select_by)
    check_trainable(model)
    Theta_p, propagates = list(model.prior.parameters()), model.num_layers > 0
    # One Adam for both phases. H̄ takes part from the start, with gradients of 0 in phase 1: it
    # joins phase 2 at the step count of all weights and so moves about three times further in its
    # first hundred steps than with a count of its own.
    optimizer = Adam(Theta_p, [model.H_bar], lr=settings.learning_rate, eps=settings.adam_epsilon)
    record, best = Training(), Best()
    seen = record.recorder(observe, model.H_bar)

    def run(phase: int, forward: Callable[[View], Tensor], epochs: int, choice: Choice) -> None:
        # The authors' code adds both regularisers twice in the second phase.
        factor = settings.regularizer_factor if phase == 2 else 1.0
        lambda_p = settings.prior_weight_decay * factor
        eta = settings.centering_weight * factor if phase == 2 else 0.0
        optimizer.weight_decay = 2 * lambda_p

        def loss(logits: Tensor) -> Tensor:
            return overall_loss(logits, target, Theta_p, model.H_bar, lambda_p, eta)

        how = partial(descend, phase=phase, epochs=epochs, choice=choice, observe=seen)
        how(model, forward, loss, target, optimizer, best)

    with threads_for(graph), seeded(seed):
        if settings.pretrain_epochs and any(W.requires_grad for W in Theta_p):
            epochs = settings.pretrain_epochs + (0 if propagates else settings.epochs)
            choice = Choice(score, later_wins=True, also=optimizer.state)
            run(1, model.prior_logits, epochs, choice)
        if propagates:
            with_features = graph.features is not None
            restarts = {"best": True, "best with features": with_features, "never": False}
            if best.epoch is not None and restarts[settings.restart]:
                best.restore()
            record.initial_from = initial_source(graph, split, settings)
            record.initial_compatibility = initialise(model, graph, split, settings, seed)
            choice = Choice(score, first_competes=settings.epochs == 0)
            if settings.epochs == 0 or not target.has_validation:
                best = Best()  # nothing to compare the phases by
            elif settings.patience is not None:
                choice = replace(choice, stop=Patience(settings.patience))
            try:
                run(2, model, settings.epochs, choice)
            except DivergedError as error:
                raise _overflow(model, target, error.epoch) from None
    best.restore()
    model.eval()
    record.kept = best.epoch
    record.num_layers = 0 if best.epoch and best.epoch.phase == 1 else model.num_layers
    return record


def _overflow(model: CPGNN, target: Target, epoch: Epoch) -> BeliefOverflowError:
    """What made the beliefs grow: K layers, each by up to ρ(A)·ρ(H̄)."""
    # D^-1A is similar to D^-½AD^-½, which is symmetric: the same radius.
    A = target.view.graph.matrix("none" if model.normalization == "none" else "sym")
    rho_A = spectral_radius(A)
    rho_H = float(np.abs(np.linalg.eigvals(model.H_bar.double().numpy(force=True))).max())
    growth = f"ρ(A)·ρ(H̄) = {rho_A:.3g} · {rho_H:.3g} = {rho_A * rho_H:.3g}"
    text = (
        f"Beliefs grew beyond what {str(model.H_bar.dtype)[6:]} can tell apart after "
        f"{count(epoch.epoch, 'epoch')} of propagation with K = {model.num_layers}: each layer "
        f"multiplies them by up to {growth}, which must stay near 1 for many layers. "
    )
    hint = advise("Try {}, or fewer layers.", normalization=("sym", "row"))
    return BeliefOverflowError(Message(text, hint))
