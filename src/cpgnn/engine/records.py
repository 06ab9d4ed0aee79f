"""JSON files of runs and models as types; an entry of another form is an error that names it."""

from __future__ import annotations

import json
import math
import re
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    ValidationError,
)
from pydantic_core import to_jsonable_python

from cpgnn.errors import InputError, tidy

LARGEST = 64 * 2**20
"""Bytes of such a file at most."""


class Record(BaseModel):
    """Exactly these entries, of exactly these types; every number is finite."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False)


def _or_nan(value: object) -> object:
    return math.nan if value is None else value


def _not_infinite(value: float) -> float:
    if math.isinf(value):
        raise ValueError("Input should be a finite number")
    return value


def _within_one(value: float) -> float:
    if abs(value) > 1 + 1e-9:  # rounding may go beyond
        raise ValueError("Input should lie between -1 and 1")
    return value


Number = Annotated[
    float,
    Field(allow_inf_nan=True),
    AfterValidator(_not_infinite),
    BeforeValidator(_or_nan),
    PlainSerializer(lambda value: None if math.isnan(value) else value),
]
"""A finite number, or NaN, which is null in the file."""
Rate = Annotated[Number, AfterValidator(_within_one)]
"""A share, the difference of two shares, or NaN."""
Bound = Annotated[
    float,
    Field(allow_inf_nan=True),
    BeforeValidator(lambda value: math.inf if value is None else value),
]
"""A number, or infinity, which is null in the file."""
Count = Annotated[int, Field(ge=0, lt=2**53)]
Share = Annotated[float, Field(ge=0, le=1)]

R = TypeVar("R", bound=Record)
_CONTROL = re.compile(
    rb"(?<!\\)(?:\\\\)*\\(?:[bf]|u00(?:0[0-8bcefBCEF]|1.|7[fF]|[89].))|\x7f|\xc2[\x80-\x9f]"
)
"""All but tabs and the ends of lines, as JSON escapes them or as they are."""


class EpochRecord(Record):
    """An `Epoch`."""

    phase: Literal[1, 2]
    epoch: Count
    loss: Number
    train_accuracy: Number
    score: Number


def json_text(value: Any) -> str:
    """Valid JSON, two blanks deep: NaN and infinity are null."""
    return json.dumps(plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def plain(value: Any) -> Any:
    """What JSON knows: fields and arrays as dicts and lists, NaN and infinity as null, the rest as
    text."""

    def otherwise(odd: Any) -> Any:
        return odd.tolist() if isinstance(odd, np.ndarray | np.generic) else str(odd)

    return to_jsonable_python(value, inf_nan_mode="null", fallback=otherwise)


def read_record(kind: type[R], path: Path) -> R:
    """The file as a record, or an `InputError` that says what is wrong with which entry."""
    if not path.is_file():
        raise damaged(path, "there is no such file")
    size = path.stat().st_size
    if size > LARGEST:
        raise damaged(path, f"it has {size:,} bytes, more than {LARGEST:,}")
    text = path.read_bytes()
    if _CONTROL.search(text):  # names are printed
        raise damaged(path, "it has a control character")
    try:
        return kind.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        entry = "".join(f"{part}." for part in first["loc"])[:-1]  # such as test.accuracy.n
        why = " ".join((f"{entry}: {first['msg']}" if entry else first["msg"]).split())
        raise damaged(path, why if len(why) <= 300 else f"{why[:300]}…") from None


def damaged(path: Path, why: str) -> InputError:
    return InputError(
        f"{tidy(str(path))} is damaged, or cpgnn did not write it: {tidy(why.rstrip('.'))}. "
        "Fit again."
    )
