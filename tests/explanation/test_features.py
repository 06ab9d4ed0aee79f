"""Own parts down to the column: sums, the column that decides, values as the user gave them."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression

from cpgnn import CPGNNClassifier, Graph, explain, explain_features
from cpgnn.engine.mixed import Mixed
from cpgnn.explanation.features import Feature, Typical, features_of
from cpgnn.explanation.pieces import blend_pieces
from cpgnn.explanation.terms import terms
from toys import planted, random_model, toy

NAMES = ("age", "volume", "hours", "refunds")


def decided(n: int = 240, *, wide: int = 0, sparse: bool = False) -> Graph:
    """Two classes; `refunds` alone tells them apart, edges and all other columns tell nothing."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, n)
    X = rng.normal(size=(n, 4 + wide)).astype(np.float32)
    if sparse:
        X = (rng.random(X.shape) < 0.2).astype(np.float32)
        X[:, 3] = y
    else:
        X[:, 3] = 10 + 4 * y + rng.normal(size=n)
    pairs = np.sort(rng.integers(0, n, (2, 2 * n)), axis=0)
    u, v = np.unique(pairs[:, pairs[0] != pairs[1]], axis=1)
    names = [*NAMES, *(f"word {i}" for i in range(wide))]
    return Graph.from_edges(
        u,
        v,
        num_nodes=n,
        features=sp.csr_array(X) if sparse else X,
        labels=np.where(rng.random(n) < 0.7, y, -1),
        class_names=["honest", "fraudster"],
        feature_names=names,
    )


def check_sums(made):
    """The rows of every part sum to it, but for the stated error; and that is small."""
    features = made.features
    parts = {"prior": made.prior} if made.parts is None else made.parts
    for i, rows in enumerate(features.rows):
        assert {row.part for row in rows} <= set(parts)
        for name, part in parts.items():
            total = sum(row.contribution for row in rows if row.part == name)
            assert np.abs(total - part[i]).max() <= features.error[i] + 1e-9
    assert features.error.max() < 1e-4


@pytest.fixture(scope="module")
def fitted():
    """A default blend for each sort of input."""
    graphs = {
        "numbers": decided(),
        "words": decided(wide=150, sparse=True),
        "nothing": planted(0, 150, num_features=None),
    }
    return {kind: CPGNNClassifier().fit(graph) for kind, graph in graphs.items()}


@pytest.mark.parametrize("kind", ["numbers", "words", "nothing"])
def test_columns_of_a_blend_sum_to_every_part(fitted, kind):
    model = fitted[kind]
    made = explain(model, nodes=[0, 5, 77, 149], features=3)
    check_sums(made)
    total = made.to_frame().groupby(["node", "class"], sort=False)["contribution"].sum()
    np.testing.assert_allclose(total.to_numpy().reshape(4, -1), made.logits, atol=1e-3)
    json.dumps(made.to_dict(), allow_nan=False)
    for i in range(4):
        listed = terms(made, i, 2)
        best, second = made.predicted[i], made.runner_up[i]
        margin = made.logits[i, best] - made.logits[i, second]
        assert sum(term.margin for term in listed) == pytest.approx(margin, abs=1e-4)
        assert sum(term.kind == "prior" for term in listed) <= 4


@pytest.mark.parametrize("kind", ["numbers", "words"])
def test_a_column_that_decides_alone_comes_first(fitted, kind):
    model = fitted[kind]
    sure = np.argsort(-model.predict_proba().max(axis=1))[:10]
    made = explain(model, nodes=sure, features=2)
    for i in range(10):
        columns = made.features.merged(i)
        first = max(columns, key=lambda one: abs(made.margin(one.contribution, i)))
        assert (first.source, first.column) == ("own", "refunds")
        assert made.margin(first.contribution, i) > 0


