"""`cpgnn table` where there is nothing of ours yet."""

from __future__ import annotations

from cpgnn.experiments.config import load_experiment


def test_without_results_the_published_numbers_stand_alone(cpgnn, tmp_path):
    done = cpgnn("table", "real", "--results", tmp_path)
    assert done.code == 0, done.err
    assert "there is no result of 'real' in" in done.err
    assert "'cpgnn reproduce real'" in done.err
    published = load_experiment("real").published
    setting, by_dataset = next(iter(published.items()))
    mean, std = next(iter(by_dataset["texas"].values()))
    assert setting in done.out
    assert f"{mean:.2f} ± {std:.2f}" in done.out
