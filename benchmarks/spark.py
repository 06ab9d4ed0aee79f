"""Spark end to end over |E|: time, bytes shuffled, memory. The cost model is in `spark_costs.py`.

    python spark.py run 1000000      # generate, stats, fit and predict; a line for each
    python spark.py keep             # the lines so far → results/spark.json, .md, docs/pictures
    python spark.py before 20000000 --source OLD/src    # earlier code (1d4a6f0) and this, a turn
    python spark.py relations 1000000 4000000    # the default model on typed edges, a line for each

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

from cpgnn.report.plots import figure, save
from cpgnn.spark.session import EDGE_ENDS, LEAST
from measuring import RESULTS, keep

WORK = Path("/tmp/cpgnn-spark-bench")
MODEL_TYPED, MODEL_BEFORE = WORK / "model-typed", WORK / "model-before"
LINES = RESULTS / "spark.jsonl"
LINES_BEFORE, LINES_TYPED = RESULTS / "spark_before.jsonl", RESULTS / "spark_relations.jsonl"
DOCS = Path(__file__).parent.parent / "docs" / "pictures"
COLORS = {"stats": "#7a7a7a", "fit": "#48639c", "predict": "#c1666b"}
CLASSES, FEATURES, DEGREE = 5, 16, 20
TYPES = ("pays", "knows", "sees")


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


def alone(edges: int, layers: int, model: Path) -> dict[str, object]:
    """`cpgnn predict` on the same tables, without Spark; it wants the edges in one file."""
    folder, one, out = WORK / str(edges), WORK / f"edges-{edges}.parquet", WORK / "alone.parquet"
    if not one.exists():
        pq.write_table(pq.read_table(folder / "edges.parquet"), one)
    words = ["predict", str(model), str(one), "--out", str(out)]
    watched = _watched([*words, "--features", str(folder / "features.parquet")])
    size = {"edges": edges, "nodes": 2 * edges // DEGREE, "layers": layers}
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


def run(edges: int, layers: list[int], commands: list[str]) -> None:
    folder = WORK / str(edges)
    if not folder.exists():
        generate(folder, edges)
    table = {name: str(folder / f"{name}.parquet") for name in ("edges", "labels", "features")}
    labels, features = ["--labels", table["labels"]], ["--features", table["features"]]
    if "stats" in commands:
        write_line(measured("stats", edges, 0, ["stats", table["edges"], *labels, *features]))
    for K in layers if set(commands) - {"stats"} else []:
        model, out = WORK / f"model-{edges}-{K}", WORK / f"out-{edges}-{K}"
        words = [table["edges"], *features]
        if "fit" in commands or not model.exists():
            shutil.rmtree(model, ignore_errors=True)
            more = ["--out", str(model), "--prior", "mlp", "--layers", str(K), "--epochs", "100"]
            more.append("--sample")
            write_line(measured("fit", edges, K, ["fit", *words, *labels, *more]))
        if "alone" in commands:
            write_line(alone(edges, K, model))
        if "predict" in commands:
            shutil.rmtree(out, ignore_errors=True)
            words = ["predict", str(model), *words, "--out", str(out)]
            write_line(measured("predict", edges, K, words))


def before(edges: int, source: str) -> None:
    """`predict` of the paper's model by earlier code, by this, and without Spark."""
    if not MODEL_BEFORE.exists():  # by the earlier code: this one reads its models
        tables = plain_tables(edges)
        words = ["fit", *tables, f"--labels={WORK / str(edges) / 'labels.parquet'}", "--sample"]
        words += ["--out", str(MODEL_BEFORE), "--prior", "mlp", "--layers", "1", "--epochs", "100"]
        measured("fit, before", edges, 1, words, source)
    for name, code in (("predict, before", source), ("predict, now", "")):
        write_line(paper_prediction(name, edges, code), LINES_BEFORE)
    rows = [json.loads(line) for line in LINES_BEFORE.read_text().splitlines()]
    if not any(row["command"].endswith("one machine") and row["edges"] == edges for row in rows):
        write_line(alone(edges, 1, MODEL_BEFORE), LINES_BEFORE)
    rows = [json.loads(line) for line in LINES_BEFORE.read_text().splitlines()]
    rows.sort(key=lambda row: (row["edges"], row["command"]))
    keep("spark_before", rows, "predict of the paper's model by earlier code and by this")