def test_every_prior_of_a_blend_is_taken_apart(fitted):
    parts = {name for model in fitted.values() for name in model.model_.weights}
    assert {"trees", "words", "mlp", "together", "ppr", "sgc", "link", "spread"} <= parts


@pytest.mark.parametrize("num_features", [None, 4])
@pytest.mark.parametrize("num_layers", [0, 2])
@pytest.mark.parametrize("prior", ["mlp", "cheby", "link"])
def test_columns_of_the_papers_priors_sum_to_the_prior_term(prior, num_layers, num_features):
    graph = toy(4, n=12, num_features=num_features, weighted=True).graph
    made = explain(random_model(graph, prior=prior, num_layers=num_layers), graph, features=2)
    check_sums(made)
    sources = {row.source for rows in made.features.rows for row in rows}
    assert ("neighbours" in sources) == (prior == "link")
    assert ("neighbourhood" in sources) == (prior == "cheby")


def test_an_estimator_of_the_callers_own_is_sampled():
    graph = decided()
    model = CPGNNClassifier(LogisticRegression()).fit(graph)
    made = explain_features(model, [3, 4], top=4)
    rows = [row for row in made.rows[0] if row.part == "LogisticRegression"]
    assert {row.column for row in rows if row.source == "own"} == set(NAMES)
    first = max(made.merged(0), key=lambda row: np.ptp(row.contribution))
    assert first.column == "refunds"
    assert 0 < first.error < 0.2 * np.ptp(first.contribution)
    assert made.error.max() < 1e-6
    assert "sampled" in made.accuracy(0)


def test_values_are_the_users_own_and_typical_ones_of_training_nodes(fitted):
    model = fitted["numbers"]
    graph, train = model.graph_, model.split_.train
    made = explain_features(model, [7], top=4)
    [own] = [one for one in made.merged(0) if (one.source, one.column) == ("own", "refunds")]
    assert own.value == graph.features[7, 3]
    of = graph.features[train, 3]
    medians = [np.median(of[graph.labels[train] == k]) for k in range(2)]
    np.testing.assert_allclose(own.typical, medians, rtol=1e-6)
    around = [one for one in made.merged(0) if one.source == "neighbourhood"]
    near = graph.adjacency[[7]].indices
    for one in around:
        mean = graph.features[near, NAMES.index(one.column)].mean()
        assert one.value == pytest.approx(mean, rel=1e-4)


def test_sparse_columns_say_how_many_have_them(fitted):
    model = fitted["words"]
    graph, train = model.graph_, model.split_.train
    node = int(np.flatnonzero(graph.features.toarray()[:, 3])[0])
    made = explain(model, nodes=[node], features=3)
    [own] = [one for one in made.features.merged(0) if one.column == "refunds"
             and one.source == "own"]  # fmt: skip
    has = graph.features.toarray()[train, 3] != 0
    shares = [has[graph.labels[train] == k].mean() for k in range(2)]
    np.testing.assert_allclose(own.typical, shares)
    assert "it has *refunds*" in made.words(0)


def test_words_name_the_column_its_value_and_what_is_typical(fitted):
    model = fitted["numbers"]
    node = int(model.predict_proba()[:, 1].argmax())
    value = f"{model.graph_.features[node, 3]:.3g}"
    told = explain(model, nodes=[node], features=2).words(0)
    assert f"Mostly because *refunds* is {value} (typical of *fraudster*: 1" in told
    without = explain(model, nodes=[node])
    assert "refunds" not in without.words(0)
    assert without.features is None


def test_a_later_graph_has_no_fit_to_compare_with_unless_it_is_known(fitted, tmp_path):
    model, later = fitted["numbers"], decided(60)
    model.save(tmp_path / "model")
    bare = CPGNNClassifier.load(tmp_path / "model")
    made = explain(bare, later, [3], features=2)
    check_sums(made)
    assert np.isnan(made.features.merged(0)[0].typical).all()
    known = explain(model, later, [3], features=2).features
    assert not np.isnan(next(r for r in known.merged(0) if r.column == "refunds").typical).any()


