"""Runs are made once, survive a kill, and give the same numbers again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest

from cpgnn.errors import InputError
from cpgnn.experiments.config import Experiment, Job, Method, load_experiment
from cpgnn.experiments.runner import run_jobs, selected_jobs
from cpgnn.experiments.store import ResultStore


def small(levels: int = 1) -> Experiment:
    """The synthetic experiment on graphs of 150 nodes: an MLP and CPGNN-MLP-1 right after H̄₀."""
    synthetic = load_experiment("synthetic")
    return replace(
        synthetic,
        datasets=synthetic.datasets[:levels],
        generator=synthetic.generator | {"class_size": 15},
        methods=(
            Method("MLP"),
            Method("CPGNN-MLP-1", "mlp", 1, presets=("authors",), ablation="after init"),
        ),
    )


def numbers(folder) -> dict[str, tuple[float, float]]:
    lines = ResultStore(folder / "synthetic.jsonl").read()
    return {key: (line["validation"], line["test"]) for key, line in lines.items()}


def short(job: Job) -> Job:
    """The same for a few epochs."""
    if "architecture" in job.configuration:
        settings = job.configuration["settings"] | {"pretrain_epochs": 30}
        return replace(job, configuration=job.configuration | {"settings": settings})
    return replace(job, configuration=job.configuration | {"epochs": 30})


def test_what_is_there_is_not_run_again_and_two_runs_agree(tmp_path):
    experiment = small()
    jobs = [short(job) for job in selected_jobs(experiment, splits=[0, 2])]
    seen = []
    assert run_jobs(experiment, jobs[:2], tmp_path / "a", done=seen.append) == 2
    assert run_jobs(experiment, jobs, tmp_path / "a", workers=2, done=seen.append) == 2
    assert [result is None for result in seen] == [False, False, True, True, False, False]
    before = (tmp_path / "a" / "synthetic.jsonl").read_bytes()
    assert run_jobs(experiment, jobs, tmp_path / "a") == 0
    assert (tmp_path / "a" / "synthetic.jsonl").read_bytes() == before
    assert run_jobs(experiment, jobs, tmp_path / "b") == 4
    assert numbers(tmp_path / "a") == numbers(tmp_path / "b")
    assert len(set(numbers(tmp_path / "a").values())) > 1
    line = next(iter(ResultStore(tmp_path / "a" / "synthetic.jsonl").read().values()))
    for field in ("configuration", "generator", "seed", "split", "version", "epochs", "seconds"):
        assert field in line, field
    assert line["processor"]


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kills a group of processes")
def test_a_kill_loses_at_most_the_runs_under_way(tmp_path):
    experiment = small(levels=4)
    jobs = selected_jobs(experiment)
    code = (
        "from pathlib import Path; import sys; sys.path.insert(0, sys.argv[2])\n"
        "from test_runner import run_jobs, selected_jobs, small\n"
        "if __name__ == '__main__':\n"
        "    e = small(levels=4); run_jobs(e, selected_jobs(e), Path(sys.argv[1]), workers=2)\n"
    )
    script = tmp_path / "many.py"
    script.write_text(code)
    command = [sys.executable, str(script), str(tmp_path), os.path.dirname(__file__)]
    store = ResultStore(tmp_path / "synthetic.jsonl")
    process = subprocess.Popen(command, start_new_session=True)
    try:
        until = time.monotonic() + 300
        while len(store.read()) < 3 and time.monotonic() < until:
            assert process.poll() is None, "it ended by itself"
            time.sleep(0.01)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    made = numbers(tmp_path)
    assert 3 <= len(made) < len(jobs)
    assert run_jobs(experiment, jobs, tmp_path, workers=2) == len(jobs) - len(made)
    assert numbers(tmp_path).keys() == {job.key for job in jobs}
    assert made.items() <= numbers(tmp_path).items()


def test_a_selection_without_runs_is_refused():
    real = load_experiment("real")
    with pytest.raises(InputError, match="must have a run in common"):
        selected_jobs(real, methods=["GAT"], datasets=["pubmed"], splits=[7])
