"""The default, a blend: its sums, later nodes, what is kept on disk, and damaged folders."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from safetensors.numpy import load_file, save_file
from scipy.special import softmax
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.svm import SVC

from cpgnn import CPGNNClassifier, Graph, explain
from cpgnn.blend.blend import Blend
from cpgnn.errors import BeliefOverflowError, GraphNotice, InputError
from cpgnn.evaluation.calibration import fit_scaling
from cpgnn.priors.saved_estimator import load_estimator
from cpgnn.splits import Split
from cpgnn.synthetic.generate import generate_graph, mixhop_compatibility


def named(n: int) -> list[str]:
    return [f"node {i}" for i in range(n)]


def example(features: bool = True, seed: int = 0) -> Graph:
    """180 nodes of three classes whose edges join different classes; every second one labelled."""
    graph = generate_graph([60] * 3, mixhop_compatibility(3, 0.1), edges_per_node=5, seed=seed)
    A = sp.triu(graph.adjacency, format="coo")
    y = graph.labels
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(180, 4)).astype(np.float32)
    X[np.arange(180), y] += 1
    return Graph.from_edges(
        *A.coords,
        num_nodes=180,
        features=X if features else None,
        labels=np.where(np.arange(180) % 2 == 0, y, -1),
        class_names=("a", "b", "c"),
        node_ids=named(180),
    )


@pytest.fixture(scope="module", params=[True, False], ids=["features", "featureless"])
def fitted(request) -> CPGNNClassifier:
    return CPGNNClassifier().fit(example(request.param))


def test_the_default_is_a_blend_that_hears_neighbours(fitted):
    assert isinstance(fitted.model_, Blend)
    assert fitted.num_layers_ == 1
    assert fitted.evidence_.keys() >= {"own", "edges"}
    assert sum(fitted.evidence_.values()) == pytest.approx(1)
    H = fitted.compatibility_
    assert np.allclose(H.sum(axis=0), 1, atol=1e-6)
    assert H[0].argmin() == 0  # like does not join like
    assert fitted.validation_score_ > 0.5
    assert fitted.initial_from_ is None  # no H is guessed before it is fitted


def test_logits_are_own_part_plus_one_term_a_neighbour(fitted):
    made = explain(fitted)
    assert made.error.max() < 1e-5
    assert np.allclose(sum(made.parts.values()), made.prior)
    A = fitted.graph_.adjacency
    near = made.relations == "edges"
    assert np.bincount(made.owner[near], minlength=180).tolist() == np.diff(A.indptr).tolist()
    table = made.to_frame()
    total = table.groupby(["node", "class"], sort=False)["contribution"].sum().to_numpy()
    assert np.allclose(total.reshape(180, 3), made.logits, atol=1e-4)


def test_the_last_round_in_dense_algebra(fitted):
    said, blend = fitted.prediction().said, fitted.model_
    own = sum(w * L for w, L in zip(blend.stage.w, said.log_beliefs, strict=True)) + blend.stage.b
    for hears, H_bar in zip(blend.hears, blend.stage.H_bar, strict=True):
        M = said.inputs.relations[hears.relation].matrix.toarray().astype(float)
        degree = M.sum(axis=1, keepdims=True)
        P = np.divide(M, degree**hears.gamma, out=np.zeros_like(M), where=degree > 0)
        own = own + P @ (said.beliefs - 1 / 3) @ H_bar
    assert np.allclose(own, said.logits, atol=1e-4)
    train = fitted.split_.train
    assert (said.beliefs[train].max(axis=1) == 1).all()  # labels that trained it are known


def test_held_out_labels_change_nothing():
    graph = example()
    split = CPGNNClassifier().fit(graph).split_
    y = graph.labels
    other = np.where(y < 0, 0, y)
    again = graph.with_labels(other, graph.class_names)
    first = CPGNNClassifier().fit(graph, split=split).logits()
    assert np.array_equal(first, CPGNNClassifier().fit(again, split=split).logits())


def test_a_saved_blend_says_the_same(fitted, tmp_path):
    fitted.save(tmp_path / "model")
    loaded = CPGNNClassifier.load(tmp_path / "model", fitted.graph_)
    assert np.array_equal(loaded.logits(), fitted.logits())
    assert np.array_equal(loaded.predict_proba(), fitted.predict_proba())
    assert loaded.evidence_ == pytest.approx(fitted.evidence_)
    assert loaded.name == fitted.name
    assert explain(loaded, nodes=["node 3"]).words(0) == explain(fitted, nodes=["node 3"]).words(0)
    without = CPGNNClassifier.load(tmp_path / "model")
    assert np.allclose(without.predict_proba(fitted.graph_), fitted.predict_proba())


def test_nodes_that_come_later_are_predicted(fitted, tmp_path):
    """A new node beside known ones of class a and b; known nodes far from it stay as they were."""
    graph = fitted.graph_
    A = sp.triu(graph.adjacency, format="coo")
    y = graph.labels
    friends = np.concatenate([np.flatnonzero(y == 0)[:4], np.flatnonzero(y == 1)[:4]])
    X = None
    if graph.features is not None:
        X = np.concatenate([graph.features, np.zeros((1, 4), dtype=np.float32)])
    later = Graph.from_edges(
        np.concatenate([A.coords[0], np.full(8, 180)]),
        np.concatenate([A.coords[1], friends]),
        num_nodes=181,
        features=X,
        node_ids=[*named(180), "new"],
    )
    P = fitted.predict_proba(later)
    assert P[180].argmax() == 2  # edges join different classes
    fitted.save(tmp_path / "model")
    assert np.allclose(CPGNNClassifier.load(tmp_path / "model").predict_proba(later), P, atol=1e-6)
    order = np.random.default_rng(0).permutation(181)
    shuffled = later.adjacency[order][:, order].tocoo()
    upper = shuffled.coords[0] < shuffled.coords[1]
    mixed = Graph.from_edges(
        shuffled.coords[0][upper],
        shuffled.coords[1][upper],
        num_nodes=181,
        features=None if X is None else X[order],
        node_ids=np.array([*named(180), "new"])[order],
    )
    assert np.allclose(fitted.predict_proba(mixed), P[order], atol=1e-4)


def test_strangers_without_names_are_not_taken_for_known_nodes():
    one, two = example(), example(seed=1)
    plain = [
        Graph.from_edges(
            *sp.triu(g.adjacency, format="coo").coords,
            num_nodes=180,
            features=g.features,
            labels=g.labels,
            class_names=g.class_names,
        )
        for g in (one, two)
    ]
    fitted = CPGNNClassifier().fit(plain[0])
    fitted.predict_proba(plain[1].with_labels(np.full(180, -1), plain[1].class_names))
    fewer = Graph.from_edges([0, 1], [1, 2], num_nodes=3, features=plain[1].features[:3])
    said = fitted.prediction(fewer).said
    assert (said.inputs.known == -1).all()


def unnamed(graph: Graph, *, ids=None, more: int = 2, extra=(), labels: bool = True) -> Graph:
    """The graph without names, with `more` nodes, each joined to the first, and `extra` edges."""
    u, v = sp.triu(graph.adjacency, format="coo").coords
    n = graph.num_nodes + more
    new = np.arange(graph.num_nodes, n)
    a, b = np.array(extra, dtype=np.int64).reshape(-1, 2).T
    return Graph.from_edges(
        np.concatenate([u, new, a]),
        np.concatenate([v, 0 * new, b]),
        num_nodes=n,
        features=np.pad(graph.features, ((0, more), (0, 0))),
        labels=np.pad(graph.labels, (0, more), constant_values=-1) if labels else None,
        class_names=graph.class_names,
        node_ids=ids,
    )


@pytest.fixture(scope="module")
def of_unnamed() -> CPGNNClassifier:
    return CPGNNClassifier("trees").fit(unnamed(example(), more=0))


def test_unnamed_nodes_are_matched_by_the_edges_they_begin_with(of_unnamed, tmp_path):
    """Without the graph too, and whatever kind of index has the numbers."""
    of_unnamed.save(tmp_path / "model")
    loaded = CPGNNClassifier.load(tmp_path / "model")
    by_position = [*range(180), -1, -1]
    for ids in (None, pd.Index(np.arange(182)), pd.Index(np.arange(182, dtype=np.int32))):
        later = unnamed(example(), ids=ids, labels=False)
        expected = of_unnamed.prediction(later)
        assert expected.said.inputs.known.tolist() == by_position
        made = loaded.prediction(later)
        assert made.said.inputs.known.tolist() == by_position
        np.testing.assert_array_equal(made.probabilities, expected.probabilities)
    later = unnamed(example(), labels=False)
    through = Graph.from_networkx(later.to_networkx(), label=None, features="x")
    assert of_unnamed.prediction(through).said.inputs.known.tolist() == by_position
    other = later.node_ids.to_numpy()[::-1].copy()
    strange = unnamed(example(), ids=other, labels=False)
    assert (of_unnamed.prediction(strange).said.inputs.known == -1).all()


def test_a_model_without_its_graph_says_that_it_takes_unnamed_nodes_for_new(of_unnamed, tmp_path):
    of_unnamed.save(tmp_path / "model")
    loaded = CPGNNClassifier.load(tmp_path / "model")
    A = of_unnamed.graph_.adjacency
    apart = next((0, v) for v in range(1, 180) if not A[0, v])
    later = unnamed(example(), extra=[apart], labels=False)
    with pytest.warns(GraphNotice, match=r"All 182 nodes are taken for new ones: .* first 180 are"):
        made = loaded.prediction(later)
    assert (made.said.inputs.known == -1).all()
    assert (of_unnamed.prediction(later).said.inputs.known[:180] == np.arange(180)).all()


def test_probabilities_are_calibrated_without_holding_nodes_back(fitted):
    honest, y = fitted.honest_, fitted.graph_.labels
    assert len(honest.nodes) == 90  # every label
    P = softmax(honest.logits / fitted.temperature_, axis=1)
    loss = -np.log(P[np.arange(90), y[honest.nodes]]).mean()
    for other in (0.8, 1.25):
        Q = softmax(honest.logits / (other * fitted.temperature_), axis=1)
        assert loss <= -np.log(Q[np.arange(90), y[honest.nodes]]).mean() + 1e-9
    assert CPGNNClassifier(calibrate=False).fit(example()).temperature_ == 1


def test_class_weights_and_scores_reach_every_part():
    graph = example()
    rare = np.flatnonzero(graph.labels == 0)[4:]
    y = graph.labels.copy()
    y[rare] = -1
    few = graph.with_labels(y, graph.class_names)
    plain, balanced = (
        CPGNNClassifier("auto", class_weight=w).fit(few).predict_proba()[:, 0].mean()
        for w in (None, "balanced")
    )
    assert balanced > plain
    chosen = CPGNNClassifier(select_by="average_precision", positive="a").fit(graph)
    assert 0 < chosen.validation_score_ <= 1


def test_two_labels_a_class_are_enough():
    graph = example()
    y = np.full(180, -1)
    for c in range(3):
        y[np.flatnonzero(graph.labels == c)[:2]] = c
    fitted = CPGNNClassifier().fit(graph.with_labels(y, graph.class_names))
    assert np.isfinite(fitted.predict_proba()).all()


@pytest.mark.parametrize("prior", ["trees", "smoothed"])
def test_a_blend_of_one(prior):
    fitted = CPGNNClassifier(prior).fit(example())
    assert isinstance(fitted.model_, Blend)
    assert set(fitted.model_.weights) <= {"trees", "words", "sgc", "ppr"}
    assert explain(fitted).error.max() < 1e-5


def test_smoothed_needs_features():
    with pytest.raises(InputError, match="features for prior='smoothed'"):
        CPGNNClassifier("smoothed").fit(example(features=False))


def test_any_scikit_learn_classifier_is_a_prior(tmp_path):
    forest = RandomForestClassifier(n_estimators=20, random_state=0)
    fitted = CPGNNClassifier(forest).fit(example())
    assert fitted.model_.weights.keys() == {"RandomForestClassifier"}
    assert not hasattr(forest, "estimators_")  # a copy was fitted
    assert explain(fitted).error.max() < 1e-5
    pytest.importorskip("skops")
    with pytest.raises(InputError, match="without trusting the file"):
        fitted.save(tmp_path / "forest")
    assert not (tmp_path / "forest").exists()
    fitted = CPGNNClassifier(LogisticRegression()).fit(example())
    fitted.save(tmp_path / "model")
    loaded = CPGNNClassifier.load(tmp_path / "model")
    assert np.allclose(loaded.predict_proba(fitted.graph_), fitted.predict_proba())


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("blend") / "model"
    CPGNNClassifier().fit(example()).save(path)
    return path


def _other(tensors, name, array):
    tensors[name] = np.ascontiguousarray(array)


DAMAGES = {
    "a prior too few": lambda c, t: c["blend"]["priors"].pop(),
    "another kind": lambda c, t: c["blend"]["priors"][0].update(kind="magic"),
    "a hidden layer too wide": lambda c, t: c["blend"]["priors"][1].update(hidden=10**9),
    "another input": lambda c, t: c["blend"]["priors"][0].update(reads="own"),
    "trees of no class": lambda c, t: c["blend"]["priors"][0].update(present=[]),
    "a relation twice": lambda c, t: c["blend"]["hears"].append(c["blend"]["hears"][0]),
    "more rounds": lambda c, t: c["blend"].update(rounds=90),
    "no norm": lambda c, t: c["blend"].update(norm=0),
    "no blend": lambda c, t: c.update(blend=None),
    "a label beyond the classes": lambda c, t: _other(
        t, "blend.labels", np.full_like(t["blend.labels"], 3)
    ),
    "held out twice": lambda c, t: _other(
        t, "honest.nodes", np.repeat(t["honest.nodes"][:1], len(t["honest.nodes"]))
    ),
    "held out without a label": lambda c, t: (
        _other(t, "split.val", t["split.val"][:0]) or _other(t, "split.train", t["split.train"][1:])
    ),
    "labels too few": lambda c, t: _other(t, "blend.labels", t["blend.labels"][:-1]),
    "NaN": lambda c, t: _other(t, "blend.w_0", np.full_like(t["blend.w_0"], np.nan)),
    "names twice": lambda c, t: _other(
        t, "blend.node_ids", np.frombuffer(json.dumps(["x"] * 180).encode(), dtype=np.uint8)
    ),
    "names that are no list": lambda c, t: _other(
        t, "blend.node_ids", np.frombuffer(b"[" * 100_000, dtype=np.uint8)
    ),
    "names in no encoding": lambda c, t: _other(
        t, "blend.node_ids", np.full(9, 255, dtype=np.uint8)
    ),
    "trees that are not": lambda c, t: _other(
        t, "blend.prior.0.text", np.frombuffer(b"tree\nnum_class=9\n", dtype=np.uint8)
    ),
    "a tree cut short": lambda c, t: _other(
        t, "blend.prior.0.text", t["blend.prior.0.text"][: len(t["blend.prior.0.text"]) // 2]
    ),
}


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_damaged_folder_is_refused(damage, folder, tmp_path):
    config = json.loads((folder / "model.json").read_text())
    tensors = load_file(folder / "weights.safetensors")
    damage(config, tensors)
    (tmp_path / "model.json").write_text(json.dumps(config))
    save_file(tensors, tmp_path / "weights.safetensors")
    with pytest.raises(InputError):
        CPGNNClassifier.load(tmp_path)


def test_labels_of_another_fit_are_refused(folder, tmp_path):
    tensors = load_file(folder / "weights.safetensors")
    labels = tensors["blend.labels"]
    _other(tensors, "blend.labels", np.where(labels < 0, -1, (labels + 1) % 3))
    shutil.copy(folder / "model.json", tmp_path)
    save_file(tensors, tmp_path / "weights.safetensors")
    with pytest.raises(InputError, match=r"'blend\.labels' are not those of the graph"):
        CPGNNClassifier.load(tmp_path, example())


def test_beliefs_that_are_no_numbers_are_not_told(fitted):
    """Numbers that are finite one by one, as in a file, and too large together."""
    stage = fitted.model_.stage
    stages = (*fitted.model_.stages[:-1], replace(stage, w=stage.w + 1e308, b=stage.b + 1e308))
    model = replace(fitted.model_, stages=stages)
    with pytest.raises(BeliefOverflowError, match="Beliefs of 180 nodes must be finite"):
        model.said(model.inputs(fitted.scaler_(fitted.graph_)))


def test_trials_say_what_was_tried(fitted):
    table = fitted.trials_
    assert isinstance(table, pd.DataFrame)
    assert {"trees", "link"} <= set(table["candidate"])
    assert table["loss"].notna().all()
    assert (table["cpu_seconds"] >= 0).all()


def test_a_relation_that_the_graph_lacks(fitted):
    blend = fitted.model_
    model = replace(blend, hears=(replace(blend.hears[0], relation="calls"), *blend.hears[1:]))
    with pytest.raises(InputError, match="must have the relation 'calls', which the model hears"):
        model.said(model.inputs(fitted.scaler_(fitted.graph_)))


def test_a_relation_that_a_prior_hears_and_the_graph_lacks(folder, tmp_path):
    config = json.loads((folder / "model.json").read_text())
    together = next(x for x in config["blend"]["priors"] if x["kind"] == "together")
    together["relations"][0] = "nobody"
    (tmp_path / "model.json").write_text(json.dumps(config))
    shutil.copy(folder / "weights.safetensors", tmp_path)
    loaded = CPGNNClassifier.load(tmp_path)
    with pytest.raises(InputError, match="must have the relation 'nobody'"):
        loaded.predict(example())


def test_an_estimator_of_a_stranger():
    io = pytest.importorskip("skops.io")
    X, y = np.random.default_rng(0).random((40, 2)), np.arange(40) % 3
    good = io.dumps(LogisticRegression().fit(X, y))
    assert load_estimator(good, 2, 3).classes_.tolist() == [0, 1, 2]
    strangers = {
        "features": (good, 3, 3),
        "classes": (good, 2, 2),
        "predict_proba": (io.dumps(RidgeClassifier().fit(X, y)), 2, 3),
        "classes_": (io.dumps([1]), 2, 3),
        "sklearn.svm": (io.dumps(SVC().fit(X, y)), 2, 3),
        "compressed": (io.dumps(LogisticRegression().fit(X, y), compression=8), 2, 3),
        "zip": (b"no archive", 2, 3),
    }
    for words, (data, width, c) in strangers.items():
        with pytest.raises(ValueError, match=f"cannot be used: .*{words}"):
            load_estimator(data, width, c)


@pytest.mark.parametrize(("features", "validate", "alone"), [(0, 300, 1), (0, 299, 0), (1, 300, 0)])
def test_many_validation_nodes_without_features_set_the_temperature(features, validate, alone):
    graph = generate_graph([150] * 3, mixhop_compatibility(3, 0.1), edges_per_node=4, seed=0)
    X = np.random.default_rng(0).normal(size=(450, 2)).astype(np.float32)
    order = np.random.default_rng(1).permutation(450)
    split = Split(np.sort(order[:100]), np.sort(order[100 : 100 + validate]))
    model = CPGNNClassifier(budget="fast")
    model.fit(graph.with_features(X if features else None), split=split)
    expected = split.val if alone else np.concatenate([split.train, split.val])
    assert np.array_equal(model.calibration_, expected)
    own = fit_scaling(model.logits()[split.val], graph.labels[split.val])
    assert np.allclose(model.scaling_, own, atol=1e-3) == bool(alone)
