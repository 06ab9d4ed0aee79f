"""`cpgnn demo`: the whole idea on a built-in example, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpgnn.cli import options as opt


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0)] = 0,
    threads: opt.Threads = None,
) -> None:
    """Generate a graph whose edges join opposites; train CPGNN beside an MLP and a GCN."""
