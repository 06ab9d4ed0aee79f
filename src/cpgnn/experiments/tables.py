"""Tables from result lines: ours, published, difference, laid out as in the paper."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cpgnn.experiments.choice import chosen, tried
from cpgnn.experiments.config import Experiment, Place, load_experiment
from cpgnn.experiments.matrices import error_table
from cpgnn.experiments.store import results_of

HETEROPHILOUS = ("texas", "squirrel", "chameleon")
HOMOPHILOUS = ("citeseer", "pubmed", "cora")
MEANS = {"mean het.": HETEROPHILOUS, "mean hom.": HOMOPHILOUS}
"""Columns of the real table that follow the last of their graphs."""

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

    @property
    def mean(self) -> float:
        return float(np.mean(list(self.tests.values())))

    @property
    def std(self) -> float:
        """Over the n splits."""
        return float(np.std(list(self.tests.values())))

    @property
    def n(self) -> int:
        return len(self.tests)


def cells(experiment: Experiment, folder: Path | None = None) -> dict[Place, Cell]:
    """The cells with results. Of several configurations the one that validation chose counts."""
    found = {}
    results = results_of(experiment.name, folder).read()
    for place, configurations in tried(experiment, results).items():
        name = chosen(experiment.num_choosing(place), configurations)
        if name is not None:
            runs = configurations[name]
            alone = sum(result.get("num_layers") == 0 for result in runs.values())
            found[place] = Cell({split: runs[split]["test"] for split in sorted(runs)}, alone)
    return found


def table(name: str, folder: Path | None = None) -> pd.DataFrame:
    """A row for each cell, with the published number beside it (empty where there is none)."""
    return _rows(load_experiment(name), folder)[list(COLUMNS)]


def _rows(experiment: Experiment, folder: Path | None) -> pd.DataFrame:
    """`table` with one more column: in how many runs the prior stands alone."""
    rows = []
    for (setting, dataset, method, preset), cell in cells(experiment, folder).items():
        published = experiment.published.get(setting, {}).get(dataset, {})
        theirs = published.get(method, (float("nan"), float("nan")))
        ours = (round(cell.mean, 2), round(cell.std, 2), cell.n)
        place = (experiment.table, setting, dataset, method, preset)
        rows.append((*place, *ours, *theirs, cell.prior_alone))
    return pd.DataFrame(rows, columns=[*COLUMNS, "prior_alone"])


def laid_out(name: str, folder: Path | None = None) -> list[tuple[str, pd.DataFrame]]:
    """The table as the paper prints it, a page for each setting: "ours | published | difference".

    Without any result of ours, the published numbers alone.
    """
    experiment = load_experiment(name)
    if experiment.tracks_H:
        return [("error of H", error_table(folder))]
    frame = _rows(experiment, folder)
    if frame.empty:
        title = f"{experiment.published_title} (none of ours yet)"
        pages = experiment.published.items()
        return [(f"{s}: {title}", _published_page(experiment, page)) for s, page in pages]
    return [(s, _page(experiment, frame[frame["setting"] == s])) for s in experiment.settings]


def _page(experiment: Experiment, frame: pd.DataFrame) -> pd.DataFrame:
    rows = []
    for method in experiment.methods:
        for preset in method.presets:
            here = frame[(frame["method"] == method.name) & (frame["preset"] == preset)]
            here = here.set_index("dataset")
            row = {"method": method.name + ("" if preset == "-" else f" ({preset})")}
            for dataset in experiment.datasets:
                row[dataset] = _text(here, dataset, experiment.compared)
                for title, datasets in MEANS.items():
                    if dataset == datasets[-1]:
                        row[title] = _mean(here, datasets)
            rows.append(row)
    return pd.DataFrame(rows)


def _published_page(
    experiment: Experiment, published: dict[str, dict[str, list[float]]]
) -> pd.DataFrame:
    texts = {
        dataset: {method: f"{mean:.2f} ± {std:.2f}" for method, (mean, std) in numbers.items()}
        for dataset, numbers in published.items()
        if dataset in experiment.datasets
    }
    methods = dict.fromkeys(method for numbers in texts.values() for method in numbers)
    return pd.DataFrame(
        {"method": method} | {dataset: texts[dataset].get(method, "") for dataset in texts}
        for method in methods
    )


def _text(here: pd.DataFrame, dataset: str, compared: bool) -> str:
    if dataset not in here.index:
        return ""
    row = here.loc[dataset]
    alone = f", prior {row['prior_alone']}" if row["prior_alone"] else ""
    text = f"{row['accuracy_mean']:.2f} ± {row['accuracy_std']:.2f} (n={row['n']}{alone})"
    return text + _beside(row["accuracy_mean"], row["published_mean"], compared)


def _mean(here: pd.DataFrame, datasets: tuple[str, ...]) -> str:
    if not set(datasets) <= set(here.index):
        return ""
    ours, theirs = here.loc[list(datasets), ["accuracy_mean", "published_mean"]].mean()
    return f"{ours:.2f}" + _beside(ours, theirs, compared=True)


def _beside(ours: float, theirs: float, compared: bool) -> str:
    """The published number and the difference, where there are."""
    if np.isnan(theirs):
        return ""
    return f" | {theirs:.2f}" + (f" | {ours - theirs:+.2f}" if compared else "")


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
        lines = [list(frame.columns), ["---"] * len(frame.columns), *frame.to_numpy().tolist()]
        escaped = ([str(cell).replace("|", "\\|") for cell in line] for line in lines)
        text += f"\n**{setting}**\n\n" + "".join(f"| {' | '.join(line)} |\n" for line in escaped)
    return text