def test_where_a_prior_is_too_sure_the_limit_is_the_stated_error(fitted):
    """Beliefs end at e^-12; beyond it, the columns say more than the prior does."""
    model = fitted["numbers"]
    blend, where = model.model_, np.array([7])
    at = next(i for i, p in enumerate(blend.priors) if p.name == "mlp")
    prior = blend.priors[at]
    sure = replace(prior, network=replace(prior.network, W_2=50 * prior.network.W_2))
    priors = (*blend.priors[:at], sure, *blend.priors[at + 1 :])
    said = replace(blend, priors=priors).said(model.prediction().said.inputs)
    parts = said.own_parts(where)
    [found] = blend_pieces(said, where, model.node_ids_)
    made = features_of([found], parts, Typical(model.graph_, ("a", "b")), where, 2)
    total = sum(piece.terms.sum(axis=0) for piece in found["mlp"])
    gap = np.abs(total - parts["mlp"][0]).max()
    assert gap > 1
    assert made.error[0] == pytest.approx(gap)


def test_columns_of_other_kinds_are_told_as_they_are_read():
    """An account has the risk of its device, not the median that fills its own gap."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    device = 60 + 2 * rng.integers(0, 5, 60) + y
    risk = np.r_[np.full(60, 5.0), 10.0 * np.arange(10)]
    gaps = np.c_[np.r_[np.zeros(60), np.ones(10)], np.r_[np.ones(60), np.zeros(10)]].astype(bool)
    graph = Graph.from_edges(
        np.arange(60),
        device,
        num_nodes=70,
        features=np.c_[np.r_[rng.normal(size=60), np.zeros(10)], risk],
        feature_names=["age", "risk"],
        labels=np.r_[y, np.full(10, -1)],
    ).with_kinds(["account"] * 60 + ["device"] * 10)
    model = CPGNNClassifier(budget="fast").fit(replace(graph, mixed=Mixed.of(gaps)))
    seen = 0
    for v in range(60):
        for one in explain_features(model, [v], top=10).merged(0):
            if one.column == "risk" and one.source in ("own", "neighbourhood"):
                seen += 1  # who shares a device with it has the same
                assert one.value == pytest.approx(risk[device[v]])
    assert seen


def test_nodes_that_share_a_neighbour_are_not_called_neighbours():
    """Customers buy products: what another customer says is heard by way of what both bought."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    bought = [(i, 120 + 2 * j + y[i]) for i in range(120) for j in rng.choice(6, 3, replace=False)]
    u, v = np.transpose(bought)
    graph = Graph.from_edges(
        u, v, num_nodes=132, labels=np.r_[y, np.full(12, -1)], class_names=["home", "work"]
    ).with_kinds(["customer"] * 120 + ["product"] * 12)
    model = CPGNNClassifier(budget="fast").fit(graph)
    heard = set()
    for i in range(0, 120, 10):
        for one in explain_features(model, [i], top=20).merged(0):
            if one.source in ("neighbours", "sharing"):
                heard.add(one.source)
                assert (one.source == "neighbours") == bool(graph.adjacency[i, int(one.column)])
    assert "sharing" in heard
    made = explain(model, nodes=[0], features=3)
    size = np.where(np.arange(2) == made.predicted[0], 1.0, 0.0)
    nothing = np.full(2, np.nan)
    rows = [("sharing", "7", size), ("sharing", "9", size), ("neighbours", "120", size)]
    rows = tuple(Feature("link", *row[:2], np.nan, nothing, row[2]) for row in rows)
    made = replace(made, features=replace(made.features, rows=(rows,)))
    told = "*120* is among its neighbours (+1.00) and it shares a node with *7* and *9* (+2.00)."
    assert told in made.words(0)
    assert {"shares a node with: 7", "list of neighbours: 120"} <= {
        t.name for t in terms(made, 0, 2)
    }
