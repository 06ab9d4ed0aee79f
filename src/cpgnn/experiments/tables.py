"""Tables from result lines: ours, published, difference, laid out as in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cpgnn.experiments.choice import BySplit, choosing, chosen, tried
from cpgnn.experiments.config import Experiment, load_experiment
from cpgnn.experiments.matrices import error_table
from cpgnn.experiments.store import results_of

HETEROPHILOUS = ("texas", "squirrel", "chameleon")
HOMOPHILOUS = ("citeseer", "pubmed", "cora")
COLUMNS = (
    "table",
    "setting",
    "dataset",
    "method",
    "preset",
    "accuracy_mean",
    "accuracy_std",
    "n",
    "published_mean",
    "published_std",
)


PRIOR_ALONE = (
    ' "prior k": in k of the n runs an epoch of the prior alone was best on the validation nodes, '
    "and the model is its prior, without propagation."
)


@dataclass(frozen=True)
class Cell:
    """One number of a table: the runs of the configuration that validation chose."""

    tests: dict[int, float]
    """Split → test accuracy in percent."""
    prior_alone: int
    """Runs of CPGNN in which an epoch without propagation was best on the validation nodes."""
    configuration: dict[str, Any]

    @property
    def n(self) -> int:
        return len(self.tests)

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.tests.values())))

    @property
    def std(self) -> float:
        """Over the n splits."""
        return float(np.std(list(self.tests.values())))


def cells(experiment: Experiment, folder: Path | None = None) -> dict[tuple[str, ...], Cell]:
    """(setting, data set, method, preset) → cell, from the lines of this experiment's jobs.

    Of several configurations the one that validation chose counts, on every split it has.
    """
    store = results_of(experiment.name, folder)
    return {
        place: _cell(configurations[name])
        for place, configurations in tried(experiment, store.read()).items()
        if (name := chosen(choosing(experiment, place), configurations)) is not None
    }


def _cell(by_split: BySplit) -> Cell:
    return Cell(
        tests={split: by_split[split]["test"] for split in sorted(by_split)},
        prior_alone=sum(result.get("num_layers") == 0 for result in by_split.values()),
        configuration=next(iter(by_split.values()))["configuration"],
    )


def table(name: str, folder: Path | None = None) -> pd.DataFrame:
    """One row a cell, with the published number beside it (empty where there is none)."""
    return _rows(load_experiment(name), folder)[list(COLUMNS)]


def _rows(experiment: Experiment, folder: Path | None) -> pd.DataFrame:
    """`table` with one column more: in how many runs the prior stands alone."""
    rows = []
    for (setting, dataset, method, preset), cell in cells(experiment, folder).items():
        published = experiment.published.get(setting, {}).get(dataset, {}).get(method)
        mean, std = published or (float("nan"), float("nan"))
        ours = (round(cell.mean, 2), round(cell.std, 2), cell.n)
        place = (experiment.table, setting, dataset, method, preset)
        rows.append((*place, *ours, mean, std, cell.prior_alone))
    return pd.DataFrame(rows, columns=[*COLUMNS, "prior_alone"])


def laid_out(name: str, folder: Path | None = None) -> list[tuple[str, pd.DataFrame]]:
    """The table as the paper prints it: one frame a setting, "ours | published | difference"."""
    experiment = load_experiment(name)
    if experiment.tracks_H:
        return [("error of H", error_table(folder))]
    frame = _rows(experiment, folder)
    if frame.empty:
        return _published_pages(experiment)
    pages = []
    for setting in experiment.settings:
        part = frame[frame["setting"] == setting]
        rows = []
        for method in experiment.methods:
            for preset in method.presets:
                here = part[(part["method"] == method.name) & (part["preset"] == preset)]
                here = here.set_index("dataset")
                label = method.name + ("" if preset == "-" else f" ({preset})")
                row = {"method": label}
                for dataset in experiment.datasets:
                    row[dataset] = _text(here, dataset, experiment.compared)
                    if dataset == HETEROPHILOUS[-1]:
                        row["mean het."] = _mean(here, HETEROPHILOUS)
                    if dataset == HOMOPHILOUS[-1]:
                        row["mean hom."] = _mean(here, HOMOPHILOUS)
                rows.append(row)
        pages.append((setting, pd.DataFrame(rows)))
    return pages


def _published_pages(experiment: Experiment) -> list[tuple[str, pd.DataFrame]]:
    """The published numbers alone, where nothing of ours is there to stand beside them."""
    pages = []
    for setting, by_dataset in experiment.published.items():
        found = {d: numbers for d, numbers in by_dataset.items() if d in experiment.datasets}
        methods = list(dict.fromkeys(method for numbers in found.values() for method in numbers))
        rows = [
            {"method": method}
            | {d: _mean_std(found[d][method]) if method in found[d] else "" for d in found}
            for method in methods
        ]
        title = f"{setting}: {experiment.published_title} (none of ours yet)"
        pages.append((title, pd.DataFrame(rows)))
    return pages


def _mean_std(numbers: list[float]) -> str:
    return f"{numbers[0]:.2f} ± {numbers[1]:.2f}"


def _text(here: pd.DataFrame, dataset: str, compared: bool) -> str:
    if dataset not in here.index:
        return ""
    row = here.loc[dataset]
    alone = f", prior {row['prior_alone']}" if row["prior_alone"] else ""
    text = f"{row['accuracy_mean']:.2f} ± {row['accuracy_std']:.2f} (n={row['n']}{alone})"
    if np.isnan(row["published_mean"]):
        return text
    text += f" | {row['published_mean']:.2f}"
    if compared:
        text += f" | {row['accuracy_mean'] - row['published_mean']:+.2f}"
    return text


def _mean(here: pd.DataFrame, datasets: tuple[str, ...]) -> str:
    if not set(datasets) <= set(here.index):
        return ""
    part = here.loc[list(datasets)]
    ours, theirs = part["accuracy_mean"].mean(), part["published_mean"].mean()
    return (
        f"{ours:.2f}" if np.isnan(theirs) else f"{ours:.2f} | {theirs:.2f} | {ours - theirs:+.2f}"
    )


def caption(name: str) -> str:
    """What the numbers of a table are."""
    experiment = load_experiment(name)
    middle = " | difference" if experiment.compared else ""
    cells = f" Cells: ours | {experiment.published_title}{middle}." if experiment.published else ""
    return f"{experiment.title}.{cells}{'' if experiment.tracks_H else PRIOR_ALONE}"


def markdown(name: str, folder: Path | None = None) -> str:
    """The table for a docs page, with a line that says what its numbers are."""
    text = f"{caption(name)}\n"
    for setting, frame in laid_out(name, folder):
        text += f"\n**{setting}**\n\n" + _markdown_rows(frame)
    return text


def _markdown_rows(frame: pd.DataFrame) -> str:
    lines = [list(frame.columns), ["---"] * len(frame.columns), *frame.to_numpy().tolist()]
    escaped = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
    return "".join(f"| {' | '.join(line)} |\n" for line in escaped)
