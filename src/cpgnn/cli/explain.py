"""`cpgnn explain`: why nodes of a fitted run got their classes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpgnn.cli import options as opt


def explain(
    run: Annotated[Path, typer.Argument(help="A folder that 'cpgnn fit' wrote.")],
    nodes: Annotated[list[str] | None, typer.Argument(help="Ids of the nodes.")] = None,
    nodes_file: Annotated[
        Path | None, typer.Option(help="More nodes: a table with their ids, e.g. review.csv.")
    ] = None,
    top: Annotated[
        int, typer.Option(min=1, help="Neighbours shown for each node, as text or picture.")
    ] = 10,
    format: Annotated[str, typer.Option(help="What to print: text, json or csv.")] = "text",
    out: Annotated[
        Path | None, typer.Option(help="Write to a file instead: .json, .csv or .parquet.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Bars as .png or .svg.")] = None,
    threads: opt.Threads = None,
) -> None:
    """Say why nodes got their classes, neighbour by neighbour."""
    from dataclasses import replace

    from cpgnn.cli.progress import waiting
    from cpgnn.cli.reasons import FORMATS, print_explanation
    from cpgnn.errors import must_be
    from cpgnn.explanation.contributions import explain as explained
    from cpgnn.explanation.explanation import check_ending
    from cpgnn.io.ids import read_node_ids
    from cpgnn.report.explanation_picture import check_picture, draw_explanation
    from cpgnn.run.folder import load_run

    if format not in FORMATS:
        raise must_be("'--format'", f"be {' or '.join(FORMATS)}", repr(format))
    ids = [*(nodes or []), *(read_node_ids(nodes_file) if nodes_file else [])]
    if not ids:
        raise must_be("NODE", "name at least one node", "none", "Or give --nodes-file.")
    if out:
        check_ending(out)
    if picture:
        check_picture(picture, len(ids))
    with waiting("reading the run"):
        fitted = load_run(run)
    opt.use_threads(threads, fitted.graph)
    graph = replace(fitted.graph, node_ids=fitted.graph.node_ids.astype(str))
    with waiting("explaining"):
        made = explained(fitted.classifier, graph, ids)
    if picture:
        draw_explanation(made, picture, top)
    if out:
        made.write(out)
        print(f"{len(made):,} nodes written to {out}")
    else:
        print_explanation(made, format, top)
