"""Whether a new run of experiments gives what the committed results say: `make reproduce-quick`.

    python scripts/paper/same_results.py NEW COMMITTED

Compares the lines that both have. The same code and seed on the same processor give the same line;
another processor, or code that adds in another order, rounds differently, and 2,000 epochs amplify
that: a single run may then be off by a few points, their mean may not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from cpgnn.experiments.config import experiment_names
from cpgnn.experiments.store import results_of

ONE_RUN, TYPICAL, ON_AVERAGE = 10.0, 2.0, 1.0
"""Points of test accuracy: of any run, of the mean absolute difference, of the mean difference."""


def main(new: Path, committed: Path) -> None:
    differences = []
    for name in experiment_names():
        ours, theirs = (results_of(name, folder).read() for folder in (new, committed))
        both = ours.keys() & theirs.keys()
        differences += [ours[key]["test"] - theirs[key]["test"] for key in both]
    if not differences:
        sys.exit("No run is in both folders: nothing was compared.")
    off, average = np.abs(differences), np.mean(differences)
    print(
        f"{len(off)} runs compared with the committed ones: {np.count_nonzero(off == 0)} the same; "
        f"largest difference {off.max():.2f} points, mean absolute difference {off.mean():.2f}, "
        f"mean difference {average:+.2f}"
    )
    if off.max() > ONE_RUN or off.mean() > TYPICAL or abs(average) > ON_AVERAGE:
        sys.exit(
            f"They must agree within {ONE_RUN:g} points each, {TYPICAL:g} in the mean absolute "
            f"difference and {ON_AVERAGE:g} on average."
        )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
