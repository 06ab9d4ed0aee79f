"""`cpgnn table`: an experiment's results beside the published numbers."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def table(
    name: Annotated[str, typer.Argument(help="real, synthetic, ablation or compatibility.")],
    format: Annotated[str, typer.Option(help="text, csv or markdown.")] = "text",
    results: Annotated[
        Path | None, typer.Option(help="Folder of result lines; by default the committed ones.")
    ] = None,
) -> None:
    """Print a table: ours | published | difference."""
    from cpgnn.cli.printing import print_pages
    from cpgnn.errors import must_be
    from cpgnn.experiments import tables

    if format not in ("text", "csv", "markdown"):
        raise must_be("'--format'", "be text, csv or markdown", repr(format))
    if tables.table(name, results).empty:
        if results is not None and not results.exists():
            raise must_be(
                "'--results'", "be a folder of result lines", f"no such folder: {results}"
            )
        hint = f"'cpgnn reproduce {name}' makes some"
        where = results or "the results that come with cpgnn"
        print(f"Note: there is no result of '{name}' in {where}; {hint}.", file=sys.stderr)
    if format == "csv":
        print(tables.table(name, results).to_csv(index=False), end="")
    elif format == "markdown":
        print(tables.markdown(name, results), end="")
    else:
        print(tables.caption(name))
        print_pages(tables.laid_out(name, results))
