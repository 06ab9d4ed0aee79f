"""Adam for small graphs: torch's kernel without the bookkeeping around it."""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn


class Adam:
    """`torch.optim.Adam(fused=True)` with one count of steps for all weights, as in TensorFlow.

    `decayed` are the weights Θ of a term λ‖Θ‖² of the loss, whose gradient 2λΘ the kernel adds in
    the pass it makes anyway (`weight_decay` = 2λ); `others` have none. With torch's own `step` an
    epoch costs 1.32 times as much on Texas without features and 1.23 times with them; with λ‖Θ‖²
    left to autograd, too, 1.46 and 1.42 times, and 1.27 times on Squirrel without features
    (`benchmarks/epoch.py`); with a Chebyshev prior neither matters. The tensors of the weights must
    not be replaced.
    """

    def __init__(
        self,
        decayed: Iterable[nn.Parameter],
        others: Iterable[nn.Parameter],
        *,
        lr: float,
        eps: float,
    ) -> None:
        self.lr, self.eps, self.weight_decay = lr, eps, 0.0
        self.groups = [_Group(decayed), _Group(others)]
        first = next(weight for group in self.groups for weight in group.weights)
        self.count = torch.zeros((), device=first.device)

    @property
    def state(self) -> list[Tensor]:
        """What a step changes beside the weights."""
        return [self.count, *(m for group in self.groups for m in group.first + group.second)]

    def zero_grad(self) -> None:
        for group in self.groups:
            for weight in group.weights:
                weight.grad = None

    def step(self) -> None:
        """A weight without a gradient stays as it is, while its moments fade."""
        self.count += 1
        for group, decay in zip(self.groups, (self.weight_decay, 0.0), strict=True):
            if group.weights:
                torch._fused_adam_(
                    group.values,
                    [torch.zeros_like(w) if w.grad is None else w.grad for w in group.weights],
                    group.first,
                    group.second,
                    [],
                    [self.count] * len(group.weights),
                    lr=self.lr,
                    beta1=0.9,
                    beta2=0.999,
                    weight_decay=decay,
                    eps=self.eps,
                    amsgrad=False,
                    maximize=False,
                )


class _Group:
    """Weights that step together, and their moments."""

    def __init__(self, weights: Iterable[nn.Parameter]) -> None:
        self.weights = [weight for weight in weights if weight.requires_grad]
        self.values = [weight.detach() for weight in self.weights]
        self.first = [torch.zeros_like(value) for value in self.values]
        self.second = [torch.zeros_like(value) for value in self.values]
