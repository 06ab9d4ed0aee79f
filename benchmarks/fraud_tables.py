"""Generated payments with known fraudsters: tables of mixed columns with gaps, 1 % positives.

Honest accounts pay each other within towns, and a few shops. Fraudsters (1 %) are paid by victims
and pay mules, seldom each other; mules (1.5 %) collect from several fraudsters and spend in shops.
No column gives a role away. Some tell a little: refunds, payments at night, a young account, a
country, a device; that the income is missing tells more than its value. Names, ids of devices and
the date on which an account was opened are there as in a real export.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

ROLES = ("honest", "mule", "fraudster")
COUNTRIES = np.array([f"{a}{b}" for a in "ABDEFGHILMPRSTU" for b in "AELRS"])
SUSPECT = np.array([3, 17, 22, 41, 58])
"""Countries with more fraudsters than others; not beside each other in any order."""
DEVICES = np.array(["android", "browser", "ios", "pos", "emulator"])


@dataclass(frozen=True, eq=False)
class Payments:
    """n accounts."""

    roles: np.ndarray
    """Index into `ROLES` [n]: the truth."""
    edges: np.ndarray
    """Payer and payee [2, m]."""
    table: pd.DataFrame
    """One row for each account; text columns as text, gaps as missing values."""
    part: np.ndarray
    """"train", "val" or "" [n]: whose label is known."""

    @property
    def ids(self) -> np.ndarray:
        return self.table["id"].to_numpy()

    def write(self, folder: Path) -> list[str]:
        """The three files, as arguments of `cpgnn fit`."""
        edges = pd.DataFrame({"source": self.ids[self.edges[0]], "target": self.ids[self.edges[1]]})
        edges.to_csv(folder / "edges.csv", index=False)
        known = self.part != ""
        labels = {
            "id": self.ids[known],
            "label": np.array(ROLES)[self.roles[known]],
            "split": self.part[known],
        }
        pd.DataFrame(labels).to_csv(folder / "labels.csv", index=False)
        self.table.to_csv(folder / "features.csv", index=False)
        files = [str(folder / f"{name}.csv") for name in ("edges", "labels", "features")]
        return [files[0], "--labels", files[1], "--features", files[2]]


def make_payments(n: int = 20_000, *, seed: int = 0, known: float = 0.4) -> Payments:
    """`known`: the share of accounts whose role is known, a fifth of them for validation."""
    rng = np.random.default_rng(seed)
    roles = np.zeros(n, dtype=np.int64)
    bad = rng.permutation(n)[: n // 40]
    roles[bad[: n // 100]], roles[bad[n // 100 :]] = 2, 1
    part = np.full(n, "", dtype="<U5")
    for role in range(3):
        own = rng.permutation(np.flatnonzero(roles == role))
        m = round(known * len(own))
        part[own[:m]] = "train"
        part[own[: m // 5]] = "val"
    return Payments(roles, _edges(rng, roles), _table(rng, roles), part)


def _edges(rng: np.random.Generator, roles: np.ndarray) -> np.ndarray:
    n = len(roles)
    town = rng.integers(0, max(n // 60, 1), n)
    honest, mules, fraudsters = (np.flatnonzero(roles == role) for role in range(3))
    shops = rng.choice(honest, n // 50, replace=False)
    popular = rng.pareto(1.5, len(shops)) + 1
    found = []

    def pay(payers: np.ndarray, payees: np.ndarray) -> None:
        found.append(np.stack([payers, payees]))

    by_town = honest[np.argsort(town[honest], kind="stable")]
    place = np.searchsorted(town[by_town], np.arange(town.max() + 2))
    payers = np.repeat(honest, rng.poisson(2, len(honest)))
    low, high = place[town[payers]], place[town[payers] + 1]
    pay(payers, by_town[rng.integers(low, high)])
    payers = np.repeat(np.arange(n), np.where(roles == 1, rng.poisson(4, n), rng.poisson(1.2, n)))
    pay(payers, rng.choice(shops, len(payers), p=popular / popular.sum()))
    victims = np.repeat(fraudsters, rng.poisson(5, len(fraudsters)))
    pay(rng.choice(honest, len(victims)), victims)
    out = np.repeat(fraudsters, 1 + rng.poisson(1.5, len(fraudsters)))
    pay(out, rng.choice(mules, len(out)))
    bystanders = np.repeat(mules, rng.poisson(1.5, len(mules)))  # mules have friends, too
    pay(bystanders, rng.choice(honest, len(bystanders)))
    edges = np.concatenate(found, axis=1)
    edges = edges[:, edges[0] != edges[1]]
    return edges[:, rng.permutation(edges.shape[1])]


def _table(rng: np.random.Generator, roles: np.ndarray) -> pd.DataFrame:
    n = len(roles)
    mule, fraudster = roles == 1, roles == 2
    country = rng.choice(len(COUNTRIES), n, p=_zipf(rng, len(COUNTRIES)))
    moved = (fraudster & (rng.random(n) < 0.35)) | (rng.random(n) < 0.03)
    country[moved] = rng.choice(SUSPECT, int(moved.sum()))
    device = rng.choice(len(DEVICES), n, p=[0.4, 0.25, 0.25, 0.09, 0.01])
    device[(mule & (rng.random(n) < 0.2)) | (fraudster & (rng.random(n) < 0.1))] = 4
    age = np.clip(rng.gamma(9, 5, n) - 6 * mule, 16, 95).round()
    income = np.round(np.exp(rng.normal(10.2, 0.6, n) - 0.3 * mule), -2)
    days = np.minimum(rng.gamma(1.5, 700, n) * np.where(roles > 0, 0.5, 1.0), 4000).round()
    refunds = rng.poisson(np.where(fraudster, 2.2, 0.8) * rng.gamma(2, 0.5, n))
    night = rng.beta(2, np.where(fraudster, 6, 10))
    opened = pd.Timestamp("2024-06-30") - pd.to_timedelta(days, unit="D")
    gap = {
        "age": 0.05 + 0 * age,
        "income": np.select([fraudster, mule], [0.4, 0.3], 0.12),
        "device": np.full(n, 0.04),
        "job": np.select([mule], [0.5], 0.3),
    }
    jobs = np.array(["clerk", "nurse", "student", "driver", "none", "teacher", "cook", "sales"])
    job = rng.choice(len(jobs), n)
    job[mule & (rng.random(n) < 0.3)] = 2
    table = pd.DataFrame(
        {
            "id": [f"acc{i:06d}" for i in range(n)],
            "name": [f"Holder {i:x}" for i in rng.permutation(n)],
            "age": age,
            "income": income,
            "country": COUNTRIES[country],
            "device": DEVICES[device],
            "job": jobs[job],
            "refunds": refunds,
            "night_share": night.round(3),
            "opened": opened.strftime("%Y-%m-%d"),
        }
    )
    for column, share in gap.items():
        table.loc[rng.random(n) < share, column] = None
    return table


def _zipf(rng: np.random.Generator, k: int) -> np.ndarray:
    share = 1 / (1 + rng.permutation(k))
    return share / share.sum()
