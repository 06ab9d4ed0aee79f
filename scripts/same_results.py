"""Whether a new run of experiments gives what the committed results say: `make reproduce-quick`.

    python scripts/same_results.py NEW COMMITTED

Compares the lines that both have. The same code and seed on another processor rounds differently,
and 2,000 epochs amplify that: a single run may be off by a few points, their mean may not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from cpgnn.experiments.config import experiment_names
from cpgnn.experiments.store import results_of

ONE_RUN, ON_AVERAGE = 10.0, 1.5
"""Points of test accuracy."""


def main(new: Path, committed: Path) -> None:
    differences = []
    for name in experiment_names():
        ours, theirs = (results_of(name, folder).read() for folder in (new, committed))
        both = ours.keys() & theirs.keys()
        differences += [ours[key]["test"] - theirs[key]["test"] for key in both]
    if not differences:
        sys.exit("No run is in both folders: nothing was compared.")
    worst, average = np.abs(differences).max(), np.mean(differences)
    print(
        f"{len(differences)} runs compared with the committed ones: "
        f"largest difference {worst:.2f} points, mean difference {average:+.2f}"
    )
    if worst > ONE_RUN or abs(average) > ON_AVERAGE:
        sys.exit(f"They must agree within {ONE_RUN:g} points each and {ON_AVERAGE:g} on average.")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
