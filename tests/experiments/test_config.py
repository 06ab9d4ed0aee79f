"""Every experiment file is whole, and its published numbers are the paper's."""

from __future__ import annotations

import csv
import os
from collections import Counter
from pathlib import Path

import pytest

from cpgnn.errors import InputError
from cpgnn.experiments.config import Job, experiment_names, load_experiment
from cpgnn.model import Architecture
from cpgnn.settings import ABLATIONS, PRESETS, Settings

NAMES = experiment_names()
CHANGES = {
    "": "full",
    "no-H-init": "no init",
    "no-H-reg": "no regularization",
    "after-H-init": "after init",
    "no-pretrain": "no pretraining",
}


def test_the_papers_experiments_are_there():
    assert {"real", "synthetic", "ablation"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_jobs_are_distinct_and_cover_every_cell(name):
    experiment = load_experiment(name)
    jobs = list(experiment.jobs())
    assert len({job.key for job in jobs}) == len(jobs)
    cells = Counter((job.setting, job.dataset, job.method, job.preset) for job in jobs)
    assert len(cells) == len(experiment.settings) * len(experiment.datasets) * sum(
        len(method.presets) for method in experiment.methods
    )
    for (setting, dataset, method, _), count in cells.items():
        assert count % experiment.num_splits(setting, dataset, method) == 0


@pytest.mark.parametrize("name", NAMES)
def test_published_numbers_belong_to_cells(name):
    experiment = load_experiment(name)
    methods = {method.name for method in experiment.methods}
    for setting, datasets in experiment.published.items():
        assert setting in experiment.settings
        assert set(datasets) == set(experiment.datasets)
        for numbers in datasets.values():
            assert set(numbers) <= methods
            assert methods - set(numbers) <= {"CPGNN-auto"}
            assert all(0 < mean <= 100 and 0 <= std < 15 for mean, std in numbers.values())


def test_the_real_table_has_the_papers_size():
    experiment = load_experiment("real")
    published = [
        n for d in experiment.published.values() for numbers in d.values() for n in numbers
    ]
    assert len(published) == 11 * 6 * 2
    jobs = list(experiment.jobs())
    most = Counter(job.split for job in jobs)
    assert set(most) == set(range(10))
    squirrel = {j.split for j in jobs if j.dataset == "squirrel" and j.method == "CPGNN-Cheby-1"}
    assert squirrel == {0, 1, 2}


def test_the_key_of_a_job_is_its_content():
    job = Job("real", "features", "cora", "GCN", "-", {"epochs": 3}, 0, 0)
    assert job.key == Job("real", "features", "cora", "GCN", "-", {"epochs": 3}, 0, 0).key
    others = [
        Job("real", "features", "cora", "GCN", "-", {"epochs": 4}, 0, 0),
        Job("real", "features", "cora", "GCN", "-", {"epochs": 3}, 1, 0),
        Job("real", "featureless", "cora", "GCN", "-", {"epochs": 3}, 0, 0),
    ]
    assert job.key not in {other.key for other in others}


def test_a_job_says_everything_that_is_set():
    """What a result depends on is in its line and key: a changed preset is another run."""
    for job in load_experiment("ablation").jobs():
        settings = Settings(**job.configuration["settings"])
        changed = ABLATIONS[CHANGES[job.method.removeprefix("CPGNN-MLP-1").strip()]]
        assert settings == PRESETS["authors"].but(feature_scaling="none", **changed)
        assert Architecture(**job.configuration["architecture"]) == Architecture("mlp", 1)
        assert job.generator["class_size"] == 1000
    real = [job for job in load_experiment("real").jobs() if job.preset != "-"]
    assert all(job.configuration["settings"]["preset"] == job.preset for job in real)
    tried = {
        (job.preset, job.configuration["settings"]["learning_rate"])
        for job in real
        if job.method == "CPGNN-MLP-1"
    }
    assert tried == {("authors", 0.01), ("default", 0.01), ("default", 0.05)}


def test_real_graphs_are_not_generated_and_their_features_are_scaled():
    jobs = list(load_experiment("compatibility").jobs())
    assert {job.generator is None for job in jobs if job.dataset == "cora"} == {True}
    scaling = {job.dataset: job.configuration["settings"]["feature_scaling"] for job in jobs}
    assert (scaling["h=0.0"], scaling["cora"]) == ("none", "rows")


def test_an_unknown_experiment_is_named():
    with pytest.raises(InputError, match=r"must be one of .*real.* Got 'unreal'"):
        load_experiment("unreal")


@pytest.mark.slow
@pytest.mark.skipif("CPGNN_DATA" not in os.environ, reason="needs the published numbers")
def test_published_numbers_are_those_of_the_paper():
    path = Path(os.environ["CPGNN_DATA"]).parent / "published.csv"
    if not path.exists():
        pytest.skip("the published numbers are not beside the data")
    names = {"real": "real", "syn-products": "synthetic", "ablation": "ablation"}
    with path.open() as file:
        for row in csv.DictReader(file):
            published = load_experiment(names[row["table"]]).published
            mean, std = published[row["setting"]][row["dataset"]][row["method"]]
            assert (mean, std) == (float(row["accuracy_mean"]), float(row["accuracy_std"]))
