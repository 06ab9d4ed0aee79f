"""How far the learned compatibility matrix is from the true one, epoch by epoch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cpgnn.compatibility import compatibility_error, recover_compatibility
from cpgnn.engine.loop import Training
from cpgnn.experiments.config import load_experiment
from cpgnn.experiments.store import results_of
from cpgnn.graph import Graph
from cpgnn.homophily import compatibility_matrix
from cpgnn.model import CPGNN


def matrix_record(record: Training, model: CPGNN, graph: Graph) -> dict[str, Any]:
    """The three matrices of a training and δ̄_H at the epochs whose H̄ it kept.

    Learned: of the kept epoch, or the last of phase 2 where an epoch of phase 1 was kept.
    """
    true, initial = compatibility_matrix(graph), record.initial_compatibility
    assert initial is not None
    kept = model.H_bar.numpy(force=True)
    last = record.H_bars[max(record.H_bars)] if record.H_bars else kept
    learned = recover_compatibility(kept if record.phase == 2 else last)
    start = round(compatibility_error(initial, true), 6)
    curve = [
        (epoch, round(compatibility_error(recover_compatibility(H_bar), true), 6))
        for epoch, H_bar in record.H_bars.items()
    ]
    return {
        "true": _rounded(true),
        "initial": _rounded(initial),
        "learned": _rounded(learned),
        "curve": [(0, start), *curve],
        "initial_error": start,
        "learned_error": round(compatibility_error(learned, true), 6),
    }


def _rounded(matrix: np.ndarray) -> list[list[float | None]]:
    """For JSON; None where there is no evidence."""
    return [[None if np.isnan(v) else round(float(v), 5) for v in row] for row in matrix]


def tracked(folder: Path | None = None) -> dict[str, list[dict[str, Any]]]:
    """Data set → its result lines in the order of the splits."""
    experiment = load_experiment("compatibility")
    errors = ("initial_error", "learned_error")
    results = results_of("compatibility", folder, errors).read()
    lines: dict[str, list[dict[str, Any]]] = {name: [] for name in experiment.datasets}
    for job in experiment.jobs():
        if job.key in results:
            lines[job.dataset].append(results[job.key])
    return {name: found for name, found in lines.items() if found}


def error_table(folder: Path | None = None) -> pd.DataFrame:
    """A row for each data set: δ̄_H of the initial and the learned matrix, mean ± std over n."""
    rows = []
    for name, lines in tracked(folder).items():
        initial = np.array([line["initial_error"] for line in lines])
        learned = np.array([line["learned_error"] for line in lines])
        rows.append(
            {
                "dataset": name,
                "initial": f"{initial.mean():.4f} ± {initial.std():.4f}",
                "learned": f"{learned.mean():.4f} ± {learned.std():.4f}",
                "change": f"{(learned - initial).mean():+.4f}",
                "n": str(len(lines)),
            }
        )
    return pd.DataFrame(rows, columns=["dataset", "initial", "learned", "change", "n"])
