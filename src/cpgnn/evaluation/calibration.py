"""Probabilities that mean what they say: scaling of logits, and how far off they are.

CPGNN's logits are sums over neighbours, so on nodes with many of them they are large and their
softmax is too confident. Dividing all logits by one number T > 0 corrects most of this and changes
no class. Where models out of fold tell more, clear cases may need another T than doubtful ones: a
node's logits are also multiplied by s^γ, s being how far they spread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize, minimize_scalar
from scipy.special import log_softmax

from cpgnn.engine.arrays import class_indices
from cpgnn.engine.formatting import percent
from cpgnn.engine.records import plain
from cpgnn.errors import check_count

BINS = 15
SHARE, LEAST = 0.25, 30
"""A quarter of the validation nodes set T, at least 30, and at most half of them."""
COLDEST, HOTTEST = 1e-3, 1e3
"""The range of T, the upper end as a multiple of the largest difference of two logits."""
CONTRASTS = FLATTEST, STARKEST = -0.9, 2.0
"""The range of γ: above -1, a node that is more decided stays so."""
PULL = 3.0
"""μ of μ γ², beside the sum of the losses: .3 to 30 were tried on graphs outside the paper."""
LEAST_SPREAD = 1e-6


class Scaling(NamedTuple):
    """What makes probabilities of logits: softmax(R · s^γ / T), s [n] the spread of each node's."""

    temperature: float = 1.0
    """T"""
    contrast: float = 0.0
    """γ: above 0, clear cases become clearer and doubtful ones more doubtful."""


AS_THEY_ARE = Scaling()


def spread(logits: np.ndarray) -> np.ndarray:
    """s: the standard deviation over the classes, [n]."""
    return np.maximum(np.std(logits, axis=1, dtype=np.float64), LEAST_SPREAD)


def softmax(logits: np.ndarray, temperature: float = 1.0, contrast: float = 0.0) -> np.ndarray:
    """softmax(R · s^γ / T) by row, in float64."""
    R = np.asarray(logits, dtype=np.float64) / temperature
    if contrast:
        R *= (spread(logits) ** contrast)[:, None]
    return np.exp(log_softmax(R, axis=1))


def negative_log_likelihood(logits: np.ndarray, labels: np.ndarray, temperature: float) -> float:
    """-mean_v log softmax(R_v / T)[y_v]."""
    scaled = np.asarray(logits, dtype=np.float64) / temperature
    return -float(log_softmax(scaled, axis=1)[np.arange(len(labels)), labels].mean())


def fit_temperature(logits: np.ndarray, labels: np.ndarray) -> float:
    """T = argmin of the negative log-likelihood; R [t, c], labels [t].

    The likelihood is concave in 1/T, so there is one optimum. Where every label has the largest
    logit there is none (surer is always better): T stays 1, for nothing was learned about errors.
    """
    if (np.take_along_axis(logits, labels[:, None], 1)[:, 0] >= logits.max(axis=1)).all():
        return 1.0
    spread = max(float(np.ptp(logits, axis=1).max()), HOTTEST)  # large where weights are money
    found = minimize_scalar(
        lambda log_T: negative_log_likelihood(logits, labels, float(np.exp(log_T))),
        bounds=(np.log(COLDEST), np.log(HOTTEST * spread)),
        method="bounded",
        options={"xatol": 1e-6},
    )
    return float(np.exp(found.x))


def fit_scaling(logits: np.ndarray, labels: np.ndarray) -> Scaling:
    """T and γ = argmin of the negative log-likelihood + μ γ²/t; R [t, c], labels [t]."""
    T, s = fit_temperature(logits, labels), spread(logits)
    usual = float(np.median(s))
    if T == 1.0 or usual <= LEAST_SPREAD:
        return Scaling(T)
    R, t, u = np.asarray(logits, dtype=np.float64), len(labels), np.log(s / usual)
    rows = np.arange(t)

    def objective(p: np.ndarray) -> tuple[float, np.ndarray]:
        Z = R * np.exp(p[1] * u - p[0])[:, None]
        log_P = log_softmax(Z, axis=1)
        slope = (np.exp(log_P) * Z).sum(axis=1) - Z[rows, labels]  # by the logarithm of the scale
        loss = PULL * p[1] ** 2 - log_P[rows, labels].sum()
        return loss / t, np.array([-slope.sum(), slope @ u + 2 * PULL * p[1]]) / t

    start = np.log(T)
    bounds = [(start - 3, start + 3), CONTRASTS]
    log_T, gamma = minimize(objective, [start, 0.0], jac=True, bounds=bounds).x
    return Scaling(float(np.exp(log_T) * usual**gamma), float(gamma))


