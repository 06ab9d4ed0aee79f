"""What goes wrong, in one grammar: what, what it must be, what it got, what to try.

An error knows what it is about: a parameter, a file, a line. Where its words name parameters, each
surface spells them as its users write them: ``impute='median'`` in Python, ``--impute median`` on
the command line.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import cache
from numbers import Integral, Real
from types import NoneType, UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

Frozen = TypeVar("Frozen", bound=Any)


@dataclass(frozen=True)
class Mention:
    """A parameter, values of it, or both, in a message. `str` spells it as in Python."""

    parameter: str = ""
    values: tuple[object, ...] = ()

    def __str__(self) -> str:
        if not self.values:
            return f"'{self.parameter}'"
        values = either([repr(value) for value in self.values])
        return f"{self.parameter}={values}" if self.parameter else values


Spelling = Callable[[Mention], str]
"""How a surface writes parameters and their values."""


class Message(str):
    """Text that mentions parameters. As a string it is Python's; `spelt` is another surface's."""

    parts: tuple[str | Mention, ...]

    def __new__(cls, *parts: str | Mention) -> Message:
        flat: list[str | Mention] = []
        for part in parts:
            flat.extend(part.parts if isinstance(part, Message) else [part])
        message = super().__new__(cls, "".join(map(str, flat)))
        message.parts = tuple(flat)
        return message

    def __getnewargs__(self) -> Any:  # str's own are for copies and pickles of plain text
        return self.parts

    def spelt(self, spelling: Spelling) -> str:
        return "".join(spelling(part) if isinstance(part, Mention) else part for part in self.parts)


def advise(template: str, **settings: object) -> Message:
    """Advice that names settings; a tuple of values is a choice among them.

    >>> advise("Fill it, or use {}.", impute="median")
    "Fill it, or use impute='median'."
    >>> advise("Try {}, or fewer layers.", normalization=("sym", "row"))
    "Try normalization='sym' or 'row', or fewer layers."
    """
    first, *rest = template.split("{}")
    parts: list[str | Mention] = [first]
    for (name, value), text in zip(settings.items(), rest, strict=True):
        parts += [Mention(name, value if isinstance(value, tuple) else (value,)), text]
    return Message(*parts)


def mentions(text: str, parameter: str) -> bool:
    """Whether a message names this parameter."""
    parts = text.parts if isinstance(text, Message) else ()
    return any(isinstance(part, Mention) and part.parameter == parameter for part in parts)


class CPGNNError(Exception):
    """Base of every error that the library raises on purpose."""

    def spelt(self, spelling: Spelling) -> str:
        """The message with parameters spelt as on another surface, e.g. the command line."""
        message = self.args[0] if self.args else ""
        return message.spelt(spelling) if isinstance(message, Message) else str(self)


class InputError(CPGNNError, ValueError):
    """Something handed to the library is not what it must be."""

    parameter: str | None = None
    """The parameter that is wrong, where it is one."""
    file: str | None = None
    """The file that is wrong, where it is one."""
    line: int | None = None
    """Its line, from 1, where that is known."""
    affected: int | None = None
    """How many rows of the file are wrong; None if it is not about rows."""
    problems: tuple[InputError, ...] = ()
    """What is wrong one by one, where it is more than one thing."""


class BeliefOverflowError(CPGNNError, ArithmeticError):
    """Propagated beliefs grew beyond what the number format can tell apart."""


class NotInductiveError(CPGNNError):
    """A model that knows its nodes by position was asked about other nodes."""


class GraphNotice(UserWarning):
    """Something about the input that was handled, and that its owner should know."""


class NumericalNotice(UserWarning):
    """A numerical routine returned its best effort; the message says how good it is."""


def notify(notice: str) -> None:
    """A `GraphNotice`, reported at the line of the caller's own code that led here."""
    level, frame = 1, sys._getframe()
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] == "cpgnn":
        level, frame = level + 1, frame.f_back  # type: ignore[assignment]
    warnings.warn(notice, GraphNotice, stacklevel=level)


LARGEST_SEED = 2**63 - 1
"""What torch, NumPy and Spark all take."""


