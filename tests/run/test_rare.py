"""A rare class: what chooses the model, and which column of the predictions to believe."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cpgnn.classifier import CPGNNClassifier
from cpgnn.cli.printing import in_words
from cpgnn.graph import Graph
from cpgnn.io import LoadedGraph
from cpgnn.report.contents import gather
from cpgnn.report.page import render
from cpgnn.run.fit import train_run
from cpgnn.run.folder import write_run
from cpgnn.run.load import load_run
from cpgnn.run.run import Run
from toys import planted

QUICK = {"hidden": 8, "pretrain_epochs": 20, "epochs": 20}


def trained(share: float, *, positive: str | None = "c1", **options) -> Run:
    graph = planted(0, n=600, c=2, h=0.3, shares=[1 - share, share], signal=0.5)
    classifier = CPGNNClassifier("mlp", 1, **QUICK, **options)
    return train_run(LoadedGraph(graph, None), classifier, positive=positive)


@pytest.mark.parametrize(
    ("share", "positive", "options", "chosen_by"),
    [
        (0.04, "c1", {}, "average_precision"),
        (0.04, "c1", {"select_by": "accuracy"}, "accuracy"),
        (0.04, None, {}, "accuracy"),
        (0.04, "c0", {}, "accuracy"),
        (0.2, "c1", {}, "accuracy"),
    ],
)
def test_a_rare_class_that_was_named_is_chosen_by_its_average_precision(
    share, positive, options, chosen_by
):
    run = trained(share, positive=positive, **options)
    settings = run.classifier.settings_
    assert settings.select_by == chosen_by
    if positive is not None:
        assert settings.positive == ("c0", "c1").index(positive)


@pytest.fixture(scope="module")
def balanced() -> Run:
    return trained(0.04, class_weight="balanced")


def columns(run: Run) -> tuple[np.ndarray, np.ndarray]:
    P = run.classifier.predict_proba()
    return P[:, 1] >= run.flag.value, P.argmax(axis=1) == 1


def test_where_flags_and_classes_differ_it_says_which_to_use(balanced, tmp_path):
    flagged, called = columns(balanced)
    assert called.sum() > flagged.sum() > 0
    sentence = balanced.flagged_or_called()[0]
    assert f"not the column class: of all 600 nodes, {flagged.sum():,} are flagged" in sentence
    assert f"while “c1” is the most probable class of {called.sum():,}." in sentence
    assert "With class_weight='balanced', every class counts as if" in sentence
    assert sentence in balanced.verdict.reasons
    assert "With --class-weight balanced, every class" in in_words(sentence)
    assert "not the column class" in render(gather(balanced, "run"))
    write_run(balanced, tmp_path / "run")
    assert load_run(tmp_path / "run").flagged_or_called() == (sentence,)
    table = pd.read_csv(tmp_path / "run/predictions.csv")
    assert (table["flagged"] == "yes").sum() == flagged.sum()
    assert (table["class"] == "c1").sum() == called.sum()


def test_nodes_of_other_kinds_are_neither_flagged_nor_called():
    """A card has no class; that its most probable one is the first is nobody's business."""
    graph = planted(0, n=600, c=2, h=0.3, shares=[0.04, 0.96], signal=0.5)
    y = np.where(np.arange(600) < 450, graph.labels, -1)
    kinds = ["account"] * 450 + ["card"] * 150
    graph = graph.with_labels(y, graph.class_names).with_kinds(kinds)
    classifier = CPGNNClassifier("mlp", 1, **QUICK, class_weight="balanced")
    run = train_run(LoadedGraph(graph, None), classifier, positive="c0")
    called = (run.prediction.probabilities[:450].argmax(axis=1) == 0).sum()
    [sentence] = run.flagged_or_called()
    assert "of all 450 nodes" in sentence
    assert f"most probable class of {called:,}." in sentence


def test_without_weights_the_reason_is_left_out():
    run = trained(0.04)
    flagged, called = columns(run)
    if (flagged == called).all():
        assert run.flagged_or_called() == ()
    else:
        assert "balanced" not in run.flagged_or_called()[0]


def test_nothing_is_said_where_both_agree_or_nothing_is_flagged(balanced):
    from dataclasses import replace

    assert trained(0.3, positive=None).flag is None
    assert trained(0.3, positive=None).flagged_or_called() == ()
    same = replace(balanced, flag=replace(balanced.flag, value=0.5))
    flagged, called = columns(same)
    assert (flagged == called).all()
    assert same.flagged_or_called() == ()


def test_the_class_of_a_graph_by_itself():
    """Guards the helper: the rare class is as rare as asked for."""
    graph: Graph = trained(0.04).graph
    assert (graph.labels == 1).mean() < 0.05
