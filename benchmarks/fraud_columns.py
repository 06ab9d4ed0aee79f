"""`cpgnn fit` without options beside a hand-written pipeline of boosted trees, on generated fraud.

    python benchmarks/fraud_columns.py    # five graphs; writes results/fraud_columns.*

Both read the same files, train on the same labels and are judged by the average precision of
"fraudster" on all accounts without a known label. The pipeline is what one would write by hand:
LightGBM on the account's own columns (gaps and categories natively), on means, minima and maxima of
its neighbours' numbers, on the shares of their devices, jobs and countries, on means over two hops,
on degrees, and on how many neighbours are known to be of each role; stopped by validation.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import lightgbm
import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.metrics import average_precision_score

from fraud_tables import ROLES, Payments, make_payments

RESULTS = Path(__file__).parent / "results" / "fraud_columns"
POSITIVE = ROLES.index("fraudster")


def by_hand(payments: Payments, *, neighbours: bool = True) -> np.ndarray:
    """The probability of fraud [n] by boosted trees on columns made by hand."""
    table = payments.table.drop(columns=["id", "name"])
    table["opened"] = pd.to_datetime(table["opened"]).astype("int64") / 8.64e13
    text = [name for name in table if table[name].dtype == object]
    X = table.assign(**{name: table[name].astype("category") for name in text})
    if neighbours:
        X = pd.concat([X, *_around(payments, table, text)], axis=1)
    y = (payments.roles == POSITIVE).astype(int)
    train, val = (lightgbm.Dataset(X[where], y[where], free_raw_data=False)
                  for where in (payments.part == "train", payments.part == "val"))  # fmt: skip
    parameters = {
        "objective": "binary",
        "metric": "average_precision",
        "learning_rate": 0.05,
        "num_leaves": 15,
        "min_data_in_leaf": 10,
        "feature_fraction": 0.7,
        "bagging_fraction": 0.8,
        "bagging_freq": 1,
        "verbosity": -1,
        "num_threads": 1,
        "deterministic": True,
        "seed": 0,
    }
    stop = lightgbm.early_stopping(50, verbose=False)
    model = lightgbm.train(parameters, train, 600, valid_sets=[val], callbacks=[stop])
    return np.asarray(model.predict(X))


def _around(payments: Payments, table: pd.DataFrame, text: list[str]) -> list[pd.DataFrame]:
    """Columns about the neighbours of every account."""
    n = len(table)
    ends = np.concatenate([payments.edges, payments.edges[::-1]], axis=1)
    A = sp.csr_array((np.ones(ends.shape[1]), tuple(ends)), shape=(n, n))
    A.data[:] = 1
    numbers = table.drop(columns=text).astype(float)
    hot = pd.get_dummies(table[text]).astype(float)
    near = _means(A, pd.concat([numbers, hot], axis=1))
    pairs = pd.DataFrame(numbers.to_numpy()[A.indices], columns=numbers.columns)
    groups = pairs.groupby(np.repeat(np.arange(n), np.diff(A.indptr)))
    ends_of = [
        getattr(groups, kind)().reindex(range(n)).add_prefix(f"{kind} ") for kind in ("min", "max")
    ]
    known = pd.get_dummies(pd.Series(payments.roles)).astype(float)
    known[payments.part != "train"] = 0
    counts = pd.DataFrame(A @ known.to_numpy(), columns=[f"known {role}" for role in ROLES])
    degree = pd.DataFrame({"degree": np.diff(A.indptr)})
    out, into = (np.bincount(end, minlength=n) for end in payments.edges)
    ways = pd.DataFrame({"paid": out, "was paid": into})
    far = _means(A, near[numbers.columns]).add_prefix("two hops ")
    return [near.add_prefix("mean "), *ends_of, counts, degree, ways, far]


def _means(A: sp.csr_array, columns: pd.DataFrame) -> pd.DataFrame:
    """The mean over the neighbours whose value is known."""
    values = columns.to_numpy(dtype=float)
    known = ~np.isnan(values)
    with np.errstate(invalid="ignore"):
        return pd.DataFrame(A @ np.nan_to_num(values) / (A @ known), columns=columns.columns)


def by_default(payments: Payments, folder: Path) -> np.ndarray:
    """The probability of fraud [n] by `cpgnn fit` and `cpgnn predict` without options."""
    command = [sys.executable, "-m", "cpgnn"]
    run, table = folder / "run", folder / "predictions.csv"
    for words in (
        ["fit", *payments.write(folder), "--out", str(run)],
        ["predict", str(run), "--out", str(table)],
    ):
        subprocess.run([*command, *words], check=True, stdout=subprocess.DEVNULL)
    found = pd.read_csv(table).set_index("id")
    (column,) = (name for name in found if name.endswith("fraudster") and name != "predicted")
    return found.loc[payments.ids, column].to_numpy()


def compare(n: int, seed: int) -> dict[str, Any]:
    """One generated graph."""
    payments = make_payments(n, seed=seed)
    judged = payments.part == ""
    line: dict[str, Any] = {"nodes": n, "seed": seed, "edges": payments.edges.shape[1]}
    with tempfile.TemporaryDirectory() as folder:
        contenders = {
            "cpgnn fit": lambda: by_default(payments, Path(folder)),
            "trees by hand": lambda: by_hand(payments),
            "trees by hand, own columns only": lambda: by_hand(payments, neighbours=False),
        }
        for name, contender in contenders.items():
            started = time.perf_counter()
            score = contender()
            line[name] = average_precision_score(payments.roles[judged] == POSITIVE, score[judged])
            line[f"{name}: seconds"] = round(time.perf_counter() - started, 1)
    line["chance"] = float((payments.roles[judged] == POSITIVE).mean())
    return line


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--nodes", type=int, default=20_000)
    parser.add_argument("--graphs", type=int, default=5)
    given = parser.parse_args()
    lines = []
    for seed in range(given.graphs):
        lines.append(compare(given.nodes, seed))
        print(json.dumps(lines[-1]), flush=True)
    command = f"python benchmarks/fraud_columns.py {' '.join(sys.argv[1:])}".strip()
    RESULTS.with_suffix(".json").write_text(
        json.dumps({"command": command, "lines": lines}, indent=1) + "\n"
    )
    RESULTS.with_suffix(".md").write_text(_page(given, command, lines))


def _page(given: argparse.Namespace, command: str, lines: list[dict[str, Any]]) -> str:
    rows = []
    for name in ("cpgnn fit", "trees by hand", "trees by hand, own columns only", "chance"):
        values = [line[name] for line in lines]
        each = " ".join(f"{value:.3f}" for value in values)
        rows.append(f"| {name} | {np.mean(values):.3f} ± {np.std(values):.3f} | {each} |")
    return (
        (
            f"Average precision of fraudsters (1 % of all), {given.graphs} generated graphs of "
            f"{given.nodes:,} accounts; `{command}`.\n\n| | mean | each |\n|---|---|---|\n"
        )
        + "\n".join(rows)
        + "\n"
    )


if __name__ == "__main__":
    main()
