"""A report as one HTML page: no request, nothing to install, every name escaped."""

from __future__ import annotations

import base64
import hashlib
from importlib.resources import files
from typing import Any

from markupsafe import Markup

from cpgnn import __version__
from cpgnn.engine.flags import as_flag
from cpgnn.engine.formatting import between, emphasised, percent, probability
from cpgnn.engine.text import count
from cpgnn.errors import Message
from cpgnn.report.grids import OPTIMISTIC
from cpgnn.report.notebook import template
from cpgnn.report.packing import script_json


def render(contents: dict[str, Any]) -> str:
    """The page, from what `gather` found.

    Its own script is the only one that the browser may run, known by its hash.
    """
    script = _asset("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = template("page.html").render(
        report=contents,
        data=script_json(contents["data"]),
        script=Markup(script),
        script_hash=digest,
        style=Markup(_asset("page.css")),
        percent=percent,
        between=between,
        probability=probability,
        count=count,
        version=__version__,
        emphasised=emphasised,
        plain=plain,
        optimistic=OPTIMISTIC,
    )
    return page.lstrip()


def plain(text: str) -> str:
    """A sentence whose parameters are spelt as options of commands: --normalization sym."""
    return text.spelt(as_flag) if isinstance(text, Message) else text


def _asset(name: str) -> str:
    return files("cpgnn.report").joinpath(name).read_text(encoding="utf-8")
