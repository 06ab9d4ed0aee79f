"""`cpgnn reproduce`: run an experiment of the paper; what is there already is not run again."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpgnn.errors import wrong_value


def reproduce(
    name: Annotated[str, typer.Argument(help="real, synthetic, ablation or compatibility.")],
    methods: Annotated[str, typer.Option(help="Run only these, separated by commas.")] = "",
    datasets: Annotated[str, typer.Option(help="Run only these, separated by commas.")] = "",
    splits: Annotated[str, typer.Option(help="Run only these, e.g. 0,1,2.")] = "",
    workers: Annotated[int, typer.Option(min=1, max=1024, help="Processes of one thread.")] = 2,
    results: Annotated[Path, typer.Option(help="Folder of results.")] = Path("results"),
) -> None:
    """Run an experiment of the paper, or resume it."""
    from cpgnn.cli.progress import counting
    from cpgnn.experiments.config import load_experiment
    from cpgnn.experiments.runner import run_jobs, selected_jobs

    experiment = load_experiment(name)
    numbers = [str(split) for split in range(experiment.most_splits)]
    jobs = selected_jobs(
        experiment,
        methods=_listed("methods", methods, [method.name for method in experiment.methods]),
        datasets=_listed("datasets", datasets, list(experiment.datasets)),
        splits=[int(split) for split in _listed("splits", splits, numbers)],
    )
    with counting(name, len(jobs)) as done:
        ran = run_jobs(experiment, jobs, results, workers=workers, done=done)
    print(f"{ran} of {len(jobs)} runs were new. Results: {results / (name + '.jsonl')}")


def _listed(option: str, text: str, known: list[str]) -> list[str]:
    wanted = [word.strip() for word in text.split(",") if word.strip()]
    for word in wanted:
        if word not in known:
            raise wrong_value(option, f"be one of {', '.join(known)}", repr(word))
    return wanted
