"""When the public code of the baselines stops, and which epoch it keeps."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from cpgnn.engine.loop import Epoch


class RisingLoss:
    """Stops when the validation loss exceeds its mean over the last `window` epochs (GCN).

    `penalty` is added to the loss: the public code counts the L2 term too.
    """

    def __init__(self, window: int, penalty: Callable[[], float]) -> None:
        self.window, self.penalty = window, penalty
        self.last: deque[float] = deque(maxlen=window)

    def __call__(self, epoch: Epoch, validation_loss: Callable[[], float]) -> bool:
        loss = validation_loss() + self.penalty()
        # Not before epoch w + 2: the public code counts from 0 and asks for more than w epochs.
        full = epoch.epoch > self.window + 1
        rises = full and loss > np.mean(self.last)
        self.last.append(loss)
        return bool(rises)


class LossAndAccuracy:
    """Keeps the latest epoch that matches the best validation loss and accuracy so far (GAT).

    Stops after `patience` epochs that match neither. `keep` is asked before `stop`.
    """

    def __init__(self, patience: int) -> None:
        self.patience = patience
        self.accuracy, self.loss, self.since = -np.inf, np.inf, 0

    def keep(self, epoch: Epoch, validation_loss: Callable[[], float]) -> bool:
        loss = validation_loss()
        matches = epoch.score >= self.accuracy, loss <= self.loss
        if any(matches):
            self.since = epoch.epoch
        self.accuracy, self.loss = max(self.accuracy, epoch.score), min(self.loss, loss)
        return all(matches)

    def stop(self, epoch: Epoch, validation_loss: Callable[[], float]) -> bool:
        return epoch.epoch - self.since >= self.patience
