"""`cpgnn datasets`: the benchmark graphs, their statistics, and as files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cpgnn.errors import InputError, wrong_value

if TYPE_CHECKING:
    from cpgnn.datasets import Dataset, Expected, Statistics


def datasets(
    name: Annotated[
        str | None, typer.Argument(help="A data set; by default all are listed.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder to write edges.csv, labels.csv and features.npz to.")
    ] = None,
) -> None:
    """List the benchmark graphs, or describe and export one."""
    from cpgnn.cli.progress import waiting
    from cpgnn.datasets import load_dataset, write_tables
    from cpgnn.io import check_free

    if name is None:
        if out is not None:
            raise wrong_value("out", "come with the name of a data set", "none")
        with waiting("reading"):
            rows = _rows()
        return _print_list(rows)
    if out is not None:
        check_free(out)
    with waiting(f"loading {name}"):
        dataset = load_dataset(name)
        files = write_tables(dataset.graph, out) if out is not None else ()
    _print_one(dataset)
    if files:
        print(f"Written to {out}: {', '.join(files)}.")


def _rows() -> list[tuple[str, ...]]:
    from cpgnn.datasets import SPECS, at_hand, load_dataset

    rows = []
    for name, spec in SPECS.items():
        path = at_hand(name)
        cells, source = _expected_cells(spec.expected), f"download ({spec.origin})"
        if path is not None:
            try:
                cells, source = _cells(load_dataset(name).statistics()), str(path)
            except InputError:
                source = f"{path}, rejected: see 'cpgnn datasets {name}'"
        rows.append((name, *cells, source))
    return rows


def _cells(found: Statistics) -> tuple[str, ...]:
    counts = (found.nodes, found.edges, found.edges_with_self_loops, found.classes, found.features)
    ratios = (found.homophily, found.homophily_with_self_loops)
    return (*(f"{count:,}" for count in counts), *(f"{ratio:.3f}" for ratio in ratios))


def _expected_cells(expected: Expected) -> tuple[str, ...]:
    edges, loops = expected.edges, expected.self_loops
    bare = "–" if loops is None else f"{edges - loops:,}"
    counts = (f"{edges:,}", f"{expected.classes:,}", f"{expected.features:,}")
    return f"{expected.nodes:,}", bare, *counts, "–", "–"


def _print_list(rows: list[tuple[str, ...]]) -> None:
    from cpgnn.cli.printing import console, show, table

    heads = ("nodes", "edges", "with loops", "classes", "features", "h", "with loops", "from")
    made = table("data set", *heads, title="Data sets", rows=rows)
    made.columns[-1].justify = "left"
    to = console()
    show(to, made)
    to.print("'with loops' counts self-loops, as the paper's table does; A never has them.")


def _print_one(dataset: Dataset) -> None:
    from cpgnn.cli.printing import console, show, table

    nodes, edges, all_edges, classes, features, h, all_h = _cells(dataset.statistics())
    rows = [
        ("nodes", nodes, nodes),
        ("classes", classes, classes),
        ("features", features, features),
        ("edges", edges, all_edges),
        ("homophily ratio h", h, all_h),
    ]
    heads = ("without self-loops", "with them, as in the paper")
    show(console(), table("", *heads, title=dataset.name, rows=rows))
    print(f"Published splits: {len(dataset.splits)}. From: {dataset.source}.")
