"""What exports in many languages call things: the words of words.toml."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

WORDS: dict[str, dict[str, Any]] = tomllib.loads(
    files("cpgnn.io").joinpath("words.toml").read_text(encoding="utf-8")
)
