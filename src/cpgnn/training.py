"""The one training loop, and the three phases of CPGNN: pretrain → initialise H̄ → end to end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import torch
from torch import Tensor, nn

from cpgnn.compatibility import (
    centering_penalty,
    enhanced_belief,
    estimate_compatibility,
    initial_H_bar,
)
from cpgnn.dense import mean_cross_entropy
from cpgnn.errors import BeliefOverflowError, must_be
from cpgnn.graph import Graph
from cpgnn.model import CPGNN
from cpgnn.scores import Score, accuracy, validation_score
from cpgnn.selection import Split
from cpgnn.settings import Settings
from cpgnn.sparse import View

LARGEST_LOSS = 2.0**23
"""A mean cross-entropy beyond this means logits whose float32 neighbours differ by more than 1."""


@dataclass(frozen=True)
class Epoch:
    """What an observer sees of an epoch. `epoch` counts the updates made in its phase."""

    phase: int
    epoch: int
    loss: float
    train_accuracy: float
    score: float


Observer = Callable[[Epoch], None]
StopRule = Callable[[Epoch, Callable[[], float]], bool]
"""Asked after every epoch, with a way to the validation loss: is it enough?"""
KeepRule = Callable[[Epoch, Callable[[], float]], bool]
"""Asked after every epoch, before the stop rule: is this the one to keep so far?"""


@dataclass
class Training:
    """What training did: every epoch, which one was kept, and the estimate H̄ started from."""

    epochs: list[Epoch] = field(default_factory=list)
    kept: Epoch | None = None
    initial_compatibility: np.ndarray | None = None

    @property
    def phase(self) -> int:
        """The phase of the kept epoch: 1 means that the prior alone was best."""
        return self.kept.phase if self.kept else 2


@dataclass(frozen=True)
class Target:
    """The labelled rows of a graph: training nodes first, then validation nodes."""

    view: View
    labels: Tensor
    num_train: int
    class_weight: Tensor | None

    @classmethod
    def of(cls, graph_view: View, split: Split, class_weight: str | None = None) -> Target:
        graph = graph_view.graph
        nodes = np.concatenate([split.train, split.val])
        if nodes.max() >= graph.num_nodes:
            what = f"be below the number of nodes ({graph.num_nodes})"
            raise must_be("A position in the split", what, nodes.max())
        y = graph.labels[nodes]
        if (y < 0).any():
            unlabelled = graph.node_ids[nodes[y < 0][0]]
            raise must_be("Training and validation nodes", "be labelled", f"node {unlabelled!r}")
        weight = None
        if class_weight == "balanced":
            counts = np.bincount(graph.labels[split.train], minlength=graph.num_classes)
            present = (counts > 0).sum()
            weight = len(split.train) / (present * np.maximum(counts, 1))
            weight = torch.as_tensor(weight, dtype=graph_view.dtype, device=graph_view.device)
        labels = torch.from_numpy(y).to(graph_view.device)
        return cls(graph_view.of(nodes), labels, len(split.train), weight)

    def loss(self, logits: Tensor) -> Tensor:
        """Mean cross-entropy over the training nodes."""
        train = self.num_train
        return mean_cross_entropy(logits[:train], self.labels[:train], self.class_weight)

    def validation_loss(self, logits: Tensor) -> float:
        train = self.num_train
        return float(mean_cross_entropy(logits[train:], self.labels[train:], self.class_weight))


class Best:
    """The best epoch so far and a copy of its weights (and of Adam's moments, if wanted)."""

    def __init__(self) -> None:
        self.epoch: Epoch | None = None
        self._live: list[Tensor] = []
        self._copy: list[Tensor] = []

    def offer(self, epoch: Epoch, live: Callable[[], list[Tensor]], *, later_wins: bool) -> bool:
        score = -np.inf if self.epoch is None else self.epoch.score
        better = epoch.score > score or (later_wins and epoch.score == score)
        if better or self.epoch is None:
            self.take(epoch, live)
        return better

    def take(self, epoch: Epoch, live: Callable[[], list[Tensor]]) -> None:
        """Keeps this epoch in place of the one before."""
        self.epoch = epoch
        self._live = live()
        if len(self._copy) != len(self._live):
            self._copy = [torch.empty_like(tensor) for tensor in self._live]
        with torch.no_grad():
            for copy, tensor in zip(self._copy, self._live, strict=True):
                copy.copy_(tensor)

    def restore(self) -> None:
        with torch.no_grad():
            for copy, tensor in zip(self._copy, self._live, strict=True):
                tensor.copy_(copy)


def descend(
    model: nn.Module,
    forward: Callable[[View], Tensor],
    target: Target,
    optimizer: torch.optim.Optimizer,
    best: Best,
    *,
    epochs: int,
    phase: int = 1,
    score: Score = accuracy,
    loss_of: Callable[[Tensor], Tensor] | None = None,
    penalty: Callable[[], Tensor] | None = None,
    schedule: torch.optim.lr_scheduler.LRScheduler | None = None,
    stop: StopRule | None = None,
    keep: KeepRule | None = None,
    keep_moments: bool = False,
    later_wins: bool = False,
    first_competes: bool = False,
    observe: Observer | None = None,
) -> None:
    """Gradient descent on the labelled rows; the best epoch ends up in `best`.

    Where nothing is random, the pass that gives the loss also gives the validation score of the
    same weights, so an epoch is one pass. Epoch e is the state after e updates; the state before
    the first update competes only if asked to. Without validation nodes the last epoch is kept.
    `loss_of` replaces the mean cross-entropy over the training nodes (by that over a batch, say),
    and `keep` the highest score as the choice of the epoch.
    """
    loss_of = loss_of or target.loss
    validated = len(target.labels) > target.num_train
    one_pass = not _mode_matters(model, forward, target.view)

    def live() -> list[Tensor]:
        tensors = [*model.parameters(), *model.buffers()]
        if keep_moments:
            states = [optimizer.state[p] for p in model.parameters() if p in optimizer.state]
            tensors += [state[key] for state in states for key in sorted(state)]
        return tensors

    for updates in range(epochs + 1):
        last = updates == epochs
        if one_pass:
            logits = forward(target.view)
            seen = logits.detach()
        else:
            seen = _evaluated(model, forward, target.view)
            logits = forward(target.view)
        loss = loss_of(logits)
        epoch = Epoch(
            phase,
            updates,
            loss.item(),
            accuracy(seen[: target.num_train], target.labels[: target.num_train]),
            score(seen[target.num_train :], target.labels[target.num_train :]),
        )
        if not epoch.loss < LARGEST_LOSS:
            raise _overflow(model, target, epoch)
        if updates > 0 or first_competes:
            validation_loss = partial(target.validation_loss, seen)
            if keep is not None:
                if keep(epoch, validation_loss):
                    best.take(epoch, live)
            elif validated or last:
                best.offer(epoch, live, later_wins=later_wins or not validated)
            if observe is not None:
                observe(epoch)
            if stop is not None and stop(epoch, validation_loss):
                break
        if last:
            break
        optimizer.zero_grad(set_to_none=True)
        (loss if penalty is None else loss + penalty()).backward()
        optimizer.step()
        if schedule is not None:
            schedule.step()


class Patience:
    """Stops after so many epochs without a better score; a new one for every phase.

    With `ties`, an epoch that equals the best starts the count again.
    """

    def __init__(self, epochs: int, *, ties: bool = False) -> None:
        self.epochs, self.ties, self.best, self.since = epochs, ties, -np.inf, 0

    def __call__(self, epoch: Epoch, validation_loss: Callable[[], float]) -> bool:
        if epoch.score > self.best or (self.ties and epoch.score == self.best):
            self.best, self.since = epoch.score, epoch.epoch
        return epoch.epoch - self.since >= self.epochs


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
        if observe is not None:
            observe(epoch)

    optimizer = torch.optim.Adam(
        [
            {"params": list(model.prior.parameters())},
            {"params": [model.H_bar] if model.H_bar.requires_grad else []},
        ],
        lr=settings.learning_rate,
        eps=settings.adam_epsilon,
        fused=True,
    )
    prior_group = optimizer.param_groups[0]
    score = validation_score(settings.select_by)
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
            f"show a node of the positive class, for select_by={name!r}",
            "none",
            "Try another split, or select_by='accuracy'.",
        )


