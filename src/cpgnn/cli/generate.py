"""`cpgnn generate`: a graph by the paper's Algorithm 1, as files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cpgnn.cli import options as opt
from cpgnn.errors import wrong_value

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from cpgnn.graph import Graph
    from cpgnn.synthetic.typed import Drawn


def generate(
    out: opt.Folder,
    classes: Annotated[int, typer.Option(min=2, max=10**6, help="Number of classes.")] = 10,
    class_size: Annotated[int, typer.Option(min=1, max=10**9, help="Nodes in each class.")] = 1000,
    homophily: Annotated[float, typer.Option(help="h: the share of edges within a class.")] = 0.2,
    base: Annotated[
        float, typer.Option(help="How much more likely edges are to a class one step closer.")
    ] = 2.0,
    uniform: Annotated[
        bool, typer.Option("--uniform", help="Connect all other classes equally often (base 1).")
    ] = False,
    edges_per_node: Annotated[
        int, typer.Option(min=1, max=10**9, help="m: edges added with each node.")
    ] = 6,
    bootstrap: Annotated[
        Literal["paper", "authors"], typer.Option(help="How to connect the first nodes.")
    ] = "paper",
    bootstrap_nodes: Annotated[
        int, typer.Option(min=2, max=10**9, help="Number of first nodes.")
    ] = 70,
    directed: Annotated[
        bool, typer.Option("--directed", help="Directed edges: each class prefers the next.")
    ] = False,
    relations: Annotated[
        int,
        typer.Option(min=1, max=1_000, help="Types of edges, each with preferences of its own."),
    ] = 1,
    features: Annotated[
        str, typer.Option(help="gaussian, none, ogbn-products, or an .npz of features and labels.")
    ] = "gaussian",
    npz: Annotated[bool, typer.Option("--npz", help="Write one graph.npz, no tables.")] = False,
    seed: opt.Seed = 0,
) -> None:
    """Generate a labelled graph with a given homophily.

    With --directed or --relations, edges are drawn by class, not by the paper's algorithm.
    """
    from cpgnn.cli.printing import print_notices
    from cpgnn.cli.progress import waiting
    from cpgnn.datasets import as_reference
    from cpgnn.engine.memory import check_generated
    from cpgnn.io import check_free
    from cpgnn.synthetic.generate import generate_graph, mixhop_compatibility
    from cpgnn.synthetic.typed import Drawn, generate_typed_graph, moved

    check_free(out)
    check_generated(classes, classes * class_size, edges_per_node, relations)
    if uniform and base != 2.0:
        raise wrong_value("base", "not be given with --uniform, which is base 1", base)
    sizes = [class_size] * classes
    reference = as_reference(features, sizes, seed)  # may ask whether to download
    target = mixhop_compatibility(classes, homophily, 1.0 if uniform else base)
    types = {
        f"type {r + 1}": Drawn(
            moved(target, r + directed, directed=directed), edges_per_node, directed
        )
        for r in range(relations)
    }
    with waiting("generating"), warnings.catch_warnings(action="ignore"):
        if directed or relations > 1:
            graph = generate_typed_graph(sizes, types, seed=seed, reference=reference)
        else:
            graph = generate_graph(
                sizes,
                target,
                num_bootstrap=bootstrap_nodes,
                edges_per_node=edges_per_node,
                seed=seed,
                bootstrap=bootstrap,
                reference=reference,
            )
    with waiting("writing"):
        files = _write(graph, out, npz)
    print_notices(graph)
    _print(graph, target if not graph.edge_types else None, types)
    print(f"Written to {out}: {', '.join(files)}.")


def _write(graph: Graph, out: Path, npz: bool) -> tuple[str, ...]:
    import scipy.sparse as sp

    from cpgnn.datasets import write_tables
    from cpgnn.io import atomic_folder, write_graph

    if npz:
        with atomic_folder(out) as folder:
            write_graph(folder / "graph.npz", graph)
        return ("graph.npz",)
    return write_tables(graph, out, features="npz" if sp.issparse(graph.features) else "csv")


def _print(graph: Graph, target: np.ndarray | None, types: Mapping[str, Drawn]) -> None:
    from cpgnn.compatibility import compatibility_error
    from cpgnn.homophily import compatibility_matrix, homophily_ratio, row_normalized, sent

    print(
        f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges, {graph.num_classes} classes, "
        f"{f'{graph.num_features:,}' if graph.num_features else 'no'} features."
    )
    if target is None:
        for kind in graph.edge_types:
            H = row_normalized(sent(kind.matrix, graph.labels, graph.num_classes))
            error = compatibility_error(H, types[kind.name].compatibility)
            what = f"{kind.name}: {kind.num_edges:,} edges. Mean difference between H"
            print(f"{what} and the requested one: {error:.4f}.")
        return
    error = compatibility_error(compatibility_matrix(graph), target)
    print(f"Homophily ratio h: {homophily_ratio(graph):.3f}; requested: {target[0, 0]:g}.")
    print(f"Mean difference between H and the requested one: {error:.4f}.")
