"""Interleaved timing in one process, and results as JSON and Markdown."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cpgnn.experiments.runner import processor

RESULTS = Path(__file__).parent / "results"


def interleaved(
    contenders: dict[str, Callable[[], Any]],
    *,
    repeats: int = 7,
    calls: dict[str, int] | None = None,
    warm: bool = True,
) -> dict[str, dict[str, float]]:
    """Median CPU and wall milliseconds of a call of each contender, taken in turns.

    `calls` says how often a contender is called in one turn; the first turn is thrown away
    (where it `warm`s up).
    """
    cpu: dict[str, list[float]] = {name: [] for name in contenders}
    wall: dict[str, list[float]] = {name: [] for name in contenders}
    for turn in range(0 if warm else 1, repeats + 1):
        for name, call in contenders.items():
            times = (calls or {}).get(name, 1)
            started, used = time.perf_counter(), time.process_time()
            for _ in range(times):
                call()
            if turn:
                cpu[name].append((time.process_time() - used) / times * 1e3)
                wall[name].append((time.perf_counter() - started) / times * 1e3)
    return {
        name: {
            "cpu_ms": statistics.median(cpu[name]),
            "wall_ms": statistics.median(wall[name]),
        }
        for name in contenders
    }


def copy_bandwidth(megabytes: int = 200) -> float:
    """GB/s of copying an array of this size, each byte counted once.

    One thread, best of six, by CPU time: on a busy machine the clock would measure the others.
    """
    source = np.ones(megabytes * 1_000_000 // 8)
    target = np.empty_like(source)
    best = float("inf")
    for _ in range(6):
        started = time.process_time()
        np.copyto(target, source)
        best = min(best, time.process_time() - started)
    return source.nbytes / best / 1e9


def machine() -> dict[str, Any]:
    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "torch": torch.__version__,
        "threads": torch.get_num_threads(),
        "copy_gb_per_s": round(copy_bandwidth(), 1),
        "others_running": round(max(os.getloadavg()[0] - 1, 0), 1),
    }


def keep(name: str, rows: list[dict[str, Any]], title: str) -> None:
    """Writes results/NAME.json and results/NAME.md."""
    RESULTS.mkdir(exist_ok=True)
    result = {"title": title, "machine": machine(), "rows": rows}
    (RESULTS / f"{name}.json").write_text(json.dumps(result, indent=1) + "\n")
    columns = list(dict.fromkeys(key for row in rows for key in row))
    load = f"other busy processes: about {result['machine']['others_running']:.0f}"
    lines = [f"{title} ({load})\n", f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    lines += [f"| {' | '.join(_text(row.get(c, '')) for c in columns)} |" for row in rows]
    (RESULTS / f"{name}.md").write_text("\n".join(lines) + "\n")
    print((RESULTS / f"{name}.md").read_text())


def _text(value: Any) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)
