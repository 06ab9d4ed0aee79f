"""What goes wrong, in one grammar: what, what it must be, what it got, what to try."""

from __future__ import annotations

import sys
import warnings
from numbers import Integral


class CPGNNError(Exception):
    """Base of every error that the library raises on purpose."""


class InputError(CPGNNError, ValueError):
    """Something handed to the library is not what it must be."""


class BeliefOverflowError(CPGNNError, ArithmeticError):
    """Propagated beliefs grew beyond what the number format can tell apart."""


class NotInductiveError(CPGNNError):
    """A model that knows its nodes by position was asked about other nodes."""


class GraphNotice(UserWarning):
    """Something about the input that was handled, and that its owner should know."""


class NumericalNotice(UserWarning):
    """A numerical routine returned its best effort; the message says how good it is."""


def notify(notice: str) -> None:
    """A `GraphNotice` at the line of the user's that led here, however deep inside we are."""
    level, frame = 1, sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "cpgnn":
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(notice, GraphNotice, stacklevel=level)


LARGEST_SEED = 2**63 - 1
"""What torch, NumPy and Spark all take."""


def check_count(what: str, count: object, *, least: int, most: int | None = None) -> None:
    """Raises unless `count` is a whole number of at least `least`, and at most `most`."""
    if not isinstance(count, Integral):
        raise must_be(what, "be a whole number", repr(count))
    if count < least:
        raise must_be(what, f"be at least {least}", count)
    if most is not None and int(count) > most:
        raise must_be(what, f"be at most {most}", count)


def must_be(what: str, must: str, got: object, hint: str = "") -> InputError:
    """An `InputError` in the house grammar, e.g. ``must_be("'train'", "lie in (0, 1)", 10)``."""
    message = f"{what} must {must}. Got {got}."
    return InputError(f"{message} {hint}" if hint else message)
