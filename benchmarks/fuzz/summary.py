"""results/fuzz.md from results/fuzz.jsonl and results/steps.jsonl: the counts, reader by reader."""

from __future__ import annotations

import json
from pathlib import Path

import pandas as pd

RESULTS = Path(__file__).parents[1] / "results"


def lines(name: str) -> pd.DataFrame:
    text = (RESULTS / name).read_text().splitlines()
    return pd.DataFrame([json.loads(line) for line in text])


def main() -> None:
    fuzz = lines("fuzz.jsonl")
    columns = {"inputs": "sum", "crashes": "sum", "hangs": "sum", "peak_mb": "max"}
    table = fuzz.groupby("reader", sort=False).agg(columns)
    table.loc["all"] = {name: getattr(table[name], how)() for name, how in columns.items()}
    rows = [
        f"| {name} | {row.inputs:,.0f} | {row.crashes:.0f} | {row.hangs:.0f} | {row.peak_mb:.0f} |"
        for name, row in table.iterrows()
    ]
    steps = lines("steps.jsonl").groupby("command", sort=False).sum()
    told = [
        f"| {name} | {row.failing_writes:.0f} | {row.kills:.0f} | {row.lost:.0f} |"
        for name, row in steps.iterrows()
    ]
    text = [
        "`make fuzz`; a batch is a line of `fuzz.jsonl`, which is resumed. 400 MB are Python's",
        "libraries alone. Batches in which a defect showed were run again once it was mended.",
        "All batches of edges, labels and features, and those of other readers from 20 on, ran",
        "after the readers of tables had changed; the defects that they found are mended.",
        "",
        "| reader | inputs | crashes | hangs over 10 s | peak memory, MB |",
        "|---|--:|--:|--:|--:|",
        *rows,
        "",
        "Every step in which a command changes the disk, failed (disk full) or killed before it:",
        "",
        "| command | failing writes | kills | lost or torn |",
        "|---|--:|--:|--:|",
        *told,
        "",
    ]
    (RESULTS / "fuzz.md").write_text("\n".join(text))


if __name__ == "__main__":
    main()
