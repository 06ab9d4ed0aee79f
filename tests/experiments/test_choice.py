"""Validation on the first splits chooses; what lost there is not run on the others."""

from __future__ import annotations

import pytest

from cpgnn.experiments.choice import chosen, needed, tried
from cpgnn.experiments.config import load_experiment

REAL = load_experiment("real")
PLACE = ("features", "texas", "H2GCN", "-")
JOBS = [job for job in REAL.jobs() if job.place == PLACE]
NAMES = list(dict.fromkeys(str(job.configuration) for job in JOBS))


def results(validation, splits):
    """Every configuration on these splits: `validation(configuration number, split)`."""
    return {
        job.key: {"validation": validation(NAMES.index(str(job.configuration)), job.split)}
        for job in JOBS
        if job.split in splits
    }


def test_the_cell_has_several_configurations():
    assert len(NAMES) == 4
    assert len(JOBS) == 40


def test_the_best_mean_validation_of_the_first_splits_wins():
    known = results(lambda i, split: [70, 90, 60, 80][i] if split < 3 else 100 - 10 * i, range(10))
    assert chosen(3, tried(REAL, known)[PLACE]) == NAMES[1]
    assert chosen(10, tried(REAL, known)[PLACE]) == NAMES[0]


def test_only_splits_that_all_have_are_compared():
    known = results(lambda i, split: 50 + i, [0])
    early = next(job for job in JOBS if job.split == 1 and str(job.configuration) == NAMES[0])
    known[early.key] = {"validation": 100}
    assert chosen(3, tried(REAL, known)[PLACE]) == NAMES[3]


def test_without_a_common_split_there_is_no_choice():
    assert chosen(3, tried(REAL, {})[PLACE]) is None


def test_what_lost_is_not_needed_any_more():
    known = results(lambda i, split: [70, 90, 60, 80][i], range(3))
    left = needed(REAL, JOBS, known)
    assert [job.split for job in left] == [s for s in range(3) for _ in NAMES] + list(range(3, 10))
    assert {str(job.configuration) for job in left if job.split >= 3} == {NAMES[1]}


@pytest.mark.parametrize("splits", [(), (0, 1)])
def test_before_the_choice_all_are_needed(splits):
    assert needed(REAL, JOBS, results(lambda i, split: i, splits)) == JOBS


@pytest.mark.parametrize("dataset", ["squirrel", "pubmed"])
def test_where_a_run_takes_minutes_the_first_split_chooses(dataset):
    place = ("featureless", dataset, "H2GCN", "-")
    jobs = [job for job in REAL.jobs() if job.place == place]
    assert REAL.num_choosing(place) == 1
    assert REAL.num_choosing(PLACE) == 3
    names = list(dict.fromkeys(str(job.configuration) for job in jobs))
    known = {
        job.key: {"validation": names.index(str(job.configuration))}
        for job in jobs
        if job.split == 0
    }
    left = [job for job in needed(REAL, jobs, known) if job.split > 0]
    assert [(job.split, str(job.configuration)) for job in left] == [(1, names[3]), (2, names[3])]