def paper_prediction(
    name: str, edges: int, source: str = "", more: dict[str, str] | None = None
) -> dict[str, object]:
    """`predict` of the paper's model with K = 1 on a graph of this size."""
    out = WORK / "out-before"
    shutil.rmtree(out, ignore_errors=True)
    words = ["predict", str(MODEL_BEFORE), *plain_tables(edges), "--out", str(out)]
    return measured(name, edges, 1, words, source, more)


def plain_tables(edges: int) -> list[str]:
    """The arguments that name a generated graph with one type of edges."""
    folder = WORK / str(edges)
    if not folder.exists():
        generate(folder, edges)
    return [str(folder / "edges.parquet"), f"--features={folder / 'features.parquet'}"]


def relations(sizes: list[int]) -> None:
    """The default model, fitted on the first of these graphs, predicts the nodes of all of them."""
    if not MODEL_TYPED.exists():
        words = ["fit", *typed_tables(sizes[0]), "--out", str(MODEL_TYPED), "--sample"]
        write_line(measured("fit", sizes[0], 0, words), LINES_TYPED)
    for edges in sizes:
        write_line(typed_prediction(edges), LINES_TYPED)
    rows = [json.loads(line) for line in LINES_TYPED.read_text().splitlines()]
    keep("spark_relations", rows, "the default model on three types of edges, local[2]")


def typed_prediction(edges: int, more: dict[str, str] | None = None) -> dict[str, object]:
    """`predict` of the default model on a graph of this size. more: settings of Spark."""
    out = WORK / "out-typed"
    shutil.rmtree(out, ignore_errors=True)
    words = ["predict", str(MODEL_TYPED), *typed_tables(edges), "--out", str(out)]
    return measured("predict", edges, 0, words, more=more)


def typed_tables(edges: int) -> list[str]:
    """The arguments that name a generated graph with three types of edges."""
    folder = WORK / f"typed-{edges}"
    if not folder.exists():
        generate(folder, edges, typed=True)
    named = [f"--{name}={folder / name}.parquet" for name in ("labels", "features")]
    typed = ["--relation-column=means", "--directed-types=pays"]
    return [str(folder / "edges.parquet"), *typed, *named]


def write_line(row: dict[str, object], lines: Path = LINES) -> None:
    print(json.dumps(row), flush=True)
    RESULTS.mkdir(exist_ok=True)
    with lines.open("a") as file:
        file.write(json.dumps(row) + "\n")


def keep_all() -> None:
    """The lines so far as results, and a picture."""
    rows = [json.loads(line) for line in LINES.read_text().splitlines()]
    rows.sort(key=lambda row: (row["edges"], row["layers"], row["command"]))
    for row in rows:
        if "shuffled, GB" in row:
            row["bytes shuffled / edge"] = row["shuffled, GB"] * 1e9 / row["edges"]
        row["CPU µs / edge"] = row["CPU, s"] * 1e6 / row["edges"]
    keep("spark", rows, "Spark on local[2], 5 classes, 16 features, 20 neighbours a node")
    picture = figure(10, 4)
    panels = {"CPU, s": "CPU seconds", "shuffled, GB": "GB shuffled"}
    for axes, (column, title) in zip(picture.subplots(1, 2), panels.items(), strict=True):
        for command, color in COLORS.items():
            part = [row for row in rows if row["command"] == command and row["layers"] < 2]
            edges = [row["edges"] for row in part]
            axes.loglog(edges, [row[column] for row in part], "o-", color=color, label=command)
        axes.set_xlabel("edges")
        axes.set_title(title, fontsize=10)
        axes.grid(alpha=0.3)
    picture.axes[0].legend(frameon=False)
    DOCS.mkdir(exist_ok=True)
    save(picture, DOCS / "spark.png")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("job", choices=("run", "keep", "before", "relations"))
    parser.add_argument("edges", type=int, nargs="*")
    parser.add_argument("--source", default="")
    parser.add_argument("--layers", type=int, nargs="+", default=[1])
    parser.add_argument("--commands", nargs="+", default=["stats", "fit", "predict"])
    chosen = parser.parse_args()
    if chosen.job == "run":
        run(chosen.edges[0], chosen.layers, chosen.commands)
    elif chosen.job == "before":
        before(chosen.edges[0], chosen.source)
    elif chosen.job == "relations":
        relations(chosen.edges)
    else:
        keep_all()


if __name__ == "__main__":
    main()
