"""How often the edges of a class lead to each class, and how certain that is.

Edges whose two ends are labelled are known; there may be few. Predicted classes speak of many more
edges, and err. The estimate is known edges plus the model's word, which counts as κ_i edges more:

    F_i = (C_i + κ_i·G_i) / (Σ_j C_ij + κ_i)

C_ij: edges from a labelled node of class i to a labelled one of class j, each divided by the share
of class j that is labelled, rows scaled back to their count. G_i: where all edges of the labelled
nodes of class i lead, with predicted classes for neighbours without a label. κ_i is how many edges
the model's word about class i proved to be worth on the known ones: it maximises the likelihood of
C under Dirichlet(κ·G) rows, that of row i first (`POOLED`). With every node labelled, F is
Definition 2 itself.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
from scipy.special import gammaln

from cpgnn.compatibility import edge_frequency, enhanced_belief
from cpgnn.engine.records import plain
from cpgnn.errors import check_count, check_share
from cpgnn.homophily import one_hot, row_normalized

RESAMPLES = 200
CONFIDENCE = 0.9
TRUSTED_ACCURACY = 0.8
"""Below this accuracy on labels not seen intervals are marked optimistic."""
DAMPING = 0.8
"""How far a draw moves the weight of an end of a known edge from 1. Both ends are drawn, so whole
draws would make edges that share no end vary three times too much: (1 + 1)² − 1 = 3 times the
variance; damped, (1 + 0.8²)² − 1 = 1.7 times. Of 0.7, 0.8, 0.85, 0.9 and 1 the one whose 90 %
intervals held nearest to 90 % of the cells on 56 generated graphs."""
WORTH = np.exp(np.linspace(0, 10, 41))
"""The κ that are tried, in edges."""
POOLED = 0.2
"""What the likelihood of the other rows counts beside that of a row itself. Where all counted
alike, a common class vouched for what the model said of rare ones."""
FEW_EDGES = 30
"""Known edges below which a class's interval is marked optimistic."""


@dataclass(frozen=True, eq=False)
class EdgeFrequency:
    """The share of class i's edges that lead to class j, [c, c], with its interval."""

    share: np.ndarray
    low: np.ndarray
    high: np.ndarray
    """Ends of the interval; NaN where there is no evidence."""
    edges: np.ndarray
    """Weight of the edges from i to j whose two ends are labelled: the evidence."""
    initial: np.ndarray | None
    """Ĥ before training, doubly stochastic, for comparison; None if there was none."""
    confidence: float
    method: Literal["known edges and predictions", "beliefs"]
    """"beliefs": rows of B̃ᵀAB̃, where no label was kept unseen to say how good predictions are."""
    optimistic: bool
    """The interval may be too narrow: accuracy on labels not seen is below 80 %, or a class has few
    known edges, or a few that hold most of the weight."""

    @property
    def evidence(self) -> np.ndarray:
        """[c]: whether class i has any edge whose two ends are labelled."""
        return self.edges.sum(axis=1) > 0

    def as_dict(self) -> dict[str, Any]:
        """For JSON; NaN becomes null."""
        names = ("share", "low", "high", "edges", "evidence", "confidence", "method", "optimistic")
        return dict(plain({name: getattr(self, name) for name in names}))

    def table(self, class_names: list[str]) -> pd.DataFrame:
        """One row per pair of classes."""
        c = len(class_names)
        names = np.array(class_names, dtype=object)
        initial = np.full((c, c), np.nan) if self.initial is None else self.initial
        return pd.DataFrame(
            {
                "class": np.repeat(names, c),
                "leads_to": np.tile(names, c),
                "share": self.share.ravel(),
                "low": self.low.ravel(),
                "high": self.high.ravel(),
                "known_edges": self.edges.ravel(),
                "evidence": np.repeat(np.where(self.evidence, "yes", "no"), c),
                "initial_estimate": initial.ravel(),
            }
        )