def _end_to_end(
    model: CPGNN,
    target: Target,
    optimizer: torch.optim.Optimizer,
    best: Best,
    settings: Settings,
    score: Score,
    observe: Observer,
) -> Best:
    """Phase 2. It must be strictly better than phase 1 to win, unless it is not to be compared."""
    factor = settings.regularizer_factor
    _share_step_count(optimizer, model.H_bar)
    optimizer.param_groups[0]["weight_decay"] = 2 * settings.prior_weight_decay * factor
    eta = settings.centering_weight * factor
    penalised = eta > 0 and model.H_bar.requires_grad
    nothing_to_choose = settings.epochs == 0 or len(target.labels) == target.num_train
    best = Best() if nothing_to_choose else best
    patience = None if nothing_to_choose else settings.patience
    descend(
        model,
        model,
        target,
        optimizer,
        best,
        phase=2,
        epochs=settings.epochs,
        score=score,
        penalty=(lambda: eta * centering_penalty(model.H_bar)) if penalised else None,
        stop=None if patience is None else Patience(patience),
        first_competes=settings.epochs == 0,
        observe=observe,
    )
    return best


def _share_step_count(optimizer: torch.optim.Optimizer, late: nn.Parameter) -> None:
    """Counts the steps of a weight that joins late from the optimiser's first one.

    One Adam for both phases has one count, as in TensorFlow: a weight that starts at step 400
    with moments of 0 gets no correction for them, and so moves about three times further in its
    first hundred steps than torch's count for each weight would let it. H̄ learns from that.
    """
    steps = [state["step"] for state in optimizer.state.values() if "step" in state]
    if steps and late.requires_grad:
        optimizer.state[late] = {
            "step": steps[0].clone(),
            "exp_avg": torch.zeros_like(late),
            "exp_avg_sq": torch.zeros_like(late),
        }


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
    logits = _evaluated(model, model.prior_logits, field)
    B_p = torch.softmax(logits, dim=1).double().cpu().numpy()
    y = np.zeros(len(nodes), dtype=np.int64)
    inside = np.searchsorted(nodes, split.train)
    y[inside] = graph.labels[split.train]
    A = graph.adjacency[split.train][:, nodes].astype(np.float64)
    B_tilde = enhanced_belief(B_p, y, inside)
    return estimate_compatibility(A, B_tilde, y[inside], weighting=settings.weighting)


