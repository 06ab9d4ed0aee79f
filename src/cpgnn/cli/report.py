"""`cpgnn report`: a run as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpgnn.cli import options as opt


def report(
    run: Annotated[Path, typer.Argument(help="A folder that 'cpgnn fit' wrote.")],
    out: Annotated[
        Path | None, typer.Option(help="Page to write; report.html in the folder if not given.")
    ] = None,
    threads: opt.Threads = None,
) -> None:
    """Write a run as one HTML page; it needs no network."""
    from cpgnn.cli.progress import waiting
    from cpgnn.run.folder import write_report

    opt.use_threads(threads)
    with waiting("writing the report"):
        written = write_report(run, out)
    print(f"Report: {written}")
