"""Learn before a moment, test after it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from cpgnn.classifier import CPGNNClassifier
from cpgnn.errors import InputError
from cpgnn.io import read_graph
from cpgnn.run.fit import train_run
from cpgnn.run.time_split import time_split, told


@pytest.fixture
def files(tmp_path):
    """Node i arrives on day i with two edges to earlier nodes; its class is i % 2."""
    rng = np.random.default_rng(0)
    rows = ["source,target,when"]
    for i in range(1, 60):
        day = f"2024-{1 + i // 28:02d}-{1 + i % 28:02d}"
        rows += [f"n{i},n{j},{day}" for j in rng.integers(0, i, 2)]
    (tmp_path / "edges.csv").write_text("\n".join(rows))
    labels = "id,label,seen\n" + "".join(f"n{i},{'ab'[i % 2]},{i}\n" for i in range(60))
    (tmp_path / "labels.csv").write_text(labels)
    return tmp_path / "edges.csv", tmp_path / "labels.csv"


def positions(graph, numbers):
    return sorted(graph.positions([f"n{i}" for i in numbers]))


def test_edges_of_the_future_are_not_seen(files):
    loaded = read_graph(*files, split_time="when")
    split, early, moment = time_split(loaded, test=0.25, validation=0.2)
    assert told(loaded.times, split, early, moment) == (
        f"By 'when', the model learns from 45 labelled nodes and {early.num_edges} edges before "
        "2024-02-18; 15 later nodes test it."
    )
    graph = loaded.graph
    assert split.test.tolist() == positions(graph, range(45, 60))
    assert split.val.tolist() == positions(graph, range(36, 45))
    assert loaded.times.said(moment) == "2024-02-18"
    number = np.array([int(i[1:]) for i in graph.node_ids])
    u, v = early.adjacency.nonzero()
    assert (number[u] < 45).all()
    u, v = graph.adjacency.nonzero()
    assert early.adjacency.nnz == (np.maximum(number[u], number[v]) < 45).sum()


def test_times_of_labels(files):
    loaded = read_graph(*files, split_time="seen")
    split, early, moment = time_split(loaded, test=0.5, validation=0)
    assert told(loaded.times, split, early, moment) == (
        "By 'seen', the model learns from 30 labelled nodes before 30; 30 later nodes test it."
    )
    assert split.test.tolist() == positions(loaded.graph, range(30, 60))
    assert early is loaded.graph


def test_a_run_learns_before_and_is_judged_after(files):
    loaded = read_graph(*files, split_time="when")
    model = CPGNNClassifier("link", 1, pretrain_epochs=2, epochs=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = train_run(loaded, model, test=0.25)
    assert run.evaluation is not None
    assert run.split.test.tolist() == positions(loaded.graph, range(45, 60))
    assert run.graph.adjacency is loaded.graph.adjacency
    (notice,) = set(run.graph.notices) - set(loaded.graph.notices)
    assert notice.startswith("By 'when', the model learns from 45 labelled nodes")


def change(path, before, after):
    path.write_text(path.read_text().replace(before, after))


def test_times_that_cannot_be_read(files):
    edges, labels = files
    with pytest.raises(InputError, match="'split_time' must name a column of the edges or of the"):
        read_graph(edges, labels, split_time="date")
    change(edges, "2024-02-10", "")
    with pytest.raises(InputError, match=r"hold a time in every row\. Got 2 empty cells"):
        read_graph(edges, labels, split_time="when")
    edges.write_text("source,target,when\na,b,soon\nb,c,later\n")
    with pytest.raises(InputError, match=r"Column 'when' must hold dates or times\. Got 'soon'"):
        read_graph(edges, split_time="when")


def test_one_time_is_no_split(files):
    edges, _ = files
    edges.write_text("source,target,when\n" + "".join(f"n{i},n0,5\n" for i in range(1, 60)))
    with pytest.raises(InputError, match=r"have nodes of several times to split\. Got only 5"):
        time_split(read_graph(*files, split_time="when"), test=0.2, validation=0.2)


def test_a_class_that_comes_later(files):
    _, labels = files
    text = "id,label,seen\n" + "".join(f"n{i},{'ab'[i >= 50]},{i}\n" for i in range(60))
    labels.write_text(text)
    with pytest.raises(InputError, match=r"Class 'b' must .* before .* Use a smaller 'test'"):
        time_split(read_graph(*files, split_time="seen"), test=0.2, validation=0.2)
