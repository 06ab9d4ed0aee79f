"""A node's logits taken apart: own part + one term for every neighbour, exactly.

    logits_v = o_v + Σ_u t_v(u) + const_v

t_v(u) = Σ_r P_r(v, u) (B(u) − 1/c) H̄_r of the second stage, and w_m times the same of a member that
was trained end to end. The constant is the same for all classes: it changes no probability.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from portfolio.portfolio import Member
from portfolio.second_stage import SecondStage


@dataclass(frozen=True, eq=False)
class Terms:
    """own: prior -> [c]; neighbours: node -> [c]; both before the temperature."""

    own: dict[str, np.ndarray]
    neighbours: dict[int, np.ndarray]

    @property
    def total(self) -> np.ndarray:
        return sum(self.own.values()) + sum(self.neighbours.values(), np.zeros(1))


def explain(v: int, members: list[Member], second: SecondStage) -> Terms:
    stage = second.stage
    c = second.beliefs.shape[1]
    heard: dict[int, np.ndarray] = {}

    def add(propagators: list[sp.csr_array], B: np.ndarray, H: np.ndarray, weight: float) -> None:
        for P, H_r in zip(propagators, H, strict=True):
            row = slice(P.indptr[v], P.indptr[v + 1])
            for u, p in zip(P.indices[row], P.data[row], strict=True):
                term = weight * p * ((B[u] - 1 / c) @ H_r)
                heard[int(u)] = heard.get(int(u), np.zeros(c)) + term

    own = {"base": stage.b}
    for m, w in zip(members, stage.w, strict=True):
        if m.parts is None:
            own[m.name] = w * m.logs[-1][v]
        else:
            own[m.name] = w * m.parts.own[v]
            add(m.parts.propagators, m.parts.beliefs, m.parts.H, w)
    add(second.propagators, second.beliefs, stage.H, 1.0)
    return Terms(own, heard)
