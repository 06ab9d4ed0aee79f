"""Spark end to end over |E|: time, bytes shuffled, memory; and the cost model fitted on them.

    python spark.py run 1000000      # generate, stats, fit and predict; a line for each
    python spark.py before 20000000 --source OLD/src    # earlier code and this, in turn
    python spark.py relations 1000000 20000000   # the default model on typed edges, a line for each
    python spark.py costs 1000000 2000000 5000000    # the same and the paper's, all sums shuffled
    python spark.py keep             # the lines so far → results/spark*.json and .md

Each command runs as a user would run it, in processes of its own, on local[2].
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from cpgnn.spark.session import EDGE_ENDS, LEAST
from measuring import RESULTS, keep
from spark_costs import costs, work

WORK = Path("/tmp/cpgnn-spark-bench")
LINES = RESULTS / "spark.jsonl"
LINES_BEFORE, LINES_TYPED = RESULTS / "spark_before.jsonl", RESULTS / "spark_relations.jsonl"
LINES_COSTS = RESULTS / "spark_costs.jsonl"
CLASSES, FEATURES, DEGREE = 5, 16, 20
TYPES = ("pays", "knows", "sees")
PAPER = ["--prior", "mlp", "--layers", "1", "--epochs", "100", "--sample"]
COSTS = "The cost model of predict, all sums shuffled: see spark_costs.py"
SHUFFLED = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
"""As where the values of all nodes do not fit into an executor."""


def generate(folder: Path, edges: int, seed: int = 0, *, typed: bool = False) -> None:
    """n = E/10 nodes; edges join a class mostly with the next one; features tell classes apart a
    little; 1 % of the nodes are labelled. Written in pieces, without a loop over edges.

    typed: a third of the edges leads one way to the next class ("pays"), a third joins a class
    with itself ("knows"), a third anybody ("sees"); 1,000 nodes are labelled."""
    folder.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    n = 2 * edges // DEGREE
    y = np.arange(n) % CLASSES
    H = np.full((CLASSES, CLASSES), 0.05) + 0.75 * np.roll(np.eye(CLASSES), 1, axis=1)
    pieces = -(-edges // 2_500_000)
    for piece in range(pieces):
        m = edges // pieces
        source = rng.integers(0, n, m)
        step = (rng.random((m, 1)) > H[0].cumsum()[None, :]).sum(axis=1)
        table = {"source": source}
        if typed:
            kind = rng.integers(0, len(TYPES), m)
            shift = np.stack([step, (step - 1) % CLASSES, rng.integers(0, CLASSES, m)])
            step = shift[kind, np.arange(m)]
            names = pa.DictionaryArray.from_arrays(pa.array(kind, pa.int32()), pa.array(TYPES))
        target = rng.integers(0, n // CLASSES, m) * CLASSES + (y[source] + step) % CLASSES
        path = folder / "edges.parquet" / f"part-{piece}.parquet"
        path.parent.mkdir(exist_ok=True)
        table["target"] = target
        pq.write_table(pa.table(table | ({"means": names} if typed else {})), path)
    X = rng.standard_normal((n, FEATURES), dtype=np.float32)
    X[np.arange(n), y] += 0.5
    table = {"id": np.arange(n)} | {f"x{i}": X[:, i] for i in range(FEATURES)}
    pq.write_table(pa.table(table), folder / "features.parquet", row_group_size=100_000)
    known = np.sort(rng.permutation(n)[: 1000 if typed else n // 100])
    names = np.array(list("abcde"))[y[known]]
    pq.write_table(pa.table({"id": known, "label": names}), folder / "labels.parquet")


def measured(
    name: str,
    edges: int,
    layers: int,
    words: list[str],
    source: str = "",
    more: dict[str, str] | None = None,
) -> dict[str, object]:
    """Runs a command; its seconds, the peak of all its processes' memory, Spark's own counts.

    source: where the code is, if it is not this one. more: settings of Spark.
    """
    log = WORK / f"events-{edges}-{name}-{layers}"
    shutil.rmtree(log, ignore_errors=True)
    log.mkdir(parents=True)
    conf = {
        "spark.driver.memory": "4g",
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": log.as_uri(),
        "spark.eventLog.compress": "false",
        "spark.eventLog.rolling.enabled": "false",
        "spark.local.dir": str(WORK / f"local-{edges}"),
        "spark.ui.enabled": "false",
        **(more or {}),
    }
    words = ["spark", *words, "--master", "local[2]"]
    words += [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
    return {
        "command": name,
        "edges": edges,
        "nodes": 2 * edges // DEGREE,
        "layers": layers,
        "partitions": min(200, max(LEAST, 2 * edges // EDGE_ENDS)),
        **_watched(words, source),
        **_events(log),
    }


def alone(edges: int) -> dict[str, object]:
    """`cpgnn predict` on the same tables, without Spark; it wants the edges in one file."""
    made, one, out = _tables(edges), WORK / f"edges-{edges}.parquet", WORK / "alone.parquet"
    if not one.exists():
        pq.write_table(pq.read_table(made["edges"]), one)
    words = ["predict", str(_paper_model(made)), str(one), "--features", made["features"]]
    watched = _watched([*words, "--out", str(out)])
    size = {"edges": edges, "nodes": 2 * edges // DEGREE, "layers": 1}
    return {"command": "predict, one machine", **size, **watched}


def _watched(words: list[str], source: str = "") -> dict[str, float]:
    """Runs `cpgnn WORDS…`; its seconds, CPU seconds and peak memory, all its processes together."""
    command = [sys.executable, "-c", "from cpgnn.cli import main; main()", *words]
    started = time.perf_counter()
    process = psutil.Popen(command, env=os.environ | ({"PYTHONPATH": source} if source else {}))
    peak, cpu = 0, {}
    while process.poll() is None:
        peak = max(peak, _look(process, cpu))
        time.sleep(1)
    if process.returncode:
        raise SystemExit(f"{words[:2]} failed")
    return {
        "seconds": time.perf_counter() - started,
        "CPU, s": sum(cpu.values()),
        "peak, GB": peak / 2**30,
        "load": psutil.getloadavg()[0],
    }


def _look(process: psutil.Process, cpu: dict[int, float]) -> int:
    """Proportional memory of the process and all it started: pages shared by forks count once.

    Their CPU seconds so far go to `cpu`, by process.
    """
    total = 0
    for each in [process, *process.children(recursive=True)]:
        try:
            total += each.memory_full_info().pss
            times = each.cpu_times()
            cpu[each.pid] = times.user + times.system
        except psutil.Error:
            continue
    return total


def _events(log: Path) -> dict[str, float]:
    """Spark's own counts, from its event log.

    The last stage that shuffles more than a hundredth of all is that of the last product with A;
    what comes after it adds the sums up and writes: together, a round.
    """
    shuffled, cpu, spilled = Counter(), Counter(), 0
    for path in log.iterdir():
        for line in path.read_text().splitlines():
            event = json.loads(line)
            metrics = event.get("Task Metrics")
            if event["Event"] == "SparkListenerTaskEnd" and metrics:
                stage = event["Stage ID"]
                shuffled[stage] += metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
                cpu[stage] += metrics["Executor CPU Time"]
                spilled += metrics["Disk Bytes Spilled"]
    total = shuffled.total()
    last = max((stage for stage, size in shuffled.items() if size > total / 100), default=0)
    return {
        "shuffled, GB": total / 1e9,
        "of it by a round, GB": shuffled[last] / 1e9,
        "spilled, GB": spilled / 1e9,
        "tasks' CPU in the JVM, s": cpu.total() / 1e9,
        "of it in a round, s": sum(used for stage, used in cpu.items() if stage >= last) / 1e9,
    }


def run(edges: int, commands: list[str]) -> None:
    """Commands for the paper's model with one layer."""
    table = _tables(edges)
    labels, features = ["--labels", table["labels"]], ["--features", table["features"]]
    if "stats" in commands:
        _line(measured("stats", edges, 0, ["stats", table["edges"], *labels, *features]))
    if "fit" in commands:
        model = WORK / f"model-{edges}"
        shutil.rmtree(model, ignore_errors=True)
        words = ["fit", table["edges"], *features, *labels, "--out", str(model), *PAPER]
        _line(measured("fit", edges, 1, words))
    if "alone" in commands:
        _line(alone(edges))
    if "predict" in commands:
        _line(_predicted(_paper_model(table), edges, [table["edges"], *features]))


