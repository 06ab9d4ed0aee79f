"""Fuzzes every reader, and counts: inputs, crashes, hangs, peak memory.

    python benchmarks/fuzz/fuzz.py --inputs 100000          # goes on where it was stopped
    python benchmarks/fuzz/fuzz.py --only npz --batch 7     # one batch again

Inputs come in batches of 1,000. A batch runs in a process of its own, which dies when one input
takes 10 s of processor time or when the process wants 2 GB more than it has after its imports. An
input whose answer is of a new kind (its message without names and numbers) joins the corpus of its
batch, so that later inputs go on from there. A batch is a function of its number (but for DuckDB,
which writes other bytes each time): whatever is found can be found again. Each batch is one line of
results/fuzz.jsonl; failing inputs are kept in build/fuzz.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE.parent / "results" / "fuzz.jsonl"
FAILING = HERE.parents[1] / "build" / "fuzz"
BATCH, SECONDS, GROWTH = 1000, 10, 2 << 30
NAMES = (
    "edges",
    "labels",
    "features",
    "gzip",
    "parquet",
    "workbook",
    "sqlite",
    "duckdb",
    "graphml",
    "npz",
    "npz features",
    "run",
    "blend",
    "typed",
)


def run_batch(name: str, number: int, results: Path) -> None:
    """The inputs of one batch in this process; `results` gets a line for each defect."""
    import torch

    torch.set_num_threads(1)
    from readers import put, readers

    from cpgnn.errors import CPGNNError

    warnings.simplefilter("ignore")
    reader = readers()[name]
    folder = Path(tempfile.mkdtemp(prefix="fuzz-")) / "in"
    put(folder, reader.seeds[0])
    reader.read(folder)  # imports happen here, before memory is limited
    _limit_memory()
    rng = random.Random(f"{name} {number}")
    corpus, seen = list(reader.seeds), set[str]()
    with results.open("a") as out:
        for i in range(BATCH):
            files = rng.choice(corpus)
            for _ in range(rng.choice((1, 1, 2))):
                files = reader.mutated(rng, files)
            put(folder, files)
            print(i, flush=True)
            signal.setitimer(signal.ITIMER_PROF, SECONDS)
            try:
                reader.read(folder)
                answer = "accepted"
            except CPGNNError as error:
                answer = _kind(str(error).replace(str(folder), ""))
                lines = str(error).split("\n")  # several problems are told on a line each
                if len(lines) > 22 or not all(x.isprintable() and len(x) < 2000 for x in lines):
                    answer = f"bad message: {answer}"
            except BaseException as error:
                where = traceback.extract_tb(error.__traceback__)
                ours = [f for f in where if "cpgnn" in f.filename] or list(where)
                answer = f"crash: {type(error).__name__} at {Path(ours[-1].filename).name}"
                answer += f":{ours[-1].name}"
            signal.setitimer(signal.ITIMER_PROF, 0)
            if answer.startswith(("crash", "bad message")):
                out.write(json.dumps({"input": i, "answer": answer}) + "\n")
                out.flush()
                _keep(name, number, i, files)
            if answer not in seen and len(corpus) < 200 and sum(map(len, files.values())) < 1 << 20:
                seen.add(answer)
                corpus.append(files)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        out.write(json.dumps({"peak": peak, "kinds": len(seen)}) + "\n")


def _kind(message: str) -> str:
    """A message without what it quotes and counts."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[\d.,]+", "", message)[:120]


def _limit_memory() -> None:
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    most = pages * os.sysconf("SC_PAGE_SIZE") + GROWTH
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _keep(name: str, number: int, i: int, files: dict[str, bytes]) -> None:
    from readers import put

    put(FAILING / f"{name}-{number}-{i}", files)


def outcome(name: str, number: int) -> dict[str, Any]:
    """What became of a batch, run in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        results = Path(folder) / "results.jsonl"
        words = [sys.executable, __file__, "--only", name, "--batch", str(number)]
        with subprocess.Popen(
            [*words, "--results", str(results)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": folder, "OMP_NUM_THREADS": "1"},
        ) as child:
            out, err = child.communicate()
        said = results.read_text() if results.exists() else ""
        if child.returncode:  # it died with its input in place
            for left in Path(folder).glob("fuzz-*/in"):
                shutil.copytree(left, FAILING / f"{name}-{number}-last", dirs_exist_ok=True)
    lines = [json.loads(line) for line in said.splitlines()]
    done = out.split()
    found = [line["answer"] for line in lines if "answer" in line]
    last = next((line for line in lines if "peak" in line), None)
    hangs = int(child.returncode == -signal.SIGPROF)
    if last is None and not hangs:
        found.append(f"crash: exit {child.returncode} {err.strip().splitlines()[-1:]}")
    return {
        "reader": name,
        "batch": number,
        "inputs": int(done[-1]) + 1 if done else 0,
        "crashes": len(found),
        "hangs": hangs,
        "peak_mb": None if last is None else last["peak"] // 1024,
        "kinds_of_answers": None if last is None else last["kinds"],
        "found": sorted(set(found)),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--inputs", type=int, default=10 * BATCH)
    parser.add_argument("--only", choices=NAMES)
    parser.add_argument("--batch", type=int)
    parser.add_argument("--first", type=int, default=0, help="begin with this batch")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    if given.batch is not None and given.results:
        run_batch(given.only, given.batch, given.results)
        return
    names = [given.only] if given.only else NAMES
    if given.batch is not None:
        print(json.dumps(outcome(given.only, given.batch), indent=2))
        return
    results = given.results or RESULTS
    if {"blend", "typed"} & {*names}:
        from readers import fit_blends

        fit_blends()
    done = set()
    if results.exists():
        lines = map(json.loads, results.read_text().splitlines())
        done = {(line["reader"], line["batch"]) for line in lines}
    for number in range(-(-given.inputs // (BATCH * len(names)))):
        number += given.first
        for name in names:
            if (name, number) not in done:
                result = outcome(name, number)
                with results.open("a") as file:
                    file.write(json.dumps(result) + "\n")
                print(
                    f"{name} {number}: {result['crashes']} crashes, {result['hangs']} hangs, "
                    f"{result['peak_mb']} MB {result['found']}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
