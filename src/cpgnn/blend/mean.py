"""The mean of several blends in logits: a blend again.

Their priors stand side by side, each counting its share; what is heard over a relation is heard
with the mean of the matrices. Neighbours speak with the belief of the mean, in every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import chain

import numpy as np

from cpgnn.blend.blend import Blend, Hearing
from cpgnn.blend.second_stage import Stage


def mean_of(blends: Sequence[Blend]) -> Blend:
    """Of blends with as many rounds, fitted to the same nodes, labels and weights of edges, that
    hear a relation with the same γ."""
    hears = tuple(dict.fromkeys(chain(*(one.hears for one in blends))))
    rounds = zip(*(one.stages for one in blends), strict=True)
    return replace(
        blends[0],
        priors=tuple(chain(*(one.priors for one in blends))),
        hears=hears,
        w_0=np.concatenate([one.w_0 for one in blends]) / len(blends),
        stages=tuple(_mean_stage(blends, stages, hears) for stages in rounds),
    )


def _mean_stage(
    blends: Sequence[Blend], stages: Sequence[Stage], hears: Sequence[Hearing]
) -> Stage:
    c = blends[0].num_classes
    H_bar = np.zeros((len(hears), c, c))
    for blend, stage in zip(blends, stages, strict=True):
        at = [hears.index(one) for one in blend.hears]
        H_bar[at] += stage.H_bar / len(blends)
    w = np.concatenate([stage.w for stage in stages]) / len(blends)
    return Stage(w, np.mean([stage.b for stage in stages], axis=0), H_bar)