def before(edges: int, source: str) -> None:
    """`predict` of the paper's model by earlier code and by this, one after the other."""
    table = _tables(edges)
    model = _paper_model(table, source)
    for name, code in (("predict, before", source), ("predict, now", "")):
        out = WORK / "out-before"
        shutil.rmtree(out, ignore_errors=True)
        words = ["predict", str(model), table["edges"], "--features", table["features"]]
        _line(measured(name, edges, 1, [*words, "--out", str(out)], code), LINES_BEFORE)


def _paper_model(table: dict[str, str], source: str = "") -> Path:
    """Fitted once, if need be by earlier code: this one reads its models."""
    model = WORK / "model-before"
    if not model.exists():
        words = ["fit", table["edges"], "--features", table["features"]]
        words += ["--labels", table["labels"], "--out", str(model)]
        words += PAPER
        measured("fit, before", 0, 1, words, source)
    return model


def _tables(edges: int, *, typed: bool = False) -> dict[str, str]:
    """The paths of a generated graph."""
    folder = WORK / (f"typed-{edges}" if typed else str(edges))
    if not folder.exists():
        generate(folder, edges, typed=typed)
    return {name: str(folder / f"{name}.parquet") for name in ("edges", "labels", "features")}


def _typed(edges: int) -> list[str]:
    table = _tables(edges, typed=True)
    named = [f"--{name}={table[name]}" for name in ("labels", "features")]
    return [table["edges"], "--relation-column=means", "--directed-types=pays", *named]


