"""An experiment is a TOML file: graphs, methods, splits, the published numbers, each guess noted.

`load_experiment` reads and checks one; `Experiment.jobs` unrolls it into single trainings.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import cached_property
from importlib import resources
from typing import Any

from cpgnn.architecture import Architecture
from cpgnn.baselines import REAL, SYNTHETIC
from cpgnn.errors import InputError, must_be
from cpgnn.settings import ABLATIONS, PRESETS, Settings

NO_PRESET = "-"
"""The preset of a baseline, in results and tables."""


@dataclass(frozen=True)
class Job:
    """One training: a method with its settings on one split of one graph."""

    experiment: str
    setting: str
    dataset: str
    method: str
    preset: str
    configuration: dict[str, Any]
    """Everything that is set: a baseline's recipe, or `architecture` and `settings`."""
    split: int
    seed: int
    generator: dict[str, Any] | None = None
    """How the graph is generated; None for a real one."""

    @property
    def place(self) -> tuple[str, str, str, str]:
        """The cell of the table that the result belongs to."""
        return self.setting, self.dataset, self.method, self.preset

    @cached_property
    def key(self) -> str:
        """A hash of everything that decides the outcome but the version of the code."""
        text = json.dumps({f.name: getattr(self, f.name) for f in fields(self)}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True)
class Method:
    """A row of a table: a CPGNN variant, the automatic choice, or a baseline by its name."""

    name: str
    prior: str | None = None
    num_layers: int | None = None
    auto: bool = False
    presets: tuple[str, ...] = (NO_PRESET,)
    ablation: str = "full"
    configurations: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    """For each setting, what is tried; the best mean validation accuracy is reported."""

    def tried(self, setting: str, preset: str, synthetic: bool) -> list[dict[str, Any]]:
        """Every configuration of this method under a preset, whole."""
        if self.prior is None and not self.auto:
            table = SYNTHETIC if synthetic else REAL
            return [json.loads(json.dumps(asdict(recipe))) for recipe in table[self.name]]
        settings = PRESETS[preset].but(**ABLATIONS[self.ablation])
        if synthetic:
            settings = settings.but(feature_scaling="none")
        if self.auto:
            return [{"architecture": "auto", "settings": asdict(settings)}]
        listed = self.configurations.get(setting, [{}])
        return [self._whole(settings, c) for c in listed if c.get("preset", preset) == preset]

    def _whole(self, settings: Settings, changes: dict[str, Any]) -> dict[str, Any]:
        """These settings and this method's architecture, with what a TOML says to change."""
        parts = {field.name for field in fields(Architecture)}
        changed = {name: value for name, value in changes.items() if name in parts}
        others = {name: changes[name] for name in changes.keys() - parts - {"preset"}}
        whole = {"prior": self.prior, "num_layers": self.num_layers} | changed
        return {
            "architecture": asdict(Architecture(**whole)),
            "settings": asdict(settings.but(**others)),
        }


@dataclass(frozen=True)
class Experiment:
    """A table of the paper and how to fill it."""

    name: str
    table: str
    title: str
    datasets: tuple[str, ...]
    settings: dict[str, dict[str, Any]]
    """For each setting (features, featureless): which splits, and how many."""
    methods: tuple[Method, ...]
    fewer: tuple[dict[str, Any], ...]
    """Cells with fewer splits, or fewer that choose, because one run is dear."""
    published: dict[str, dict[str, dict[str, list[float]]]]
    """setting → data set → method → [mean, std]."""
    published_title: str
    compared: bool
    """Whether our numbers and the published ones measure the same thing."""
    chosen_on: int
    """How many splits choose among configurations; the others run the chosen one alone."""
    generator: dict[str, Any] | None = None
    tracks_H: bool = False
    """Whether the runs also write down the compatibility matrix and its error over the epochs."""

    @property
    def most_splits(self) -> int:
        """Of the cell that has most."""
        return max(int(setting["splits"]) for setting in self.settings.values())

    def num_splits(self, setting: str, dataset: str, method: str) -> int:
        return int(self._exception(dataset, method).get("splits", self.settings[setting]["splits"]))

    def num_choosing(self, dataset: str, method: str) -> int:
        """How many splits choose among the configurations of this cell."""
        return int(self._exception(dataset, method).get("chosen_on", self.chosen_on))

    def _exception(self, dataset: str, method: str) -> dict[str, Any]:
        for exception in self.fewer:
            if dataset in exception["datasets"] and method in exception["methods"]:
                return exception
        return {}

    def jobs(self) -> Iterator[Job]:
        """All trainings, split by split, so that every cell of the table grows evenly."""
        for split in range(self.most_splits):
            for setting in self.settings:
                for dataset in self.datasets:
                    for method in self.methods:
                        if split < self.num_splits(setting, dataset, method.name):
                            yield from self._cell(setting, dataset, method, split)

    def _cell(self, setting: str, dataset: str, method: Method, split: int) -> Iterator[Job]:
        generator = self.generator if dataset.startswith("h=") else None
        for preset in method.presets:
            for configuration in method.tried(setting, preset, generator is not None):
                yield Job(
                    self.name,
                    setting,
                    dataset,
                    method.name,
                    preset,
                    configuration,
                    split,
                    seed=split,
                    generator=generator,
                )


def experiment_names() -> list[str]:
    folder = resources.files("cpgnn.experiments") / "paper"
    return sorted(f.name.removesuffix(".toml") for f in folder.iterdir() if f.name.endswith("toml"))


def load_experiment(name: str) -> Experiment:
    """The experiment of this name, checked."""
    if name not in experiment_names():
        raise must_be("The experiment", f"be one of {', '.join(experiment_names())}", repr(name))
    path = resources.files("cpgnn.experiments") / "paper" / f"{name}.toml"
    try:
        return _experiment(name, tomllib.loads(path.read_text(encoding="utf-8")))
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{name}.toml must describe an experiment. Got {error!r}.") from None


def _experiment(name: str, data: dict[str, Any]) -> Experiment:
    methods = []
    for entry in data["methods"]:
        method = Method(**(entry | {"presets": tuple(entry.get("presets", (NO_PRESET,)))}))
        known = SYNTHETIC if "generator" in data else REAL
        if method.prior is None and not method.auto and method.name not in known:
            raise must_be("A method", "have a prior or be a baseline", repr(method.name))
        if not set(method.presets) <= {NO_PRESET, *PRESETS} or method.ablation not in ABLATIONS:
            raise must_be("A method", "name known presets and ablations", repr(entry))
        methods.append(method)
    return Experiment(
        name=name,
        table=data["table"],
        title=data["title"],
        datasets=tuple(data["datasets"]),
        settings=data["settings"],
        methods=tuple(methods),
        fewer=tuple(data.get("fewer", ())),
        published=data.get("published", {}),
        published_title=data.get("published_title", "paper"),
        compared=data.get("compared", True),
        chosen_on=data.get("chosen_on", 3),
        generator=data.get("generator"),
        tracks_H=data.get("tracks_H", False),
    )