def calibration_nodes(labels: np.ndarray, val: np.ndarray, seed: int = 0) -> np.ndarray:
    """The validation nodes that set T and are kept from the choice of the epoch.

    Drawn class by class in proportion. Fewer than 2·30 validation nodes are too few for both:
    then none.
    """
    if len(val) < 2 * LEAST:
        return val[:0]
    wanted = max(LEAST, round(SHARE * len(val)))
    shuffled = np.random.default_rng(seed).permutation(val)
    # The i-th of the n_j nodes of class j gets the place (i + 1/2) / n_j: the first ones of every
    # class come first, evenly.
    order = np.argsort(labels[shuffled], kind="stable")
    sizes = np.bincount(labels[shuffled])
    rank = np.arange(len(val)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    place = (rank + 0.5) / np.repeat(sizes, sizes)
    return np.sort(shuffled[order][np.argsort(place, kind="stable")[:wanted]])


@dataclass(frozen=True, eq=False)
class Reliability:
    """Nodes by how sure the model is of its class: is it right as often as it says?"""

    count: np.ndarray
    """[bins]: nodes whose largest probability lies in the bin ((b − 1)/bins, b/bins]."""
    confidence: np.ndarray
    """[bins]: mean largest probability; NaN in an empty bin."""
    accuracy: np.ndarray
    """[bins]: share of right classes; NaN in an empty bin."""

    @property
    def error(self) -> float:
        """Expected calibration error: Σ_b count_b/n · |accuracy_b − confidence_b|."""
        gap = np.nan_to_num(np.abs(self.accuracy - self.confidence))
        n = self.count.sum()
        return float((self.count * gap).sum() / n) if n else float("nan")

    def as_dict(self) -> dict[str, Any]:
        """For JSON; empty bins are null."""
        return {"expected_calibration_error": self.error} | plain(self)


def reliability(probabilities: np.ndarray, labels: np.ndarray, bins: int = BINS) -> Reliability:
    """The reliability diagram of probabilities [t, c] against labels [t], in equal bins."""
    check_count("bins", bins, least=1)
    labels = class_indices(labels, probabilities.shape[1])
    sure = probabilities.max(axis=1)
    hit = probabilities.argmax(axis=1) == labels
    # float64 edges as np.linspace gives them: a confidence of exactly b/bins is in bin b.
    where = np.clip(np.searchsorted(np.linspace(0, 1, bins + 1), sure) - 1, 0, bins - 1)
    count = np.bincount(where, minlength=bins)
    with np.errstate(invalid="ignore"):
        confidence = np.bincount(where, sure, minlength=bins) / count
        accuracy = np.bincount(where, hit, minlength=bins) / count
    return Reliability(count, confidence, accuracy)


@dataclass(frozen=True, eq=False)
class Calibration:
    """What scaling did to the probabilities of nodes that nothing was fitted on."""

    scaling: Scaling
    num_nodes: int
    """Nodes that set it. None means that logits were left as they are."""
    before: Reliability
    after: Reliability

    @classmethod
    def of(
        cls, logits: np.ndarray, labels: np.ndarray, scaling: Scaling, num_nodes: int
    ) -> Calibration:
        before, after = (reliability(softmax(logits, *s), labels) for s in (AS_THEY_ARE, scaling))
        return cls(scaling, num_nodes, before, after)

    @property
    def too_few(self) -> bool:
        """Whether there are too few held-out nodes to tell."""
        return int(self.after.count.sum()) < LEAST

    def __str__(self) -> str:
        n = int(self.after.count.sum())
        if self.too_few:
            return f"Too few held-out nodes ({n}) to tell how far the probabilities are off."
        off = f"Probabilities are off by {percent(self.after.error)} on average"
        if self.num_nodes == 0:
            return f"{off} ({n:,} held-out nodes); they were not calibrated."
        return (
            f"{off} ({n:,} held-out nodes); before they were calibrated, by "
            f"{percent(self.before.error)}."
        )

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        made = {**self.scaling._asdict(), "calibration_nodes": self.num_nodes}
        return made | {"before": self.before.as_dict(), "after": self.after.as_dict()}
