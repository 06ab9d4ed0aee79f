"""Running an experiment: what is not there yet, in parallel processes of one thread each."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

import cpgnn
from cpgnn.baselines import Recipe, train_baseline
from cpgnn.classifier import CPGNNClassifier
from cpgnn.datasets import load_dataset
from cpgnn.engine.inputs import logits_of
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.errors import must_be
from cpgnn.experiments.choice import needed
from cpgnn.experiments.config import Experiment, Job, load_experiment
from cpgnn.experiments.matrices import matrix_record
from cpgnn.experiments.store import results_of
from cpgnn.experiments.workers import worker_processes
from cpgnn.graph import Graph
from cpgnn.model import Architecture
from cpgnn.reference import gaussian_reference
from cpgnn.settings import Settings, preset
from cpgnn.splits import Split, per_class_split
from cpgnn.synthetic.generate import generate_graph, mixhop_compatibility
from cpgnn.training import train


def selected_jobs(
    experiment: Experiment,
    *,
    methods: Iterable[str] = (),
    datasets: Iterable[str] = (),
    splits: Iterable[int] = (),
) -> list[Job]:
    """The jobs of an experiment, narrowed where asked; at least one."""
    methods, datasets, splits = set(methods), set(datasets), set(splits)
    jobs = [
        job
        for job in experiment.jobs()
        if (not methods or job.method in methods)
        and (not datasets or job.dataset in datasets)
        and (not splits or job.split in splits)
    ]
    if not jobs:
        hint = "Some methods have fewer splits on some graphs."
        raise must_be("The methods, data sets and splits", "have a run in common", "none", hint)
    return jobs


def run_jobs(
    experiment: Experiment,
    jobs: list[Job],
    folder: Path,
    *,
    workers: int = 1,
    done: Callable[[dict[str, Any] | None], None] = lambda result: None,
) -> int:
    """Runs the jobs that are needed and not in `folder` yet; returns how many it ran.

    First the splits that choose the configurations, then the others (see `choice`). `done` is
    called for every job: with its result, or with None if it was not run.
    """
    store = results_of(experiment.name, folder)
    store.check_writable()
    ran = 0
    with worker_processes(workers) as outcomes:
        for choosing in (True, False):
            stage = [
                job for job in jobs if (job.split < experiment.num_choosing(job.place)) == choosing
            ]
            known = store.read()
            wanted = [job for job in needed(experiment, stage, known) if job.key not in known]
            for _ in range(len(stage) - len(wanted)):
                done(None)
            for result in outcomes(run_job, wanted):
                store.append(result)
                ran += 1
                done(result)
    return ran


def run_job(job: Job) -> dict[str, Any]:
    """Trains once; the result line of the job."""
    graph, split = _data(job)
    start, cpu = time.perf_counter(), time.process_time()
    outcome = _baseline(job, graph, split) if job.preset == "-" else _cpgnn(job, graph, split)
    return {
        "key": job.key,
        **asdict(job),
        "version": cpgnn.__version__,
        "processor": processor(),
        "seconds": round(time.perf_counter() - start, 3),
        "cpu_seconds": round(time.process_time() - cpu, 3),
        **outcome,
    }


@cache
def processor() -> str:
    """The processor's model name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    named = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(named, platform.processor() or platform.machine())


def _baseline(job: Job, graph: Graph, split: Split) -> dict[str, Any]:
    fields = dict(job.configuration)
    if fields.get("decayed") is not None:
        fields["decayed"] = tuple(fields["decayed"])
    recipe = Recipe(**fields)
    graph = FeatureScaler.fit(graph, recipe.feature_scaling)(graph)
    model = recipe.build(graph, seed=job.seed)
    record = train_baseline(model, graph, split, recipe, seed=job.seed)
    return _outcome(logits_of(model, graph), graph, split, len(record.epochs), record.kept)


def _cpgnn(job: Job, graph: Graph, split: Split) -> dict[str, Any]:
    architecture = job.configuration["architecture"]
    if architecture == "auto":
        # Naming the epochs asks for a choice among the paper's models, not for a blend.
        epochs = preset(job.preset).epochs
        fitted = CPGNNClassifier(preset=job.preset, epochs=epochs, seed=job.seed)
        fitted.fit(graph, split=split)
        chosen = {"chosen": fitted.name, "num_layers": fitted.num_layers_}
        logits = fitted.logits()
        return _outcome(logits, graph, split, len(fitted.history_), fitted.kept_) | chosen
    settings = Settings(**job.configuration["settings"])
    graph = FeatureScaler.fit(graph, settings.feature_scaling)(graph)
    model = Architecture(**architecture).build(graph, seed=job.seed)
    record = train(model, graph, split, settings, seed=job.seed)
    model.num_layers = record.num_layers
    more: dict[str, Any] = {"num_layers": model.num_layers}
    if load_experiment(job.experiment).tracks_H:
        more |= matrix_record(record, model, graph)
    logits = logits_of(model, graph)
    return _outcome(logits, graph, split, len(record.epochs), record.kept) | more


def _outcome(
    logits: np.ndarray, graph: Graph, split: Split, epochs: int, kept: Any
) -> dict[str, Any]:
    """Accuracies in percent. The test labels are looked at here, after everything is decided."""
    hits = logits.argmax(axis=1) == graph.labels
    return {
        "validation": round(100 * float(hits[split.val].mean()), 4),
        "test": round(100 * float(hits[split.test].mean()), 4),
        "epochs": epochs,
        "kept_epoch": None if kept is None else [kept.phase, kept.epoch],
    }


def _data(job: Job) -> tuple[Graph, Split]:
    if job.generator is not None:
        h = float(job.dataset.removeprefix("h="))
        graph = _generated(tuple(job.generator.items()), h, job.split)
        return graph, per_class_split(graph.labels, seed=job.split)
    dataset = _dataset(job.dataset)
    if job.setting == "featureless":
        return dataset.graph.with_features(None), dataset.splits[job.split]
    return dataset.graph, per_class_split(dataset.graph.labels, seed=job.split)


_dataset = lru_cache(maxsize=2)(load_dataset)


@lru_cache(maxsize=2)
def _generated(parameters: tuple[tuple[str, Any], ...], h: float, instance: int) -> Graph:
    """The `instance`-th graph at homophily h."""
    generator = dict(parameters)
    sizes = [generator["class_size"]] * generator["num_classes"]
    seed = 1000 * instance + round(100 * h)
    return generate_graph(
        sizes,
        mixhop_compatibility(generator["num_classes"], h, base=generator["base"]),
        num_bootstrap=generator["num_bootstrap"],
        edges_per_node=generator["edges_per_node"],
        seed=seed,
        bootstrap=generator["bootstrap"],
        reference=gaussian_reference(sizes, seed=seed),
    )
