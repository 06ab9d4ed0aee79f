"""Single sparse products A B: ours, scipy, PyG's gather and scatter."""

from __future__ import annotations

import torch
from torch_geometric.nn import SimpleConv

from measuring import interleaved, keep
from scale import random_graph

SIZES = ((20_000, 200_000, 5), (200_000, 2_000_000, 5), (20_000, 200_000, 64))


def main() -> None:
    torch.set_num_threads(1)
    rows = []
    for nodes, edges, columns in SIZES:
        graph = random_graph(nodes, edges, features=0)
        A = graph.view().operator("none")
        B = torch.randn(nodes, columns)
        edge_index = graph.to_pyg().edge_index
        spread = SimpleConv(aggr="sum")
        contenders = {
            "ours": lambda A=A, B=B: A @ B,
            "scipy": lambda graph=graph, B=B: graph.adjacency @ B.numpy(),
            "edge_index": lambda spread=spread, B=B, e=edge_index: spread(B, e),
        }
        times = interleaved(contenders, repeats=7, calls=dict.fromkeys(contenders, 10))
        ours = times["ours"]["cpu_ms"]
        rows.append(
            {
                "nodes": nodes,
                "edges": edges,
                "columns": columns,
                "ours, CPU ms": ours,
                "scipy ÷ ours": times["scipy"]["cpu_ms"] / ours,
                "edge_index ÷ ours": times["edge_index"]["cpu_ms"] / ours,
            }
        )
    keep("products", rows, "One sparse product A B, one thread")


if __name__ == "__main__":
    main()
