"""On what the claims of the paper are measured."""

from __future__ import annotations

import pytest

from cpgnn.experiments.claims import measured
from cpgnn.experiments.config import load_experiment
from cpgnn.experiments.store import ResultStore


def test_methods_are_compared_on_the_splits_that_all_of_them_have(tmp_path):
    store = ResultStore(tmp_path / "real.jsonl")
    splits = {"MLP": (0, 1, 2), "MixHop": (1, 2, 3)}
    for job in load_experiment("real").jobs():
        if job.setting == "features" and job.split in splits.get(job.method, ()):
            line = {"key": job.key, "configuration": {}, "validation": 1.0}
            store.append(line | {"test": 10.0 * job.split})
    numbers = measured("real", tmp_path)
    assert {method for _, _, method in numbers} == set(splits)
    for value in numbers.values():
        assert value == pytest.approx(15.0)
