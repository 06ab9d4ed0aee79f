"""`cpgnn demo`: the whole idea on a built-in example, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpgnn.cli import options as opt


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture.")] = Path("demo"),
    seed: Annotated[int, typer.Option(min=0, help="Everything random comes from it.")] = 0,
    threads: opt.Threads = None,
) -> None:
    """Generate a graph whose edges join opposites; train CPGNN beside an MLP and a GCN."""
    from cpgnn.cli.printing import print_demo
    from cpgnn.cli.progress import progress_bar
    from cpgnn.demo import draw_demo, run_demo

    opt.use_threads(threads)
    with progress_bar() as begin:
        shown = run_demo(seed, begin)
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "demo.png"
    draw_demo(shown, picture)
    print_demo(shown, picture)
