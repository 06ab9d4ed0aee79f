"""`cpgnn table`: an experiment's results beside the published numbers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from cpgnn.errors import wrong_value


def table(
    name: Annotated[str, typer.Argument(help="real, synthetic, ablation or compatibility.")],
    format: Annotated[
        Literal["text", "csv", "markdown"], typer.Option(help="What to print.")
    ] = "text",
    results: Annotated[
        Path | None, typer.Option(help="Folder of results; by default those that come with cpgnn.")
    ] = None,
) -> None:
    """Compare our results with the published ones."""
    from cpgnn.cli.printing import print_pages
    from cpgnn.experiments import tables

    if tables.table(name, results).empty:
        if results is not None and not results.exists():
            raise wrong_value("results", "be a folder", f"no such folder: {results}")
        where = results or "the results that come with cpgnn"
        print(
            f"Note: no results for '{name}' in {where}; 'cpgnn reproduce {name}' computes them.",
            file=sys.stderr,
        )
    if format == "csv":
        print(tables.table(name, results).to_csv(index=False), end="")
    elif format == "markdown":
        print(tables.markdown(name, results), end="")
    else:
        print(tables.caption(name))
        print_pages(tables.laid_out(name, results))
