"""Time per epoch and memory over |E|; receptive field against whole graph; prediction at 10⁸ edges.

Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch
from torch import nn

import cpgnn.engine.views
from alternatives import EdgeIndexCPGNN, SparseTensorCPGNN, usual_epoch
from cpgnn import Architecture, Graph
from cpgnn.engine.adam import Adam
from cpgnn.engine.loop import Best, descend
from cpgnn.engine.target import Target
from cpgnn.propagation import propagate
from cpgnn.splits import Split
from measuring import copy_bandwidth, keep

os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")  # as the command line does
CLASSES, FEATURES = 5, 16
SIZES = {
    "ours": (10**5, 10**6, 10**7, 3 * 10**7),
    "PyG, CSR": (10**5, 10**6, 10**7),
    "PyG, edge_index": (10**5, 10**6, 10**7),
}


def random_graph(num_nodes: int, num_edges: int, features: int = FEATURES, seed: int = 0) -> Graph:
    """Edges between random nodes, built without Python loops; about `num_edges` of them."""
    rng = np.random.default_rng(seed)
    source = rng.integers(0, num_nodes, num_edges, dtype=np.int32)
    target = rng.integers(0, num_nodes, num_edges, dtype=np.int32)
    keep_ = source != target
    low, high = np.minimum(source, target)[keep_], np.maximum(source, target)[keep_]
    del source, target, keep_
    upper = sp.coo_array(
        (np.ones(len(low), np.float32), (low, high)), shape=(num_nodes,) * 2
    ).tocsr()
    del low, high
    upper.data[:] = 1
    A = sp.csr_array(upper + upper.T)
    labels = rng.integers(0, CLASSES, num_nodes)
    X = rng.standard_normal((num_nodes, features), dtype=np.float32) if features else None
    loops = np.empty(0, np.int64)
    return Graph(A, X, labels, pd.RangeIndex(num_nodes), tuple(range(CLASSES)), loops)


def epoch_time(graph: Graph, split: Split, count: int = 5, whole: bool = False) -> float:
    """CPU seconds of one epoch of phase 2 with its validation score.

    `whole`: beliefs for all nodes, of which the labelled ones are picked.
    """
    model = Architecture("mlp", 1).build(graph)
    target = Target.of(model.view(graph), split)
    labelled = torch.from_numpy(np.concatenate([split.train, split.val]))
    forward = (lambda view: model(graph).index_select(0, labelled)) if whole else model
    optimizer = Adam([], model.parameters(), lr=0.01, eps=1e-7)

    def run() -> None:
        descend(model, forward, target.loss, target, optimizer, Best(), phase=2, epochs=count)

    run()
    used = time.process_time()
    run()
    return (time.process_time() - used) / (count + 1)


def labelled(graph: Graph, share: float) -> Split:
    chosen = np.random.default_rng(1).permutation(graph.num_nodes)
    n = int(graph.num_nodes * share)
    empty = np.empty(0, np.int64)
    return Split(np.sort(chosen[: n * 4 // 5]), np.sort(chosen[n * 4 // 5 : n]), empty)


def peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def usual_time(model: nn.Module, graph: Graph, split: Split) -> float:
    epoch = usual_epoch(model, graph, split)
    epoch()
    used = time.process_time()
    epoch()
    return time.process_time() - used


def size(edges: int, method: str = "ours") -> dict[str, float | str]:
    """One size: ten edges a node, half of the nodes labelled, so that the field is the graph."""
    graph = random_graph(edges // 10, edges)
    built, split = peak_memory(), labelled(graph, 0.5)
    if method == "ours":
        seconds = epoch_time(graph, split, count=3)
    else:
        make = EdgeIndexCPGNN if method == "PyG, edge_index" else SparseTensorCPGNN
        seconds = usual_time(make(graph, "mlp"), graph, split)
    return {
        "method": method,
        "edges": graph.num_edges,
        "epoch, CPU s": seconds,
        "graph, GB": built,
        "peak, GB": peak_memory(),
    }


def field() -> dict[str, float]:
    """10⁶ nodes, 10⁷ edges, 1 % labels: an epoch on the receptive field and on the whole graph."""
    graph = random_graph(1_000_000, 10_000_000)
    split = labelled(graph, 0.01)
    on_field, on_all = (epoch_time(graph, split, count=3, whole=whole) for whole in (False, True))
    cpgnn.engine.views.SATURATED = 0.0
    prior_on_all = epoch_time(graph, split, count=3)
    return {
        "edges": graph.num_edges,
        "field, CPU s": on_field,
        "whole, CPU s": on_all,
        "whole ÷ field": on_all / on_field,
        "prior on all nodes, CPU s": prior_on_all,
        "prior on all nodes ÷ field": prior_on_all / on_field,
    }


def predict() -> dict[str, float]:
    """5·10⁶ nodes, 10⁸ edges, 5 classes: prediction for all nodes, and one propagation."""
    graph = random_graph(5_000_000, 100_000_000, features=0)
    one, two = propagation_seconds(graph)
    ideal = 64 * graph.adjacency.nnz / (copy_bandwidth() * 1e9)
    model = Architecture("mlp", 1).build(graph)
    with torch.no_grad():
        model(graph)
    return {
        "edges": graph.num_edges,
        "one propagation, CPU s": one,
        "64 bytes a non-zero at copy bandwidth, s": ideal,
        "ratio": one / ideal,
        "with two threads, wall s": two,
        "ratio with two threads": two / ideal,
        "peak, GB": peak_memory(),
    }


def propagation_seconds(graph: Graph) -> tuple[float, float]:
    """Best of four: CPU seconds with one thread, seconds by the clock with two."""
    A = graph.view().operator("none")
    B = torch.randn(graph.num_nodes, CLASSES)
    H = torch.randn(CLASSES, CLASSES)
    one = min(_seconds(time.process_time, lambda: propagate(A, B, H, 1)) for _ in range(4))
    torch.set_num_threads(2)
    two = min(_seconds(time.perf_counter, lambda: propagate(A, B, H, 1)) for _ in range(4))
    torch.set_num_threads(1)
    return one, two


def _seconds(clock: Callable[[], float], call: Callable[[], object]) -> float:
    started = clock()
    call()
    return clock() - started


def apart(job: str, edges: int = 0, method: str = "ours") -> dict[str, float | str]:
    """The result of a job run in a process of its own."""
    command = [sys.executable, __file__, "--job", job, "--edges", str(edges), "--method", method]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    row = json.loads(done.stdout.splitlines()[-1])
    print(job, row, flush=True)
    return row


def over_sizes() -> None:
    rows = []
    for method, sizes in SIZES.items():
        part = [apart("size", edges, method) for edges in sizes]
        logs = np.log([[row["edges"], row["epoch, CPU s"], row["peak, GB"]] for row in part]).T
        part[-1]["exponent of time"] = float(np.polyfit(logs[0], logs[1], 1)[0])
        # below 10⁶ edges memory is the libraries' own
        part[-1]["exponent of memory"] = float(np.polyfit(logs[0][-2:], logs[2][-2:], 1)[0])
        rows += part
    keep("scale", rows, "One epoch of MLP-1 (16 features, half of the nodes labelled) over |E|")


PARTS: dict[str, Callable[[], None]] = {
    "scale": over_sizes,
    "field": lambda: keep("field", [apart("field")], "10⁶ nodes, 10⁷ edges, 1 % labels, K = 1"),
    "predict": lambda: keep("predict", [apart("predict")], "5·10⁶ nodes, 10⁸ edges, 5 classes"),
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("parts", nargs="*", help=f"some of {', '.join(PARTS)}; by default all")
    parser.add_argument("--job", choices=("size", "field", "predict"))
    parser.add_argument("--edges", type=int, default=0)
    parser.add_argument("--method", default="ours")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    if chosen.job:
        jobs = {"size": lambda: size(chosen.edges, chosen.method), "field": field}
        print(json.dumps(jobs.get(chosen.job, predict)()))
        return
    for name in chosen.parts or PARTS:
        PARTS[name]()


if __name__ == "__main__":
    main()
