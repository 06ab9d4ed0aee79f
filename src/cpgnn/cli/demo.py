"""`cpgnn demo`: the whole idea on a built-in example, in under a minute."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpgnn.cli import options as opt
from cpgnn.errors import wrong_value


def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the report.")] = Path(
        "demo"
    ),
    seed: opt.Seed = 0,
    threads: opt.Threads = None,
) -> None:
    """Compare CPGNN, an MLP and a GCN on an example."""
    from cpgnn.cli.printing import print_demo
    from cpgnn.cli.progress import progress_bar
    from cpgnn.demo import draw_demo, run_demo
    from cpgnn.run.folder import report_run

    if out.exists() and not out.is_dir():
        raise wrong_value("out", "be a folder", f"the file {out}")
    opt.use_threads(threads)
    with progress_bar() as begin:
        shown = run_demo(seed, begin)
    out.mkdir(parents=True, exist_ok=True)
    picture = out / "demo.png"
    draw_demo(shown, picture)
    report = out / "report.html"
    report_run(shown.run, report, "demo")
    print_demo(shown, picture, report)
