"""One epoch of phase 2 with its validation score: ours, a plain loop around the same model, the
floor, PyG written the usual ways."""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import warnings

import torch

import cpgnn.engine.sparse
from alternatives import EdgeIndexCPGNN, SparseTensorCPGNN, usual_epoch
from measuring import interleaved, keep
from ours import epochs, floor, plain_epoch, prepared

COUNT, PROCESSES = 150, 5
CASES = (
    ("squirrel", True, "mlp"),
    ("squirrel", True, "cheby"),
    ("squirrel", False, "mlp"),
    ("texas", True, "mlp"),
    ("texas", False, "mlp"),
)


def measured(name: str, features: bool, prior: str) -> dict[str, float | str]:
    graph, split = prepared(name, features)
    dear = name == "squirrel" and prior == "cheby"
    count = COUNT // 4 if dear else COUNT
    run = epochs(graph, split, prior, 1, count)
    contenders = {
        "floor": floor(graph, prior),
        "floor, our product": floor(graph, prior, product=cpgnn.engine.sparse.product),
        "ours": run,
        "torch's Adam": epochs(graph, split, prior, 1, count, adam="torch's"),
        "autograd's λ‖Θ‖²": epochs(graph, split, prior, 1, count, adam="autograd"),
        "plain": plain_epoch(graph, split, prior),
        "PyG, CSR": usual_epoch(SparseTensorCPGNN(graph, prior), graph, split),
    }
    if not dear:
        contenders["PyG, edge_index"] = usual_epoch(EdgeIndexCPGNN(graph, prior), graph, split)
    calls = dict.fromkeys(("floor", "floor, our product", "plain"), count)
    calls |= {"PyG, CSR": 5, "PyG, edge_index": 2}
    times = interleaved(contenders, repeats=3 if dear else 7, calls=calls)
    if dear:  # seconds an epoch: one is enough
        slow = usual_epoch(EdgeIndexCPGNN(graph, prior), graph, split)
        times |= interleaved({"PyG, edge_index": slow}, repeats=1, warm=False)
    ours = {key: value / (count + 1) for key, value in times["ours"].items()}
    row = {
        "graph": name + ("" if features else ", featureless"),
        "prior": prior,
        "ours, CPU ms": ours["cpu_ms"],
        "ours, wall ms": ours["wall_ms"],
        "floor, CPU ms": times["floor"]["cpu_ms"],
        "ours ÷ floor": ours["cpu_ms"] / times["floor"]["cpu_ms"],
        "ours ÷ floor, our product": ours["cpu_ms"] / times["floor, our product"]["cpu_ms"],
        "ours ÷ plain": ours["cpu_ms"] / times["plain"]["cpu_ms"],
    }
    for other in ("torch's Adam", "autograd's λ‖Θ‖²"):
        row[f"{other} ÷ ours"] = times[other]["cpu_ms"] / times["ours"]["cpu_ms"]
    for other in ("PyG, CSR", "PyG, edge_index"):
        row[f"{other}, CPU ms"] = times[other]["cpu_ms"]
        row[f"{other} ÷ ours"] = times[other]["cpu_ms"] / ours["cpu_ms"]
    return row


def together(found: list[dict[str, float | str]]) -> dict[str, float | str]:
    """The medians over the processes, and between what two our times and ratios lay."""
    row = {
        key: value if isinstance(value, str) else statistics.median(one[key] for one in found)
        for key, value in found[0].items()
    }
    ratios = sorted(one["ours ÷ floor"] for one in found)
    times = sorted(one["ours, CPU ms"] for one in found)
    row["processes"] = len(found)
    row["ours, CPU ms, from – to"] = f"{times[0]:.3g} – {times[-1]:.3g}"
    row["ours ÷ floor, from – to"] = f"{ratios[0]:.3g} – {ratios[-1]:.3g}"
    return row


def main() -> None:
    """Each case runs in processes of its own: what one leaves in memory would slow the next, and
    where its memory lies changes a process by a tenth."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--case", type=int, help="measure this one and print it as JSON")
    case = parser.parse_args().case
    if case is not None:
        torch.set_num_threads(1)
        warnings.filterwarnings("ignore", message="Sparse CSR tensor support")
        warnings.filterwarnings("ignore", message="Sparse invariant checks")
        print(json.dumps(measured(*CASES[case])))
        return
    rows = []
    for i, (_, _, prior) in enumerate(CASES):
        command = [sys.executable, __file__, "--case", str(i)]
        found = []
        for _ in range(3 if prior == "cheby" else PROCESSES):
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            found.append(json.loads(done.stdout.splitlines()[-1]))
        rows.append(together(found))
        print(rows[-1], flush=True)
    keep("epoch", rows, "One epoch of phase 2 with its validation, one thread, medians")


if __name__ == "__main__":
    main()
