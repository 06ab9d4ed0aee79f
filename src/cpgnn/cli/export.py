"""`cpgnn export`: the fitted graph with its predictions, for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from cpgnn.cli import options as opt
from cpgnn.io.presence import check_run_folder, check_spares


def export(
    run: opt.Run,
    to: Annotated[Literal["gexf", "graphml", "parquet"], typer.Option(help="Format to write.")],
    out: Annotated[
        Path, typer.Option(help="File ending in .gexf or .graphml; for Parquet, a new folder.")
    ],
    threads: opt.Threads = None,
) -> None:
    """Write the graph with its predictions, for Gephi and others."""
    check_run_folder(run)

    from cpgnn.cli.progress import waiting
    from cpgnn.run.export import check_export, export_run, listed_edges

    check_export(out, to)
    check_spares("out", out, run)
    [fitted] = opt.fitted_runs(run, threads=threads)
    with waiting("writing the graph"):
        export_run(fitted, out, to)
    edges = sum(edges.nnz for edges in listed_edges(fitted.graph, to))
    print(f"{fitted.graph.num_nodes:,} nodes and {edges:,} edges written to {out}")
