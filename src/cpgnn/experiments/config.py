"""An experiment is a TOML file: graphs, methods, splits, the published numbers, each guess noted.

`load_experiment` reads and checks one; `Experiment.jobs` unrolls it into single trainings.
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Collection, Iterator
from dataclasses import asdict, dataclass, field, fields
from functools import cache, cached_property
from importlib import resources
from typing import Any

from cpgnn.baselines import REAL, SYNTHETIC
from cpgnn.errors import InputError, must_be
from cpgnn.model import Architecture
from cpgnn.settings import ABLATIONS, PRESETS, Settings

NO_PRESET = "-"
"""The preset of a baseline, in results and tables."""

Place = tuple[str, str, str, str]
"""A cell of a table: setting, data set, method, preset."""


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
    def place(self) -> Place:
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
    """For each setting (features, featureless): how many splits."""
    methods: tuple[Method, ...]
    fewer: tuple[dict[str, Any], ...] = ()
    """Cells with fewer splits, or fewer that choose, because one run takes long."""
    published: dict[str, dict[str, dict[str, list[float]]]] = field(default_factory=dict)
    """setting → data set → method → [mean, std]."""
    published_title: str = "paper"
    compared: bool = True
    """Whether our numbers and the published ones measure the same thing."""
    chosen_on: int = 3
    """How many splits choose among configurations; the others run only the chosen one."""
    generator: dict[str, Any] | None = None
    tracks_H: bool = False
    """Whether runs also record the compatibility matrix and its error over the epochs."""

    @property
    def most_splits(self) -> int:
        """Of the cell that has most."""
        return max(int(setting["splits"]) for setting in self.settings.values())

    def num_splits(self, setting: str, dataset: str, method: str) -> int:
        return int(self._exception(dataset, method).get("splits", self.settings[setting]["splits"]))

    def num_choosing(self, place: Place) -> int:
        """How many splits choose among the configurations of this cell."""
        _, dataset, method, _ = place
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
            place = (self.name, setting, dataset, method.name, preset)
            for configuration in method.tried(setting, preset, generator is not None):
                yield Job(*place, configuration, split, seed=split, generator=generator)


PAPER = resources.files("cpgnn.experiments") / "paper"


def experiment_names() -> list[str]:
    return sorted(f.name.removesuffix(".toml") for f in PAPER.iterdir() if f.name.endswith("toml"))


@cache
def load_experiment(name: str) -> Experiment:
    """The experiment of this name, checked."""
    if name not in experiment_names():
        raise must_be("The experiment", f"be one of {', '.join(experiment_names())}", repr(name))
    try:
        data = tomllib.loads((PAPER / f"{name}.toml").read_text(encoding="utf-8"))
        known = SYNTHETIC if "generator" in data else REAL
        data |= {key: tuple(data.get(key, ())) for key in ("datasets", "fewer")}
        data["methods"] = tuple(_method(entry, known) for entry in data["methods"])
        return Experiment(name=name, **data)
    except (KeyError, TypeError, tomllib.TOMLDecodeError) as error:
        raise InputError(f"{name}.toml does not describe an experiment: {error!r}.") from None


def _method(entry: dict[str, Any], baselines: Collection[str]) -> Method:
    method = Method(**(entry | {"presets": tuple(entry.get("presets", (NO_PRESET,)))}))
    if method.prior is None and not method.auto and method.name not in baselines:
        raise must_be("A method", "have a prior or be a baseline", repr(method.name))
    if not set(method.presets) <= {NO_PRESET, *PRESETS} or method.ablation not in ABLATIONS:
        raise must_be("A method", "name known presets and ablations", repr(entry))
    return method
