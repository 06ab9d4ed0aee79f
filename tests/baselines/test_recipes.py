"""Recipes against the appendix, and the rules against the public code's loops, written out."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest
import torch

from cpgnn.baselines import GCN, MODELS, REAL, SYNTHETIC, GraphSAGE, recipes, train_baseline
from cpgnn.baselines.fitting import LossAndAccuracy, RisingLoss
from cpgnn.engine.loop import Epoch
from cpgnn.engine.sparse import dropped
from cpgnn.errors import InputError
from cpgnn.graph import Graph
from cpgnn.splits import Split, stratified_split
from toys import planted, toy

EVERY = [recipe for lists in (REAL, SYNTHETIC) for recipes in lists.values() for recipe in recipes]


def test_the_lists_of_the_appendix() -> None:
    assert list(REAL) == list(MODELS)
    assert [r.patience for r in recipes("GCN")] == [40, 100, 200]
    assert [r.weight_decay for r in recipes("GCN-Cheby")] == [1e-5, 5e-4]
    assert {r.patience for r in recipes("GCN-Cheby")} == {40}
    assert [r.learning_rate for r in recipes("GraphSAGE")] == [0.1, 0.7]
    choices = {(r.settings["relu"], r.settings["dropout"]) for r in recipes("H2GCN")}
    assert choices == {(False, 0.0), (False, 0.5), (True, 0.0), (True, 0.5)}
    assert [len(recipes(name)) for name in ("MixHop", "GAT", "MLP")] == [1, 1, 1]
    assert recipes("MLP", synthetic=True)[0].settings["dropout"] == 0.5
    with pytest.raises(InputError, match=r"must be one of GraphSAGE.*Got 'H2GCN'"):
        recipes("H2GCN", synthetic=True)


@pytest.mark.parametrize("recipe", EVERY, ids=lambda r: f"{r.method} {r.label}")
def test_every_recipe_trains_and_can_be_written_down(recipe) -> None:
    graph = planted(n=50)
    split = stratified_split(graph.labels, validation=0.3, test=0.2)
    model = recipe.build(graph, seed=1)
    record = train_baseline(model, graph, split, recipe.but(epochs=3), seed=1)
    assert [epoch.epoch for epoch in record.epochs] == [1, 2, 3]
    assert record.kept is not None
    assert not model.training
    assert json.loads(json.dumps(asdict(recipe)))["method"] == recipe.method
    names = {name.split(".")[0] for name, _ in model.named_parameters()}
    assert set(recipe.decayed or ()) <= names


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": 0}, "'epochs' must be at least 1. Got 0."),
        ({"patience": -1}, "'patience' must be at least 0. Got -1."),
        ({"batch_size": 2.5}, "'batch_size' must be a whole number. Got 2.5."),
        ({"learning_rate": -1.0}, "'learning_rate' must be a number of at least 1e-12. Got -1.0."),
        ({"weight_decay": "little"}, "'weight_decay' must be a number of at least 0."),
        ({"optimizer": "adamw"}, "'optimizer' must be 'adam' or 'sgd'. Got 'adamw'."),
        ({"stop": "soon"}, "'stop' must be 'never', 'rising loss'"),
        ({"keep": "x"}, "'keep' must be 'best', 'last'"),
        ({"feature_scaling": "x"}, "'feature_scaling' must be 'auto'"),
        ({"momentum": 0.9}, "A setting must be one of .* Got 'momentum'."),
    ],
)
def test_a_recipe_that_cannot_be_followed(change: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        recipes("GCN")[0].but(**change)


def test_what_a_recipe_asks_of_its_model() -> None:
    graph = planted(n=50)
    split = stratified_split(graph.labels, validation=0.3, test=0.2)
    recipe = recipes("GCN")[0].but(method="mine", decayed=("W_9",))
    with pytest.raises(InputError, match=r"'method' must be one of H2GCN, .* Got mine."):
        recipe.build(graph)
    with pytest.raises(InputError, match=r"'decayed' must name weights: W_1, W_2. Got 'W_9'."):
        train_baseline(GCN(graph), graph, split, recipe)
    with pytest.raises(InputError, match=r"The model must have weights to train. Got Identity."):
        train_baseline(torch.nn.Identity(), graph, split, recipe)


class OnGraphs(torch.nn.Module):
    """A model that knows graphs, not views of them, like one written elsewhere."""

    def __init__(self, inner: torch.nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, graph: Graph) -> torch.Tensor:
        assert isinstance(graph, Graph)
        return self.inner(graph)


@pytest.mark.parametrize("method", ["GCN", "GraphSAGE", "MLP"])
def test_a_model_of_anybody_trains_like_ours(method: str) -> None:
    graph = planted(n=80)
    split = stratified_split(graph.labels, validation=0.3, test=0.2)
    recipe = recipes(method)[0].but(epochs=20, decayed=None)
    ours, theirs = recipe.build(graph), OnGraphs(recipe.build(graph))
    records = [train_baseline(model, graph, split, recipe) for model in (ours, theirs)]
    assert records[0].kept is not None
    assert records[1].kept is not None
    assert records[0].kept.epoch == records[1].kept.epoch
    with torch.no_grad():
        torch.testing.assert_close(theirs(graph), ours(graph), rtol=1e-3, atol=1e-4)


def epoch(number: int, score: float) -> Epoch:
    return Epoch(1, number, 0.0, 0.0, score)


def test_rising_loss_stops_where_the_public_gcn_does() -> None:
    rng = np.random.default_rng(0)
    for window in (3, 10):
        cost = np.cumsum(rng.normal(-0.2, 1.0, 200))
        stops = next(
            i
            for i in range(200)
            if i > window and cost[i] > np.mean(cost[: i + 1][-window - 1 : -1])
        )
        rule = RisingLoss(window, lambda: 0.25)
        asked = [
            rule(epoch(i + 1, 0.0), lambda loss=cost[i]: loss - 0.25) for i in range(stops + 1)
        ]
        assert asked == [False] * stops + [True]


def test_loss_and_accuracy_keep_and_stop_as_the_public_gat_does() -> None:
    rng = np.random.default_rng(1)
    scores, losses = rng.integers(0, 8, 300) / 8, rng.random(300).round(2)
    best_score, best_loss, waited, kept, stopped = 0.0, np.inf, 0, -1, -1
    for i in range(300):
        if scores[i] >= best_score or losses[i] <= best_loss:
            if scores[i] >= best_score and losses[i] <= best_loss:
                kept = i + 1
            best_score, best_loss = max(best_score, scores[i]), min(best_loss, losses[i])
            waited = 0
        else:
            waited += 1
            if waited == 20:
                stopped = i + 1
                break
    rule = LossAndAccuracy(20)
    ours = -1
    for i in range(300):
        if rule.keep(epoch(i + 1, scores[i]), lambda: losses[i]):  # noqa: B023
            ours = i + 1
        if rule.stop(epoch(i + 1, scores[i]), lambda: losses[i]):  # noqa: B023
            break
    assert stopped > 0
    assert (ours, i + 1) == (kept, stopped)


def test_gcn_reports_the_weights_it_stops_with() -> None:
    graph = planted(n=60, num_features=None)
    split = stratified_split(graph.labels, validation=0.3, test=0.2)
    recipe = recipes("GCN")[0].but(patience=3)
    model = recipe.build(graph)
    record = train_baseline(model, graph, split, recipe)
    assert record.kept == record.epochs[-1]
    assert len(record.epochs) < recipe.epochs
    with torch.no_grad():
        predicted = model(graph).argmax(dim=1).numpy()
    assert (predicted == graph.labels)[split.val].mean() == pytest.approx(record.kept.score)


def test_the_best_epoch_is_kept_and_of_equals_the_latest() -> None:
    graph = planted(n=60)
    split = stratified_split(graph.labels, validation=0.3, test=0.2)
    model = GraphSAGE(graph)
    record = train_baseline(model, graph, split, recipes("GraphSAGE")[0].but(epochs=60))
    top = max(epoch.score for epoch in record.epochs)
    assert record.kept == [epoch for epoch in record.epochs if epoch.score == top][-1]


def test_weight_decay_is_l2_on_the_first_layer_alone() -> None:
    graph = toy(0, 10).graph
    split = Split(np.arange(6), np.empty(0, dtype=np.int64), np.arange(6, 10))
    recipe = recipes("GCN")[0].but(optimizer="sgd", learning_rate=0.1, weight_decay=0.3, epochs=1)
    model, by_hand = GCN(graph, dropout=0.0), GCN(graph, dropout=0.0)
    train_baseline(model, graph, split, recipe)
    y = torch.from_numpy(graph.labels)
    loss = torch.nn.functional.cross_entropy(by_hand(graph)[:6], y[:6])
    (loss + 0.3 / 2 * by_hand.W_1.square().sum()).backward()
    for ours, theirs in zip(model.parameters(), by_hand.parameters(), strict=True):
        torch.testing.assert_close(ours, theirs - 0.1 * theirs.grad)


def test_a_batch_leaves_most_training_nodes_out() -> None:
    # Featureless without edges, a node's own row of W_1 moves only if the node is in the batch.
    graph = toy(0, 40, density=0.0, num_features=None).graph
    split = Split(np.arange(30), np.arange(30, 40), np.empty(0, dtype=np.int64))
    recipe = recipes("GraphSAGE")[0].but(batch_size=5, epochs=1)
    model, before = GraphSAGE(graph), GraphSAGE(graph).W_1
    train_baseline(model, graph, split, recipe)
    moved = (before != model.W_1).any(dim=1).nonzero().ravel()
    assert 0 < len(moved) <= 5
    assert moved.max() < 30


def test_the_learning_rate_of_mixhop() -> None:
    expected, rate = [], 0.5
    for i in range(130):  # the public loop
        expected.append(rate)
        if i > 0 and i % 40 == 0:
            rate -= 0.01 * 0.5
    rates: list[float] = []

    class Spy(torch.optim.SGD):
        def step(self, *args, **kwargs):
            rates.append(self.param_groups[0]["lr"])
            return super().step(*args, **kwargs)

    graph = planted(n=40)
    split = stratified_split(graph.labels, validation=0.3)
    recipe = recipes("MixHop")[0].but(epochs=130, stop="never")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.optim, "SGD", Spy)
        train_baseline(recipe.build(graph), graph, split, recipe)
    assert rates == pytest.approx(expected)


@pytest.mark.parametrize("p", [0.1, 0.5, 0.6, 0.9])
def test_dropout_has_its_rate_and_keeps_the_mean(p: float) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        values = dropped(torch.ones(200_001), p)
    assert values.unique().tolist() == pytest.approx([0, 1 / (1 - p)])
    assert float((values == 0).double().mean()) == pytest.approx(p, abs=0.005)
    parts = (values[:200_000] > 0).view(-1, 4).T.double().numpy()  # of one random word each
    assert np.abs(np.corrcoef(parts) - np.eye(4)).max() < 0.02


@pytest.mark.parametrize(("num_features", "sparse"), [(None, False), (4, False), (4, True)])
def test_dropped_features_have_the_gradient_of_what_was_left(num_features, sparse) -> None:
    example = toy(0, 9, num_features=num_features, sparse=sparse)
    W = torch.randn(example.X.shape[1], 3, generator=torch.Generator().manual_seed(0))
    W.requires_grad_()
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(1)
        X = example.graph.view().dropped_features(0.5)
    left = X @ torch.eye(len(W))
    whole = torch.from_numpy(example.X).float()
    assert ((left == 0) | torch.isclose(left, 2 * whole)).all()
    G = torch.randn(9, 3, generator=torch.Generator().manual_seed(2))
    (grad,) = torch.autograd.grad(X @ W, W, G)
    torch.testing.assert_close(grad, left.T @ G)
