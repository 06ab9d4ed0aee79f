"""Adam in one fused pass over the weights, without bookkeeping that a small graph would feel."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import nn


class Lists(NamedTuple):
    """Weights that step together, as the kernel takes them: all share the memory of the weights."""

    weights: list[torch.Tensor]
    first_moments: list[torch.Tensor]
    second_moments: list[torch.Tensor]
    steps: list[torch.Tensor]


class FusedAdam:
    """Adam with the kernel of `torch.optim.Adam(…, fused=True)`, called without its options.

    On graphs of a few hundred nodes torch's own `step` spends more time on choosing how to step
    than the step takes. All weights share one count of steps, as in TensorFlow: a weight that
    joins at step 400 with moments of 0 gets no correction for them, and so moves about three times
    further in its first hundred steps than with a count of its own. H̄ learns from that. The
    weights must stay where they are from the first step on.
    """

    def __init__(self, param_groups: list[dict[str, Any]], *, lr: float, eps: float) -> None:
        self.param_groups = [{"lr": lr, "eps": eps, "weight_decay": 0.0} | g for g in param_groups]
        self.state: dict[nn.Parameter, dict[str, torch.Tensor]] = {}
        """Of each weight that has had a gradient: its moments and the shared count."""
        first = next(weight for group in param_groups for weight in group["params"])
        self._step = torch.zeros((), dtype=torch.float32, device=first.device)
        self._lists: dict[tuple[nn.Parameter, ...], Lists] = {}

    def step(self) -> None:
        self._step += 1
        for group in self.param_groups:
            weights = tuple(weight for weight in group["params"] if weight.grad is not None)
            if not weights:
                continue
            lists = self._lists.get(weights) or self._listed(weights)
            torch._fused_adam_(
                lists.weights,
                [weight.grad for weight in weights],
                lists.first_moments,
                lists.second_moments,
                [],
                lists.steps,
                lr=group["lr"],
                beta1=0.9,
                beta2=0.999,
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                amsgrad=False,
                maximize=False,
            )

    def _listed(self, weights: tuple[nn.Parameter, ...]) -> Lists:
        states = [self.state.get(weight) or self._start(weight) for weight in weights]
        self._lists[weights] = Lists(
            [weight.detach() for weight in weights],
            [state["exp_avg"] for state in states],
            [state["exp_avg_sq"] for state in states],
            [self._step] * len(weights),
        )
        return self._lists[weights]

    def _start(self, weight: nn.Parameter) -> dict[str, torch.Tensor]:
        self.state[weight] = {
            "step": self._step,
            "exp_avg": torch.zeros_like(weight),
            "exp_avg_sq": torch.zeros_like(weight),
        }
        return self.state[weight]
