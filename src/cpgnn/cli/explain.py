"""`cpgnn explain`: why nodes of a fitted run got their classes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from cpgnn.cli import options as opt
from cpgnn.errors import InputError
from cpgnn.io.presence import EXPLANATIONS, check_ending, check_files, check_spares


def explain(
    run: opt.Run,
    nodes: Annotated[list[str] | None, typer.Argument(help="Node ids.")] = None,
    nodes_file: Annotated[
        Path | None, typer.Option(help="A table with more node ids, e.g. review.csv.")
    ] = None,
    top: Annotated[
        int, typer.Option(min=1, max=10**9, help="Neighbours to show per node, as text or picture.")
    ] = 10,
    features: Annotated[
        int | None,
        typer.Option(
            min=0,
            max=10**9,
            help="Features to list for each node; 5 if there is only one node.",
            show_default=False,
        ),
    ] = None,
    format: Annotated[Literal["text", "json", "csv"], typer.Option(help="What to print.")] = "text",
    out: Annotated[
        Path | None, typer.Option(help="Write to a .json, .csv or .parquet file instead.")
    ] = None,
    node_id: Annotated[
        str | None, typer.Option("--id", help="Column of the --nodes-file: the node.")
    ] = None,
    picture: Annotated[Path | None, typer.Option(help="Draw the bars as .png or .svg.")] = None,
    neighbourhood: Annotated[
        Path | None, typer.Option(help="Draw the node among its neighbours as .png or .svg.")
    ] = None,
    threads: opt.Threads = None,
) -> None:
    """Explain predictions, neighbour by neighbour."""
    check_files(nodes_file)
    if not nodes and nodes_file is None:
        raise InputError("Name at least one NODE, or use --nodes-file.")
    if out:
        check_ending(out, *EXPLANATIONS)
    files = {"out": out, "picture": picture, "neighbourhood": neighbourhood}
    for name, path in files.items():
        check_spares(name, path, run, nodes_file)
    [fitted] = opt.fitted_runs(run, threads=threads)

    from cpgnn.cli.progress import waiting
    from cpgnn.cli.reasons import print_explanation
    from cpgnn.explanation.contributions import explain as explained
    from cpgnn.io.column_choice import Columns
    from cpgnn.io.ids import read_node_ids
    from cpgnn.report.explanation_picture import check_picture, draw_explanation
    from cpgnn.report.neighbourhood import draw_neighbourhoods

    ids = list(nodes or [])
    if nodes_file is not None:
        named = opt.columns({"node_id": node_id}, fitted.options)
        columns = Columns(**named | {"headers": fitted.headers})
        ids += read_node_ids(nodes_file, columns)
    for path in filter(None, (picture, neighbourhood)):
        check_picture(path, len(ids))
    if features is None:  # a few where they are read by a person
        features = 5 if len(ids) == 1 and format == "text" and not out else 0
    graph = replace(fitted.graph, node_ids=fitted.graph.node_ids.astype(str))
    with waiting("explaining"):
        made = explained(fitted.classifier, graph, ids, features=features)
        made = made.as_written(fitted.written)
    if picture:
        draw_explanation(made, picture, top)
    if neighbourhood:
        draw_neighbourhoods(made, graph, fitted.prediction.probabilities, neighbourhood, top)
    if out:
        made.write(out)
        print(f"{len(made):,} nodes written to {out}")
    else:
        also = None
        if fitted.sets is not None:
            names = [made.class_names[j] for j in made.predicted]
            where = graph.positions(ids)
            also = [fitted.sets.also(v, name) for v, name in zip(where, names, strict=True)]
        print_explanation(made, format, top, also)
