"""The checks that frozen settings make of their fields."""

from __future__ import annotations

from dataclasses import fields, replace
from numbers import Real
from typing import Any, TypeVar

from cpgnn.errors import check_choice, must_be, wrong_value

Frozen = TypeVar("Frozen", bound=Any)
"""A frozen dataclass."""


def at_least(settings: Any, least: float, *names: str) -> None:
    """Raises unless these fields are finite numbers of at least `least`."""
    for name in names:
        value = getattr(settings, name)
        if not isinstance(value, Real) or not least <= float(value) < float("inf"):
            raise wrong_value(name, f"be a number of at least {least:g}", repr(value))


def one_of(settings: Any, name: str, *values: Any) -> None:
    """Raises unless this field has one of the values."""
    check_choice(name, getattr(settings, name), values)


def changed(settings: Frozen, changes: dict[str, Any]) -> Frozen:
    """These settings with some fields changed; an unknown name is an error that lists the known."""
    known = {field.name for field in fields(settings)}
    for name in changes:
        if name not in known:
            raise must_be("A setting", f"be one of {', '.join(sorted(known))}", repr(name))
    return replace(settings, **changes)
