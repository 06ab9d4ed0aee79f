"""The error of H is tracked as the paper defines it."""

from __future__ import annotations

import numpy as np

from cpgnn.experiments.config import load_experiment
from cpgnn.experiments.matrices import error_table, matrix_record, tracked
from cpgnn.experiments.store import ResultStore
from cpgnn.model import Architecture
from cpgnn.settings import preset
from cpgnn.splits import per_class_split
from cpgnn.synthetic.generate import generate_graph, mixhop_compatibility
from cpgnn.training import train


def test_the_error_is_the_mean_absolute_difference_from_the_edges_own_shares():
    graph = generate_graph([60] * 3, mixhop_compatibility(3, 0.1), num_bootstrap=9, seed=0)
    model = Architecture("mlp", 1).build(graph, seed=0)
    settings = preset("authors").but(pretrain_epochs=20, epochs=40)
    record = train(model, graph, per_class_split(graph.labels, seed=0), settings, seed=0)
    result = matrix_record(record, model, graph)
    assert [epoch for epoch, _ in result["curve"]] == [0, 10, 20, 30, 40]
    # Second derivation: counts over the edges, then a plain mean of absolute differences.
    y = graph.labels
    rows, columns = graph.adjacency.nonzero()
    counts = np.zeros((3, 3))
    np.add.at(counts, (y[rows], y[columns]), 1)
    H = counts / counts.sum(axis=1, keepdims=True)
    assert np.allclose(result["true"], H, atol=1e-5)
    for key in ("initial", "learned"):
        by_hand = sum(abs(result[key][i][j] - H[i][j]) for i in range(3) for j in range(3)) / 9
        assert abs(result[f"{key}_error"] - by_hand) < 1e-4
    learned = np.array(result["learned"])
    assert np.allclose(learned.sum(axis=0), 1, atol=1e-3)
    assert np.allclose(learned.sum(axis=1), 1, atol=1e-3)


def test_errors_are_averaged_over_the_lines_of_a_graph(tmp_path):
    store = ResultStore(tmp_path / "compatibility.jsonl")
    jobs = [job for job in load_experiment("compatibility").jobs() if job.dataset == "cora"]
    for job, (before, after) in zip(jobs, [(0.2, 0.1), (0.4, 0.1)], strict=False):
        errors = {"initial_error": before, "learned_error": after}
        store.append({"key": job.key, "validation": 50.0, "test": 50.0} | errors)
    store.append({"key": jobs[2].key, "validation": 50.0, "test": 50.0})  # not a whole line
    assert list(tracked(tmp_path)) == ["cora"]
    row = error_table(tmp_path).iloc[0]
    assert (row["initial"], row["learned"]) == ("0.3000 ± 0.1000", "0.1000 ± 0.0000")
    assert (row["change"], row["n"]) == ("-0.2000", "2")