def relations(sizes: list[int]) -> None:
    """The default model, fitted on the first of these graphs, predicts the nodes of all of them."""
    model = WORK / "model-typed"
    if not model.exists():
        words = ["fit", *_typed(sizes[0]), "--out", str(model), "--sample"]
        _line(measured("fit", sizes[0], 0, words), LINES_TYPED)
    for edges in sizes:
        _line(_predicted(model, edges, _typed(edges)), LINES_TYPED)


def in_shuffles(sizes: list[int]) -> None:
    """Both models where all sums are shuffled; the default model on the last graph is unseen."""
    paper = _paper_model(_tables(sizes[0]))
    for edges in sizes[:-1]:
        table = _tables(edges)
        words = [table["edges"], "--features", table["features"]]
        row = _predicted(paper, edges, words, SHUFFLED)
        _line(row | work(paper) | {"command": "MLP, K = 1", "unseen": False}, LINES_COSTS)
    model = WORK / "model-typed"
    for edges in sizes:
        row = _predicted(model, edges, _typed(edges), SHUFFLED) | work(model)
        _line(row | {"command": "default", "unseen": edges == sizes[-1]}, LINES_COSTS)


def _predicted(
    model: Path, edges: int, words: list[str], more: dict[str, str] | None = None
) -> dict[str, object]:
    out = WORK / "out-predicted"
    shutil.rmtree(out, ignore_errors=True)
    return measured(
        "predict", edges, 0, ["predict", str(model), *words, "--out", str(out)], "", more
    )


def _line(row: dict[str, object], lines: Path = LINES) -> None:
    print(json.dumps(row), flush=True)
    RESULTS.mkdir(exist_ok=True)
    with lines.open("a") as file:
        file.write(json.dumps(row) + "\n")


def _read(lines: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in lines.read_text().splitlines()]


def keep_all() -> None:
    """The lines so far as results, and the cost model beside them."""
    keep("spark_before", _read(LINES_BEFORE), "predict of the paper's model, before and now")
    keep("spark_relations", _read(LINES_TYPED), "The default model on three types of edges")
    keep("spark_costs", _read(LINES_COSTS), "predict where all sums are shuffled")
    keep("spark_model", costs(_read(LINES_COSTS)), COSTS)
    keep("spark", _read(LINES), "The paper's model, K = 1, on local[2]")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=("run", "before", "relations", "costs", "keep"))
    parser.add_argument("edges", type=int, nargs="*")
    parser.add_argument("--source", default="")
    parser.add_argument("--commands", nargs="+", default=["stats", "fit", "alone", "predict"])
    chosen = parser.parse_args()
    if chosen.job == "run":
        run(chosen.edges[0], chosen.commands)
    elif chosen.job == "before":
        before(chosen.edges[0], chosen.source)
    elif chosen.job == "relations":
        relations(chosen.edges)
    elif chosen.job == "costs":
        in_shuffles(chosen.edges)
    else:
        keep_all()


if __name__ == "__main__":
    main()