def must_be(what: str | Mention, must: str, got: object, hint: str = "") -> InputError:
    """An `InputError` in the house grammar, e.g. ``must_be("The file", "exist", "nothing")``."""
    parts = (what, " must ", must, f". Got {tidy(str(got), 390)}.", " " * bool(hint), hint)
    return InputError(Message(*(tidy(part) if type(part) is str else part for part in parts)))


def tidy(text: str, most: int = 400) -> str:
    r"""Text from elsewhere, made fit for a message: on one line, and not too long.

    Control characters, which could rewrite a terminal, are escaped.

    >>> tidy("red\x1b[31m"), tidy("a" * 9, most=6)
    ('red\\x1b[31m', 'aaa…aa')
    """
    if len(text) > most:
        text = f"{text[: most // 2]}…{text[len(text) - (most - 1) // 2 :]}"
    if text.isprintable():
        return text
    shown = (c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return "".join(shown)


def wrong_value(parameter: str, must: str, got: object, hint: str = "") -> InputError:
    """The error for a parameter: ``wrong_value("train", "lie in (0, 1)", 10)``."""
    error = must_be(Mention(parameter), must, got, hint)
    error.parameter = parameter
    return error


def check_choice(parameter: str, value: object, choices: Sequence[object]) -> None:
    """Raises unless the value of this parameter is one of the choices."""
    if value not in choices:
        raise wrong_value(parameter, Message("be ", Mention(values=tuple(choices))), repr(value))


def check_count(parameter: str, count: object, *, least: int, most: int | None = None) -> int:
    """The count, if it is a whole number of at least `least`, and at most `most`."""
    if isinstance(count, bool) or not isinstance(count, Integral):
        raise wrong_value(parameter, "be a whole number", repr(count))
    if count < least:
        raise wrong_value(parameter, f"be at least {least}", count)
    if most is not None and int(count) > most:
        raise wrong_value(parameter, f"be at most {most}", count)
    return int(count)


def check_share(parameter: str, share: Any, *, zero: bool = True, one: bool = False) -> None:
    """Raises unless the value lies between 0 and 1; `zero` and `one` say whether the ends count."""
    if not isinstance(share, Real):
        raise wrong_value(parameter, "be a number", repr(share))
    x = float(share)
    if not ((x >= 0 if zero else x > 0) and (x <= 1 if one else x < 1)):
        must = f"lie in {'[' if zero else '('}0, 1{']' if one else ')'}"
        hint = f"Did you mean {x / 100:g}?" if 2 <= x < 100 else ""
        raise wrong_value(parameter, must, share, hint)


def check_words(settings: Any) -> None:
    """Raises unless every field that is declared as a `Literal` has one of its values."""
    for name, words in _words(settings.__class__).items():
        check_choice(name, getattr(settings, name), words)


@cache
def _words(kind: type) -> dict[str, tuple[object, ...]]:
    """The values that each such field of a dataclass may have."""
    found = {}
    for name, hint in get_type_hints(kind).items():
        parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
        words = [word for part in parts if get_origin(part) is Literal for word in get_args(part)]
        if words:
            found[name] = (*([None] if NoneType in parts else []), *words)
    return found


def check_numbers(settings: Any, least: float, *names: str) -> None:
    """Raises unless these fields are finite numbers of at least `least`."""
    for name in names:
        value = getattr(settings, name)
        if not isinstance(value, Real) or not least <= float(value) < float("inf"):
            raise wrong_value(name, f"be a number of at least {least:g}", repr(value))


def changed(settings: Frozen, changes: dict[str, Any]) -> Frozen:
    """A frozen dataclass with some fields changed; an unknown name is an error that lists all."""
    known = sorted(field.name for field in fields(settings))
    for name in changes:
        if name not in known:
            raise must_be("A setting", f"be one of {', '.join(known)}", repr(name))
    return replace(settings, **changes)


def either(words: Sequence[str]) -> str:
    """ "a", "a or b", "a, b or c"."""
    *some, last = words
    return f"{', '.join(some)} or {last}" if some else last
