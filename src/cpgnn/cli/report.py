"""`cpgnn report`: a run as one HTML page."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpgnn.cli import options as opt
from cpgnn.io.presence import REPORT, check_run_folder, check_spares


def report(
    run: opt.Run,
    out: Annotated[
        Path | None, typer.Option(help="Page to write; by default report.html in RUN.")
    ] = None,
    threads: opt.Threads = None,
) -> None:
    """Write a run as one HTML page that works offline."""
    check_run_folder(run)
    if out is None or out.resolve() != (run / REPORT).resolve():
        check_spares("out", out, run)

    from cpgnn.cli.progress import waiting
    from cpgnn.run.folder import write_report

    opt.use_threads(threads)
    with waiting("writing the report"):
        written = write_report(run, out)
    print(f"Report: {written}")
