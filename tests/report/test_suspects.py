"""Nodes to look at: at both ends, or the suspects of a rare class with the reasons for it."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.classifier import CPGNNClassifier
from cpgnn.graph import Graph
from cpgnn.io import LoadedGraph
from cpgnn.report.nodes import node_data
from cpgnn.report.suspects import LISTED, extremes
from cpgnn.run.fit import train_run
from cpgnn.run.folder import report_run
from hostile import hostile_graph, quick_classifier


@pytest.fixture(scope="module")
def rare():
    """One node in fifty is "fraud", knows the others of its kind, and looks a little odd."""
    rng = np.random.default_rng(0)
    n = 1500
    y = (np.arange(n) % 50 == 0).astype(int)
    odd = np.flatnonzero(y)
    u, v = rng.integers(0, n, (2, 3000))
    u, v = np.append(u, rng.choice(odd, 90)), np.append(v, rng.choice(odd, 90))
    pairs = np.unique(np.sort(np.stack([u, v])[:, u != v], axis=0), axis=1)
    graph = Graph.from_edges(
        *pairs,
        num_nodes=n,
        features=(rng.normal(size=(n, 3)) + 1.5 * y[:, None]).astype(np.float32),
        labels=np.where(rng.random(n) < 0.4, -1, y),
        class_names=["ordinary", "fraud"],
    )
    classifier = CPGNNClassifier("mlp", 1, pretrain_epochs=40, epochs=40, normalization="sym")
    return train_run(LoadedGraph(graph, None), classifier)


def test_suspects_are_the_most_probable_ones_without_a_label(rare, tmp_path):
    assert rare.evaluation.by_ranking
    made = extremes(rare)
    assert made.positive == "fraud"
    p = rare.prediction.probabilities[:, 1]
    free = np.flatnonzero(rare.graph.labels < 0)
    wanted = free[np.argsort(-p[free], kind="stable")][:LISTED]
    assert [node.id for node in made.first] == [str(v) for v in wanted]
    assert [node.probability for node in made.first] == p[wanted].tolist()
    for node, v in zip(made.first, wanted, strict=True):
        assert node.flagged == (p[v] >= rare.flag.value)
        assert "*fraud*" in node.why
        assert "*feature " in node.why
    flagged = int((p[free] >= rare.flag.value).sum())
    assert f"{flagged:,} {'is' if flagged == 1 else 'are'} flagged" in made.among
    gaps = [abs(node.probability - rare.flag.value) for node in made.second]
    assert gaps == sorted(gaps)
    report_run(rare, tmp_path / "page.html", "rare")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "Suspects, and why" in page
    assert "times chance" in page
    assert page.index("Suspects, and why") < page.index("Who connects with whom")


def test_a_suspect_that_is_called_otherwise_is_explained_as_a_suspect(rare):
    """What speaks for fraud is told, though the most probable class is another."""
    p = rare.prediction.probabilities[:, 1]
    made = extremes(rare)
    below = [node for node in made.first if node.probability < 0.5]
    for node in below:
        assert node.called == "ordinary"
        assert "ordinary* rather than *fraud" not in node.why
    assert p.max() > 0


def test_without_a_rare_class_the_ends_of_certainty_are_listed():
    made = extremes(train_run(hostile_graph(), quick_classifier()))
    assert made.positive == ""
    sure = [node.probability for node in made.first]
    unsure = [node.probability for node in made.second]
    assert sure == sorted(sure, reverse=True)
    assert unsure == sorted(unsure)
    assert min(sure) >= max(unsure)


@pytest.mark.filterwarnings("ignore::cpgnn.errors.GraphNotice")
def test_only_the_kind_that_is_predicted_is_listed():
    """A device once stood at the top of the thieves."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    graph = Graph.from_edges(
        np.concatenate([np.arange(120), rng.integers(0, 120, 200)]),
        np.concatenate([120 + np.arange(120) % 12, rng.integers(0, 120, 200)]),
        num_nodes=132,
        labels=np.append(np.where(np.arange(120) < 60, y, -1), [-1] * 12),
        class_names=["honest", "thief"],
        node_ids=[*(f"a{i}" for i in range(120)), *(f"device{i}" for i in range(12))],
    ).with_kinds(["account"] * 120 + ["device"] * 12)
    run = train_run(LoadedGraph(graph, None), CPGNNClassifier("trees", budget="fast"))
    made = extremes(run)
    assert all(node.id.startswith("a") for node in (*made.first, *made.second))
    packed = node_data(run.classifier, run.prediction.probabilities, made.positions)
    assert packed["all"] == packed["shown"] == 120
