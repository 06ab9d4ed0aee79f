"""The sentences: numbers of edges from `edge_frequency_`, and every kind of node."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from cpgnn import CPGNN, CPGNNClassifier, Graph, explain
from cpgnn.engine.formatting import whole_percent as percent
from cpgnn.errors import InputError
from cpgnn.explanation.sentences import PARTS, sentences
from toys import planted


class Known(torch.nn.Module):
    """A prior that is given: nearly certain of y."""

    kind, reach = "mlp", None

    def __init__(self, y: np.ndarray, c: int) -> None:
        super().__init__()
        self.num_classes = c
        self.R = torch.nn.functional.one_hot(torch.from_numpy(y), c) * 9.0

    def forward(self, graph):
        return self.R


def market(edges: list[tuple[int, int]], y: list[int]) -> Graph:
    source, target = zip(*edges, strict=True)
    return Graph.from_edges(
        source,
        target,
        num_nodes=len(y),
        labels=y,
        class_names=["buyer", "seller"],
        node_ids=[f"n{i}" for i in range(len(y))],
    )


OPPOSITES = np.array([[-0.4, 0.4], [0.4, -0.4]])


def test_neighbours_of_one_kind():
    """A seller of 14 buyers; five of them know somebody else."""
    y = [1] + [0] * 14 + [0] * 4 + [1]
    edges = [(0, i) for i in range(1, 15)] + [(1, 15), (2, 16), (3, 17), (4, 18), (5, 19)]
    made = explain(CPGNN(Known(np.array(y), 2), 1, H_bar=OPPOSITES), market(edges, y), ["n0"])
    # Buyers have 14 + 1 edges to sellers, and 4 to each other that count from both ends.
    F = np.array([[8 / 23, 15 / 23], [1, 0]])
    text = replace(made, edge_frequency=F, edge_share=np.array([23 / 38, 15 / 38])).words(0)
    assert "n0 is *seller*" in text
    assert "Its 14 neighbours look like *buyer*" in text
    assert "65 % of the edges of *buyer* nodes lead to *seller* (39 % of all edges do)" in text
    assert "Together they speak for *seller* rather than *buyer*" in text


def test_neighbours_of_a_kind_without_classes_look_like_none():
    """A card is not like a buyer because the first class is the first."""
    y = [1, 0, 0, 0, 0]
    graph = market([(0, i) for i in range(1, 5)], y)
    H = np.array([[-0.4, 0.4], [0.4, -0.4]])
    whole = explain(CPGNN(Known(np.array(y), 2), 1, H_bar=H), graph, ["n0"])
    graph = graph.with_labels([1, 0, 0, -1, -1], graph.class_names)
    kinds = graph.with_kinds(["account"] * 3 + ["card"] * 2)
    model = CPGNN(Known(np.array(y), 2), 1, H_bar=H)
    made = explain(model, kinds, ["n0"])
    assert made.looks_like.tolist() == [0, 0, -1, -1]
    np.testing.assert_allclose(made.total, whole.total)
    assert "2 of its 4 neighbours have no class of their own. Together they" in made.words(0)
    assert made.to_frame()["looks_like"].tolist()[2:] == [*["buyer"] * 4, *[None] * 4]
    assert [n["looks_like"] for n in made.to_dict()["nodes"][0]["neighbours"]][1:3] == [
        "buyer", None,
    ]  # fmt: skip
    assert explain(model, kinds).node_ids.tolist() == ["n0", "n1", "n2"]
    with pytest.raises(InputError, match=r"'n3' must be of the kind .* 'account'\. Got card"):
        explain(model, kinds, ["n0", "n3"])


def test_shares_of_a_weighted_graph_are_shares_of_the_weight():
    y = np.array([1, 0, 0, 0])
    graph = Graph.from_edges(
        [0, 0, 0, 1],
        [1, 2, 3, 2],
        weights=[5.0, 1.0, 1.0, 1.0],
        num_nodes=4,
        labels=y,
        class_names=["buyer", "seller"],
    )
    made = explain(CPGNN(Known(y, 2), 1, H_bar=OPPOSITES), graph, [0])
    # buyers: weight 7 to the seller and 1 to each other, seen from both ends; in all 16
    F = np.array([[2 / 9, 7 / 9], [1, 0]])
    text = replace(made, edge_frequency=F, edge_share=np.array([9, 7]) / 16).words(0)
    assert "78 % of the edge weight of *buyer* nodes leads to *seller*" in text
    assert "(44 % of all edge weight does)" in text


def test_neighbours_that_speak_against():
    y = np.array([1, 0, 0, 0, 1])
    graph = market([(0, 1), (0, 2), (0, 3), (0, 4)], y.tolist())
    text = explain(CPGNN(Known(y, 2), 1, H_bar=OPPOSITES), graph, ["n0"]).words(0)
    assert "3 of its 4 neighbours look like *buyer*" in text
    assert "1 of its 4 neighbours looks like *seller*" in text
    assert "It speaks against *seller* rather than *buyer* (-0.80)" in text  # 2 · 0.4, B = ±½


def test_without_its_neighbours_it_would_be_something_else():
    y = np.array([0, 0, 0, 0, 0])  # the prior takes node 0 for a buyer, its neighbours say seller
    graph = market([(0, 1), (0, 2), (0, 3), (0, 4)], y.tolist())
    text = explain(CPGNN(Known(y, 2), 1, H_bar=OPPOSITES), graph, ["n0"]).words(0)
    assert "By itself it looks like *buyer* (over 99 %): without its neighbours it would" in text
    assert "Its label is known: *buyer*; the model disagrees." in text


def test_an_isolated_node_and_a_prior_alone():
    y = np.array([1, 0, 1])
    graph = market([(0, 1)], y.tolist())
    model = CPGNN(Known(y, 2), 1, H_bar=OPPOSITES)
    assert "It has no neighbours, so its prior decides." in explain(model, graph, ["n2"]).words(0)
    assert "Its only neighbour looks like *buyer*" in explain(model, graph, ["n0"]).words(0)
    alone = explain(CPGNN(Known(y, 2), 0, H_bar=OPPOSITES), graph, ["n0"]).words(0)
    assert "The model uses its prior alone" in alone
    assert "neighbour" not in alone


def test_the_echo_of_the_node_itself():
    y = np.array([1, 0, 0])
    graph = market([(0, 1), (0, 2)], y.tolist())
    text = explain(CPGNN(Known(y, 2), 2, H_bar=OPPOSITES), graph, ["n0"]).words(0)
    # two walks of two steps, each (±½) H̄² = ±½ · 0.64: 2 · 0.64 in all
    assert "returned by its neighbours, speaks for *seller* (+1.28)" in text


def test_a_class_pair_without_evidence():
    y = np.array([1, 0])
    graph = market([(0, 1)], y.tolist())
    made = explain(CPGNN(Known(y, 2), 1, H_bar=OPPOSITES), graph, ["n0"])
    blank = replace(made, edge_frequency=np.full((2, 2), np.nan))
    assert "where the edges of *buyer* nodes lead is not known" in blank.words(0)
    assert "nan" not in blank.words(0)


@pytest.mark.parametrize(
    ("prior", "says"), [("cheby", "Chebyshev prior looks"), ("link", "LINK prior reads")]
)
def test_a_prior_that_uses_neighbours_says_so(prior, says):
    graph = planted(n=60)
    model = CPGNNClassifier(prior, 1, epochs=5, pretrain_epochs=2, hidden=4).fit(graph)
    assert says in explain(model, nodes=[0]).words(0)
    blind = CPGNNClassifier("mlp", 1, epochs=5, pretrain_epochs=2, hidden=4).fit(graph)
    assert "prior itself" not in explain(blind, nodes=[0]).words(0)


def test_what_the_label_was_used_for():
    graph = planted(n=60)
    model = CPGNNClassifier("mlp", 1, epochs=30, pretrain_epochs=20, hidden=16).fit(graph)
    v = int(model.split_.train[0])
    verdict = "agrees" if model.predict()[v] == f"c{graph.labels[v]}" else "disagrees"
    text = explain(model, nodes=[v]).words(0)
    assert f"*c{graph.labels[v]}* (used for training); the model {verdict}." in text


def test_shares_of_edges_are_not_the_doubly_stochastic_matrix():
    """Classes 95/5: few edges of the rare class lead to it, though the learned matrix says most."""
    rng = np.random.default_rng(0)
    n, rare = 1000, 50
    y = (np.arange(n) < rare).astype(int)
    u, v = rng.integers(0, n, (2, 4000))
    among = rng.integers(0, rare, (2, 60))
    u, v = np.concatenate([u, among[0]]), np.concatenate([v, among[1]])
    pairs = np.unique(np.sort(np.stack([u, v], axis=1)[u != v], axis=1), axis=0)
    graph = Graph.from_edges(
        pairs[:, 0],
        pairs[:, 1],
        num_nodes=n,
        features=2.5 * y[:, None] + rng.normal(size=(n, 3)),
        labels=y,
        class_names=["common", "rare"],
    )
    model = CPGNNClassifier("mlp", 1, epochs=60, pretrain_epochs=40, class_weight="balanced")
    model.fit(graph)
    assert model.num_layers_ == 1
    B = model.predict_proba()
    known = np.concatenate([model.split_.train, model.split_.val])
    B[known] = np.eye(2)[y[known]]
    C = B.T @ graph.adjacency.toarray() @ B
    F, everywhere = C / C.sum(axis=1, keepdims=True), C.sum(axis=0) / C.sum()
    assert F[1, 1] < 0.4
    assert model.compatibility_[1, 1] > 0.5, "the two matrices must tell different stories"
    made, seen = explain(model), 0
    for i in range(rare):
        text, best = made.words(i), made.predicted[i]
        lead = f"of the edges of *rare* nodes lead to *{made.class_names[best]}*"
        if lead in text:
            seen += 1
            assert f" {percent(F[1, best])} {lead} ({percent(everywhere[best])} of all" in text
            assert f" {percent(model.compatibility_[1, best])} {lead}" not in text
    assert seen > 10


def test_a_share_of_edges_is_given_only_where_it_is_the_reason():
    """ "over 99 % of the edges … (over 99 % of all edges do). They speak against it"."""
    graph = planted(n=60)
    model = CPGNNClassifier("mlp", 1, hidden=8, pretrain_epochs=5, epochs=5).fit(graph)
    made = explain(model, nodes=graph.node_ids[:1])
    best = made.predicted[0]
    shares = np.full((3, 3), 0.5)
    for usual, for_it, told in ((0.2, True, True), (0.2, False, False), (0.5, True, False)):
        of = replace(made, edge_frequency=shares, edge_share=np.full(3, usual))
        lift = np.zeros(3)
        lift[best] = 1.0 if for_it else -1.0
        of = replace(of, contributions=np.tile(lift, (len(of.contributions), 1)))
        words = " ".join(sentences(of, 0))
        assert ("of all edges do" in words) == told
        assert f"speak {'for' if for_it else 'against'}" in words


def test_the_own_part_rests_on_parts_that_speak_for_what_it_looks_like():
    """And what all nodes start from is told as that, also where it speaks against."""
    graph = planted(n=60, c=2)
    model = CPGNNClassifier("mlp", 1, hidden=8, pretrain_epochs=5, epochs=5).fit(graph)
    made = explain(model, nodes=graph.node_ids[:1])
    best, second = int(made.predicted[0]), int(made.runner_up[0])

    def told(**sizes):
        """Parts that say so much for the best class, before the runner-up."""
        parts = {name: np.zeros((1, 2)) for name in sizes}
        for name, size in sizes.items():
            parts[name][0, best] = size
        of = replace(made, parts=parts, prior=sum(parts.values()))
        return next(text for text in sentences(of, 0) if text.startswith("By itself"))

    text = told(base=0.67, trees=-1.16)
    assert f"By itself it looks like *{made.class_names[second]}*" in text
    assert f"That rests on {PARTS['trees']} (-1.16)" in text
    assert "; against it: what all nodes start from (+0.67)." in text
    text = told(mlp=0.3, trees=1.0, ppr=0.2)
    assert f"rests on {PARTS['trees']} (+1.00) and {PARTS['mlp']} (+0.30)." in text
    text = told(a=1.0, b=-2.0, c=-1.5, d=3.0)
    assert "rests on d (+3.00); against it: b (-2.00)." in text
    text = told(a=1.0, b=1.0, c=1.0, d=-2.0, e=-0.5)
    assert "rests on a (+1.00); against it: d (-2.00)." in text
