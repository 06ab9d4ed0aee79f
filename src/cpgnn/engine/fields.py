"""The checks that frozen settings make of their fields."""

from __future__ import annotations

from dataclasses import fields, replace
from numbers import Real
from typing import Any, TypeVar

from cpgnn.errors import must_be

Frozen = TypeVar("Frozen", bound=Any)
"""A frozen dataclass."""


def at_least(settings: Any, least: float, *names: str) -> None:
    """Raises unless these fields are finite numbers of at least `least`."""
    for name in names:
        value = getattr(settings, name)
        if not isinstance(value, Real) or not least <= float(value) < float("inf"):
            raise must_be(f"'{name}'", f"be a number of at least {least:g}", repr(value))


def one_of(settings: Any, name: str, *values: Any) -> None:
    """Raises unless this field has one of the values."""
    value = getattr(settings, name)
    if value not in values:
        listed = ", ".join(repr(v) for v in values)
        raise must_be(f"'{name}'", f"be one of {listed}", repr(value))


def changed(settings: Frozen, changes: dict[str, Any]) -> Frozen:
    """These settings with some fields changed; an unknown name is an error that lists the known."""
    known = {field.name for field in fields(settings)}
    for name in changes:
        if name not in known:
            raise must_be("A setting", f"be one of {', '.join(sorted(known))}", repr(name))
    return replace(settings, **changes)
