"""Adam in one fused pass over the weights, without bookkeeping that a small graph would feel."""

from __future__ import annotations

from typing import Any

import torch


class FusedAdam(torch.optim.Adam):
    """`torch.optim.Adam(…, fused=True)`: the same kernel and state, called without its options.

    On graphs of a few hundred nodes torch's own `step` spends more time on choosing how to step
    than the step takes.
    """

    def __init__(self, params: Any, *, lr: float, eps: float) -> None:
        super().__init__(params, lr=lr, eps=eps, fused=True)

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # type: ignore[override]
        for group in self.param_groups:
            weights = [weight for weight in group["params"] if weight.grad is not None]
            if not weights:
                continue
            states = [self.state[weight] or self._start(weight) for weight in weights]
            steps = [state["step"] for state in states]
            torch._foreach_add_(steps, 1)
            torch._fused_adam_(
                weights,
                [weight.grad for weight in weights],
                [state["exp_avg"] for state in states],
                [state["exp_avg_sq"] for state in states],
                [],
                steps,
                lr=group["lr"],
                beta1=group["betas"][0],
                beta2=group["betas"][1],
                weight_decay=group["weight_decay"],
                eps=group["eps"],
                amsgrad=False,
                maximize=False,
            )

    def _start(self, weight: torch.Tensor) -> dict[str, torch.Tensor]:
        state = self.state[weight]
        state["step"] = torch.zeros((), dtype=torch.float32, device=weight.device)
        state["exp_avg"] = torch.zeros_like(weight)
        state["exp_avg_sq"] = torch.zeros_like(weight)
        return state
