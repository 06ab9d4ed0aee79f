"""What an array of a model file must be, and what is wrong with one that is something else."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor


@dataclass(frozen=True)
class Numbers:
    """Finite numbers in this shape."""

    shape: tuple[int, ...]
    each: Literal["number", "share", "sum"] = "number"
    """A share lies between 0 and 1, a sum is not negative."""
    gaps: bool = False
    """Whether some may be NaN."""

    def fault(self, array: Tensor) -> str | None:
        if tuple(array.shape) != self.shape:
            return f"has the shape {tuple(array.shape)}; model.json asks for {self.shape}"
        known = array[~array.isnan()] if self.gaps else array
        kinds = (torch.float32, torch.float64)  # a model may have been trained in either
        if array.dtype not in kinds or not known.isfinite().all():
            return "does not hold finite numbers"
        most = 1.0 if self.each == "share" else math.inf
        if self.each != "number" and not ((known >= 0) & (known <= most)).all():
            return f"holds a number that is no {self.each}"
        return None


@dataclass(frozen=True)
class Wholes:
    """A list of whole numbers within bounds."""

    least: int
    most: int
    length: int | None = None

    def fault(self, array: Tensor) -> str | None:
        flat = array.dtype == torch.int64 and array.ndim == 1
        if not flat or self.length not in (None, len(array)):
            return "is not a list of whole numbers"
        if ((array < self.least) | (array > self.most)).any():
            return f"has a number outside {self.least} … {self.most:,}"
        return None


@dataclass(frozen=True)
class Text:
    """Bytes, of which others make sense."""

    def fault(self, array: Tensor) -> str | None:
        return None if array.dtype == torch.uint8 and array.ndim == 1 else "is not text"


Forms = dict[str, Numbers | Wholes | Text]
"""By name, what each array of a file must be."""