def _evaluated(model: nn.Module, forward: Callable[[View], Tensor], view: View) -> Tensor:
    """Logits as at prediction time: no dropout, no gradient. Leaves the model in training mode."""
    model.eval()
    with torch.no_grad():
        logits = forward(view)
    model.train()
    return logits


def _mode_matters(model: nn.Module, forward: Callable[[View], Tensor], view: View) -> bool:
    """Whether training mode computes something else than evaluation (dropout, batch norm)."""
    buffers = [(buffer, buffer.clone()) for buffer in model.buffers()]
    evaluated = _evaluated(model, forward, view)
    with torch.no_grad():
        differs = not torch.equal(forward(view), evaluated)
        for buffer, before in buffers:
            buffer.copy_(before)
    return differs


def _overflow(model: nn.Module, target: Target, epoch: Epoch) -> BeliefOverflowError:
    if epoch.phase == 1 or not isinstance(model, CPGNN):
        return BeliefOverflowError(
            f"The loss must stay finite. Got {epoch.loss:g} after {epoch.epoch} epochs of the "
            "prior. Try feature_scaling='standard' or a smaller learning rate."
        )
    from scipy.sparse.linalg import eigsh

    # D^-1A is similar to D^-½AD^-½, which is symmetric: the same radius.
    A = target.view.graph.matrix("none" if model.normalization == "none" else "sym")
    rho_A = float(abs(eigsh(A.astype(np.float64), k=1, return_eigenvectors=False)[0]))
    rho_H = float(np.abs(np.linalg.eigvals(model.H_bar.detach().double().cpu().numpy())).max())
    return BeliefOverflowError(
        f"Beliefs grew beyond what {str(model.H_bar.dtype)[6:]} can tell apart after "
        f"{epoch.epoch} epochs of propagation with K = {model.num_layers}: each layer multiplies "
        f"them by up to ρ(A)·ρ(H̄) = {rho_A:.3g} · {rho_H:.3g} = {rho_A * rho_H:.3g}, which must "
        "stay near 1 for many layers. Try normalization='sym' or 'row', or fewer layers."
    )


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's random numbers from `seed` inside, as they were outside."""
    with torch.random.fork_rng(devices=range(torch.cuda.device_count())):
        torch.manual_seed(seed)
        yield
