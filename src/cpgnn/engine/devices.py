"""Where tensors live."""

from __future__ import annotations

import torch

from cpgnn.errors import advise, wrong_value


def check_device(device: str | torch.device) -> None:
    """Raises unless torch can make a tensor on this device here."""
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, TypeError, NotImplementedError):
        hint = advise("Try {}.", device="cpu")
        must = "be one that torch can use here"
        raise wrong_value("device", must, repr(device), hint) from None
