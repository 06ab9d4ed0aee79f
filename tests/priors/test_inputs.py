"""What trees read of a wide table: its numbers, whatever text stands beside them."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from cpgnn import CPGNNClassifier, Graph, explain_features, read_graph
from cpgnn.explanation.pieces import blend_pieces
from cpgnn.priors import inputs
from cpgnn.priors.columns import STRUCTURE
from cpgnn.priors.inputs import NARROW, Basis, Inputs
from cpgnn.relations.derived import entries_leading_on

N, TOWNS, COLOURS = 400, 150, 4


@pytest.fixture(scope="module")
def graph(tmp_path_factory) -> Graph:
    """`refunds` alone tells the classes apart; nearly every town has fewer than four nodes."""
    folder, rng = tmp_path_factory.mktemp("wide"), np.random.default_rng(0)
    ids = [f"n{i}" for i in range(N)]
    y = rng.integers(0, 2, N)
    ends = rng.integers(0, N, (2, 2 * N))
    table = pd.DataFrame(
        {
            "id": ids,
            "age": rng.normal(40, 10, N).round(1),
            "refunds": (10 + 4 * y + rng.normal(size=N)).round(2),
            "town": [f"town {i}" for i in rng.integers(0, TOWNS, N)],
            "colour": [f"colour {i}" for i in rng.integers(0, COLOURS, N)],
        }
    )
    table.loc[3, "refunds"] = np.nan
    pd.DataFrame({"source": np.array(ids)[ends[0]], "target": np.array(ids)[ends[1]]}).to_csv(
        folder / "edges.csv", index=False
    )
    table.to_csv(folder / "features.csv", index=False)
    pd.DataFrame({"id": ids, "label": np.where(y, "fraud", "honest")}).to_csv(
        folder / "labels.csv", index=False
    )
    files = {name: folder / f"{name}.csv" for name in ("labels", "features")}
    return read_graph(folder / "edges.csv", **files).graph


def test_large_blocks_are_let_go_after_the_fit(graph, monkeypatch):
    everyone = np.arange(N)
    x = Inputs(graph, Basis.of(graph), everyone, N, graph.labels)
    columns = x.columns
    x.fitted()
    assert x.columns is columns
    monkeypatch.setattr(inputs, "MOST_AFTER", columns.size - 1)
    x.fitted()
    assert x.columns is not columns
    assert np.array_equal(x.columns, columns, equal_nan=True)


def test_only_small_blocks_of_columns_are_kept(graph, monkeypatch):
    everyone = np.arange(N)
    x = Inputs(graph, Basis.of(graph), everyone, N, np.full(N, -1))
    assert x.columns is x.columns
    monkeypatch.setattr(inputs, "MOST_KEPT", x.columns.size - 1)
    other = Inputs(graph, x.basis, everyone, N, x.labels)
    assert other.columns is not other.columns
    assert np.array_equal(other.columns, x.columns, equal_nan=True)


def test_numbers_and_common_words_are_read_as_they_are(graph):
    assert graph.num_features > NARROW
    read = Basis.of(graph).read_by_trees(graph.num_features)
    names = [graph.feature_names[j] for j in read]
    assert names == ["age", "refunds", *(f"colour=colour {i}" for i in range(COLOURS))]
    x = Inputs(graph, Basis.of(graph), np.arange(N), N, graph.labels)
    own = x.columns[:, len(STRUCTURE) : len(STRUCTURE) + len(read)]
    wanted = graph.features[:, read]
    wanted = wanted.toarray() if hasattr(wanted, "toarray") else wanted
    gap = graph.positions(["n3"])[0]
    assert np.isnan(own[gap, 1])
    kept = np.delete(np.arange(N), gap)
    np.testing.assert_array_equal(own[kept], wanted[kept].astype(np.float32))


def test_the_number_that_decides_is_found_explained_and_saved(graph, tmp_path):
    model = CPGNNClassifier("trees", seed=0, self_training=False).fit(graph)
    assert model.validation_score_ > 0.9
    nodes = list(graph.node_ids[:5])
    for rows in explain_features(model, nodes=nodes).rows:
        largest = max(rows, key=lambda row: np.ptp(row.contribution))
        assert largest.column == "refunds"
    model.save(tmp_path / "model")
    again = CPGNNClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(graph), model.predict_proba(), atol=1e-6)


@pytest.fixture(scope="module")
def sharers() -> Graph:
    """Accounts and devices: accounts of a class use the same few devices, and nothing else."""
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    devices = 120 + 2 * np.stack([rng.integers(0, 5, 120), rng.integers(5, 10, 120)]) + y
    graph = Graph.from_edges(
        np.tile(np.arange(120), 2),
        devices.ravel(),
        num_nodes=140,
        labels=np.append(y, np.full(20, -1)),
    )
    return graph.with_kinds(["account"] * 120 + ["device"] * 20, described=[])


def test_rows_of_all_edges_lead_to_other_kinds_too(sharers):
    """Against the dense D^-½ A; a later graph has columns for the nodes of the fit only."""
    n, A = sharers.num_nodes, sharers.adjacency.toarray()
    degree = A.sum(axis=1)
    dense = A / np.sqrt(np.maximum(degree, 1))[:, None]
    x = Inputs(sharers, Basis.of(sharers), np.arange(n), n, sharers.labels)
    np.testing.assert_allclose(x.all_rows.toarray(), dense, rtol=1e-6)
    assert not x.rows.toarray()[:, 120:].any()  # accounts that share a device, no devices
    known = np.arange(n)[::-1] - 10  # ten nodes are new
    later = Inputs(sharers, x.basis, known, n, sharers.labels)
    wanted = np.zeros((n, n))
    wanted[:, known[known >= 0]] = dense[:, known >= 0]
    np.testing.assert_allclose(later.all_rows.toarray(), wanted, rtol=1e-6)


def test_what_is_shared_counts_by_how_many_share_it():
    """Films 0-3; directors 4 (of 0, 1) and 5 (of 2, 3); an actor 6 in all of them; 0 follows 3."""
    pairs = np.array([(0, 4), (1, 4), (2, 5), (3, 5), (0, 6), (1, 6), (2, 6), (3, 6), (0, 3)])
    types = ["directed by"] * 4 + ["with"] * 4 + ["follows"]
    graph = Graph.from_edges(
        *pairs.T, num_nodes=7, labels=[0, 0, 1, 1, -1, -1, -1], relation=types
    ).with_kinds(["film"] * 4 + ["director"] * 2 + ["actor"], described=[])
    W = np.full((4, 4), 1 / 4) + np.kron(np.eye(2), np.full((2, 2), 1 / 2))
    np.fill_diagonal(W, 0)
    W[0, 3] += 1
    W[3, 0] += 1
    x = Inputs(graph, Basis.of(graph), np.arange(7), 7, graph.labels)
    wanted = np.zeros((7, 7))
    wanted[:4, :4] = W / np.sqrt(W.sum(axis=1))[:, None]
    np.testing.assert_allclose(x.weighed_rows.toarray(), wanted, rtol=1e-6)
    np.testing.assert_array_equal(x.A.toarray(), wanted > 0)


def test_paths_lead_on_through_other_kinds():
    """Authors 0-1, papers 2-4, venues 5-6: an author's row holds papers, and venues through them,
    but neither other authors nor papers of the same venue; against a sum over paths."""
    pairs = np.array([(0, 2), (0, 3), (1, 3), (1, 4), (2, 5), (3, 5), (4, 6)])
    graph = Graph.from_edges(*pairs.T, num_nodes=7, labels=[0, 1, -1, -1, -1, -1, -1])
    graph = graph.with_kinds(["author"] * 2 + ["paper"] * 3 + ["venue"] * 2, described=[])
    x = Inputs(graph, Basis.of(graph), np.arange(7), 7, graph.labels)
    A = graph.adjacency.toarray()
    P = A / np.sqrt(A.sum(axis=1))[:, None]
    wanted = np.zeros((7, 7))
    for author in (0, 1):
        wanted[author] = P[author]
        for paper in (2, 3, 4):
            for venue in (5, 6):
                wanted[author, venue] += P[author, paper] * P[paper, venue]
    np.testing.assert_allclose(x.paths.toarray(), wanted, rtol=1e-6)
    assert entries_leading_on(graph) == 4


def test_authors_of_the_same_venues_are_told_by_them(tmp_path):
    """What decides sits two edges away, on nodes without a class: a graph of authors, papers and
    venues in which papers and co-authors say nothing."""
    rng = np.random.default_rng(0)
    n, m = 150, 450
    y = np.arange(n) % 3
    author = np.arange(m) % n
    theirs = np.where(rng.random(m) < 0.9, y[author], rng.integers(0, 3, m))
    venue = theirs + 3 * rng.integers(0, 2, m)
    source = np.concatenate([author, n + np.arange(m)])
    target = np.concatenate([n + np.arange(m), n + m + venue])
    hidden = np.where(np.arange(n) < 90, y, -1)
    labels = np.concatenate([hidden, np.full(m + 6, -1)])
    graph = Graph.from_edges(source, target, num_nodes=n + m + 6, labels=labels)
    kinds = ["author"] * n + ["paper"] * m + ["venue"] * 6
    graph = graph.with_kinds(kinds, described=[])
    model = CPGNNClassifier(budget="fast", seed=0).fit(graph)
    assert (model.predict()[90:n] == y[90:]).mean() > 0.85
    model.save(tmp_path / "model")
    again = CPGNNClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(graph), model.predict_proba(), atol=1e-6)


def test_a_prior_on_all_edges_is_fitted_explained_and_saved(sharers, tmp_path):
    model = CPGNNClassifier(budget="fast", seed=0).fit(sharers)
    assert {"ties", "shares"} <= {*model.model_.weights}
    said = model.model_.said(model.model_.inputs(model.scaler_(sharers)))
    parts = said.own_parts(np.arange(3))
    for i, pieces in enumerate(blend_pieces(said, np.arange(3), sharers.node_ids.to_numpy())):
        total = sum(piece.terms.sum(axis=0) for piece in pieces["ties"])
        np.testing.assert_allclose(total, parts["ties"][i], atol=1e-4)
        neighbours = sharers.node_ids[sharers.adjacency[[i]].indices]
        assert [*map(str, pieces["ties"][0].names)] == [*map(str, neighbours)]
    model.save(tmp_path / "model")
    again = CPGNNClassifier.load(tmp_path / "model")
    np.testing.assert_allclose(again.predict_proba(sharers), model.predict_proba(), atol=1e-6)
