"""`cpgnn predict`: classes from a fitted run, for its own graph or for another."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from cpgnn.cli import options as opt
from cpgnn.errors import wrong_value
from cpgnn.io.presence import TABLES, check_ending, check_run_folder, check_spares


@opt.reads_tables
def predict(
    run: opt.Run,
    edges: Annotated[
        str | None,
        typer.Argument(help="Edges that arrived later; they are added to the fitted graph."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Table to write: .csv or .parquet.")] = ...,  # type: ignore[assignment]
    features: opt.Features = None,
    impute: Annotated[
        Literal["median"] | None,
        typer.Option(help="Fill missing feature values; by default as in 'fit'."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(min=0, max=1, help="Flag nodes at or above this probability.")
    ] = None,
    replace_graph: Annotated[
        bool, typer.Option("--replace-graph", help="Use only these files; ignore the fitted graph.")
    ] = False,
    every: Annotated[
        bool, typer.Option("--all", help="Write every node, not only those in the later files.")
    ] = False,
    tables: opt.Found = opt.Found(),
    spreadsheet_safe: opt.SpreadsheetSafe = False,
    threads: opt.Threads = None,
) -> None:
    """Predict with a fitted model, for later nodes too. Columns are found as in 'fit'."""
    given = opt.by_name(locals())
    check_ending(out, *TABLES)
    check_run_folder(run)
    check_spares("out", out, run, edges, *(features or ()))

    from cpgnn.cli.printing import in_words
    from cpgnn.evaluation.thresholds import Flag
    from cpgnn.io import write_table
    from cpgnn.run.later import in_its_place, with_later
    from cpgnn.run.load import load_run
    from cpgnn.run.predictions import run_predictions

    if edges is None and features:
        raise wrong_value("features", "be used with EDGES", "none")
    fitted = load_run(run)
    flag = None
    if threshold is not None:
        if fitted.positive is None:
            hint = "Fit again with --positive."
            raise wrong_value(
                "threshold", "be used with a run that has a positive class", "one without", hint
            )
        flag = Flag(str(fitted.classifier.classes_[fitted.positive]), threshold)
    graph = nodes = None
    own = fitted.graph if edges is None or (fitted.has_graph and not replace_graph) else None
    if edges is not None:
        like = fitted.columns
        if impute is None and like is not None and like.impute:
            impute = "median"
        loaded = opt.load(
            given | {"impute": impute},
            fitted.options,
            like=like,
            headers=fitted.headers,
            known=None if own is None else own.node_ids,
        )
        graph = loaded.graph
        if fitted.has_graph:
            join = in_its_place if own is None else with_later
            more = join(fitted, loaded)
            for notice in more.notices:
                print(f"Note: {in_words(notice)}", file=sys.stderr)
            graph, nodes = more.graph, None if every or own is None else more.named
    opt.use_threads(threads)
    table = run_predictions(fitted, graph, nodes, flag)
    write_table(out, table, spreadsheet_safe=spreadsheet_safe)
    print(f"{len(table):,} nodes written to {out}")
