"""The generated parts of docs/spark.md, from benchmarks/results/spark*.json."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
CORES, BUSY = 4, 0.7
"""Of an executor on paper, and the share of the time that they are busy."""


def _rows(name: str) -> list[dict[str, Any]]:
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["rows"]


def _model() -> dict[str, dict[str, Any]]:
    return {row[""]: row for row in _rows("spark_costs_model")}


def _number(value: float | None, digits: int = 0) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _costs(row: dict[str, Any]) -> tuple[str, ...]:
    """CPU in all and in the JVM's tasks; what was shuffled, in all and for an edge; the peak."""
    shuffled = row.get("shuffled, GB")
    return (
        _number(row["CPU, s"]),
        _number(row.get("tasks' CPU in the JVM, s")),
        _number(shuffled, 2),
        _number(None if shuffled is None else 1e9 * shuffled / row["edges"]),
        _number(row["peak, GB"], 1),
    )


def runs() -> str:
    """Every measured command, one row each."""
    lines = [
        "| command | edges | K | seconds | CPU s | JVM tasks, CPU s | GB shuffled "
        "| bytes / edge | peak GB |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in _rows("spark"):
        cells = (
            row["command"],
            f"{row['edges'] / 1e6:g} M",
            str(row["layers"] or "–"),
            _number(row["seconds"]),
            *_costs(row),
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def sent() -> str:
    """`predict` of the paper's model by earlier code, by this code, and without Spark."""
    return _compared("spark_before")


def relations() -> str:
    """The default model on three types of edges, from end to end."""
    return _compared("spark_relations")


def _compared(name: str) -> str:
    lines = [
        "| command | edges | CPU s | JVM tasks, CPU s | GB shuffled | bytes / edge | peak GB |",
        "|---|---|---|---|---|---|---|",
    ]
    for row in _rows(name):
        cells = (row["command"], f"{row['edges'] / 1e6:g} M", *_costs(row))
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def model() -> str:
    """The fitted numbers, and how far they are from every run."""
    rows = _model()
    value = {name: rows[f"{name} (fitted)"]["value"] for name in _fitted(rows)}
    text = ", ".join(
        f"{name.partition(',')[0]} = {number:.3g}{name.partition(',')[2]}"
        for name, number in value.items()
    )
    text += ".\n\n| | predicted | measured | error |\n|---|---|---|---|\n"
    for name, row in rows.items():
        if "measured" in row:
            text += (
                f"| {name} | {row['value']:.3g} | {row['measured']:.3g} | {row['error']:+.0%} |\n"
            )
    return text


def _fitted(rows: dict[str, dict[str, Any]]) -> list[str]:
    return [name.removesuffix(" (fitted)") for name in rows if name.endswith(" (fitted)")]


def on_paper() -> str:
    """What the model says of graphs that nobody has run."""
    rows = _model()
    lines = [
        "| edges | shuffled | CPU hours | partitions | executors for an answer within an hour |",
        "|---|---|---|---|---|",
    ]
    for edges in (10**9, 10**10):
        shuffled = rows[f"shuffled, GB: {edges:.0e} edges, on paper"]["value"]
        hours = rows[f"CPU, s: {edges:.0e} edges, on paper"]["value"] / 3600
        executors = max(1, -(-hours // (CORES * BUSY)))
        lines.append(
            f"| 10{'⁹' if edges == 10**9 else '¹⁰'} | {shuffled:,.0f} GB | {hours:.1f} "
            f"| {2 * edges // 10**7:,} | {executors:.0f} |"
        )
    return "\n".join(lines) + "\n"
