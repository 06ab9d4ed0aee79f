"""Which of several configurations a cell reports: the one that validation chose.

All configurations run on the first splits of a cell (`Experiment.num_choosing` of them), only the
chosen one on the rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np

from cpgnn.experiments.config import Experiment, Job, Place

Result = dict[str, Any]
BySplit = dict[int, Result]


def tried(experiment: Experiment, results: Mapping[str, Result]) -> dict[Place, dict[str, BySplit]]:
    """Cell → configuration → split → result, as far as there are results."""
    grouped: dict[Place, dict[str, BySplit]] = defaultdict(lambda: defaultdict(dict))
    for job in experiment.jobs():
        by_split = grouped[job.place][str(job.configuration)]
        if job.key in results:
            by_split[job.split] = results[job.key]
    return grouped


def chosen(num_choosing: int, configurations: Mapping[str, BySplit]) -> str | None:
    """The best mean validation accuracy on those of the first splits that all have, if any."""
    common = set(range(num_choosing)).intersection(*configurations.values())
    if not common:
        return None

    def mean_validation(name: str) -> float:
        return float(np.mean([configurations[name][s]["validation"] for s in sorted(common)]))

    return max(configurations, key=mean_validation)


def needed(experiment: Experiment, jobs: list[Job], results: Mapping[str, Result]) -> list[Job]:
    """The jobs without those whose configuration lost on the splits that choose."""
    winners = {}
    for place, configurations in tried(experiment, results).items():
        first = experiment.num_choosing(place)
        if all(set(range(first)) <= set(by_split) for by_split in configurations.values()):
            winners[place] = chosen(first, configurations)
    return [
        job
        for job in jobs
        if job.split < experiment.num_choosing(job.place)
        or winners.get(job.place, str(job.configuration)) == str(job.configuration)
    ]