def edge_frequency_interval(
    A: sp.csr_array,
    labels: np.ndarray,
    train: np.ndarray,
    val: np.ndarray,
    B: np.ndarray,
    *,
    initial: np.ndarray | None = None,
    beyond: np.ndarray | None = None,
    directed: bool = False,
    asked: np.ndarray | None = None,
    confidence: float = CONFIDENCE,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> EdgeFrequency:
    """The estimate F and its interval: a bootstrap over the labelled nodes, nothing is retrained.

    A [n, n], (u, v) for an edge from u to v, both ways unless it is `directed`; labels [n], looked
    at only for `train` and `val`; B [n, c] beliefs, of `val` by a model that had not learned from
    their labels; `asked` [n] which nodes have a class at all (None: all of them).
    A resample draws the labelled nodes with replacement, and an edge counts as often
    as its labelled ends were drawn, multiplied (two ends: damped, see `DAMPING`). The interval is
    about this graph: it narrows by √(1 − f²), f the share of the edges of a class's labelled nodes
    that lead to labelled ones, and is a point when all are. `beyond` [c]: beliefs summed over nodes
    that are not part of A.
    """
    check_share("confidence", confidence, zero=False)
    check_count("resamples", resamples, least=2)
    if asked is not None and not asked.all():
        at = np.cumsum(asked) - 1
        A, labels, B = A[asked][:, asked], labels[asked], B[asked]
        train, val = at[train], at[val]
    n, c = B.shape
    known = np.concatenate([train, val])
    base = edge_frequency(A, enhanced_belief(B, labels, known))
    y = labels[known]
    among = A[known][:, known].astype(np.float64).tocoo()
    pairs = y[among.row] * c + y[among.col]
    C = np.bincount(pairs, among.data, minlength=c * c).reshape(c, c).astype(np.float64)
    unknown = np.full((c, c), np.nan)
    if len(val) == 0:
        return EdgeFrequency(base, unknown, unknown, C, initial, confidence, "beliefs", True)

    predicted = B.argmax(axis=1)
    rest = np.setdiff1d(np.arange(n), known)
    outward = (A[known][:, rest] @ one_hot(predicted[rest], c)).tocoo()  # [labelled, c]
    cells = y[outward.row] * c + outward.col
    others = B[rest].sum(axis=0) + (0 if beyond is None else beyond)
    weight = _column_weights(labels, known, val, B, others)
    unit = float(among.data.mean()) if among.nnz else 1.0

    rng = np.random.default_rng(seed)
    counts = np.empty((resamples + 1, 2, c, c))
    times = np.ones(len(known), dtype=np.int64)
    for counted in counts:
        ends = 1 + DAMPING * (times - 1)
        edges = among.data * ends[among.row] * ends[among.col]
        counted[0] = np.bincount(pairs, edges, minlength=c * c).reshape(c, c)
        edges = outward.data * times[outward.row]
        counted[1] = np.bincount(cells, edges, minlength=c * c).reshape(c, c)
        times = np.bincount(rng.integers(len(known), size=len(known)), minlength=len(known))
    wrong = (1 + (predicted[val] != labels[val]).sum()) / (1 + len(val))
    ends_seen = 1 if directed else 2
    F = _combined(counts[:, 0] / unit, counts[:, 1] / unit, weight, ends_seen, 0.25 / wrong**2)

    share = np.where(np.isnan(F[0]), base, F[0])
    f = np.nan_to_num(row_normalized(np.stack([C.sum(1), counts[0, 1].sum(1)], axis=1))[:, 0])
    low, high = _ends(share, F[1:], C / unit, np.sqrt(1 - f**2), confidence)
    accuracy = float((predicted[val] == labels[val]).mean())
    both: Literal["known edges and predictions"] = "known edges and predictions"
    squares = np.bincount(pairs, among.data**2, minlength=c * c).reshape(c, c).sum(axis=1)
    alike = C.sum(axis=1) ** 2 / np.maximum(squares, 1e-300)  # edges, were all of one weight
    few = (alike < FEW_EDGES) & (squares > 0) & (f < 1)
    optimistic = accuracy < TRUSTED_ACCURACY or bool(few.any())
    return EdgeFrequency(share, low, high, C, initial, confidence, both, optimistic)


def _column_weights(
    labels: np.ndarray, known: np.ndarray, val: np.ndarray, B: np.ndarray, others: np.ndarray
) -> np.ndarray:
    """1 / (share of class j that is labelled), [c].

    How many of the others are of class j is what beliefs about them add up to (`others` [c]),
    corrected by what beliefs about the validation nodes add up to. One node more on both sides
    keeps rare classes calm. (Counted by the most probable class, rare ones were off by far: a
    model out of fold names them at another rate.)
    """
    c = B.shape[1]
    have, true = (np.bincount(labels[nodes], minlength=c) for nodes in (known, val))
    corrected = others * (true + 1) / (B[val].sum(axis=0) + 1)
    corrected *= others.sum() / max(corrected.sum(), 1e-300)
    return (have + corrected) / np.maximum(have, 1)


def _combined(
    C: np.ndarray, outward: np.ndarray, weight: np.ndarray, ends: int = 2, least: float = 0.0
) -> np.ndarray:
    """F for every resample: C and outward [b, c, c], column weights [c]; NaN rows without edges.

    An edge is seen from so many of its `ends`. Edges drawn twice look as if the model's word were
    worth little: a resample takes it for worth at least `least` edges, or what it is worth in the
    graph itself, the first, if that is less. Where a share e of predictions is wrong, that is
    1/(4e²), at which a share of edges has a standard deviation of at most e.
    """
    total = C.sum(axis=-1, keepdims=True)
    weighted = C * weight
    scale = weighted.sum(axis=-1, keepdims=True)
    known = weighted * np.divide(total, scale, out=np.zeros_like(total), where=scale > 0)
    everywhere = C + outward
    worth = _worth(known / ends, everywhere)
    kappa = ends * np.maximum(worth, np.minimum(worth[0], least))[:, :, None]
    rows = everywhere.sum(axis=-1, keepdims=True)
    G = np.divide(everywhere, rows, out=np.full_like(everywhere, np.nan), where=rows > 0)
    return (known + kappa * G) / (known.sum(axis=-1, keepdims=True) + kappa)


def _worth(known: np.ndarray, everywhere: np.ndarray) -> np.ndarray:
    """κ [b, c]: argmax of DirichletMultinomial(known_i | κ·G_i) and, to the power of `POOLED`, of
    the same for the other rows; G with half an edge a cell."""
    G = (everywhere + 0.5) / (everywhere + 0.5).sum(axis=-1, keepdims=True)
    total = known.sum(axis=-1)
    likelihood = np.stack(
        [
            gammaln(k) - gammaln(k + total) + (gammaln(known + k * G) - gammaln(k * G)).sum(axis=-1)
            for k in WORTH
        ]
    )
    pooled = POOLED * likelihood.sum(axis=-1, keepdims=True)
    return np.asarray(WORTH[np.argmax((1 - POOLED) * likelihood + pooled, axis=0)])


def _ends(
    share: np.ndarray, F: np.ndarray, C: np.ndarray, narrowing: np.ndarray, confidence: float
) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles of the resamples around the estimate.

    Where no known edge joins i and j (or all edges of i do) resamples cannot vary: there the end
    is the share at which seeing none (or nothing else) would still happen in (1 − confidence)/2
    of the cases, 1 − α^(1/n).
    """
    tail = (1 - confidence) / 2
    seen = C.sum(axis=1, keepdims=True)
    here = seen[:, 0] > 0
    low, high = np.full(share.shape, np.nan), np.full(share.shape, np.nan)
    F = np.where(np.isnan(F), share, F)  # a resample without any node of the class
    around = F[:, here] - F[:, here].mean(axis=0)
    ends = np.quantile(around, [tail, 1 - tail], axis=0) * narrowing[here][:, None]
    low[here], high[here] = share[here] + ends[0], share[here] + ends[1]
    reach = (1 - tail ** (1 / np.maximum(seen, 1))) * narrowing[:, None]
    none, all_of_them = C == 0, seen == C
    low = np.where(none, np.minimum(low, 0.0), low)  # NaN stays NaN
    high = np.where(none, np.maximum(high, np.maximum(share, reach)), high)
    high = np.where(all_of_them, np.maximum(high, 1.0), high)
    low = np.where(all_of_them, np.minimum(low, np.minimum(share, 1 - reach)), low)
    return np.clip(low, 0, 1), np.clip(high, 0, 1)
