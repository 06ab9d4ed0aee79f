"""The three phases against a dense trainer that writes Adam out, and the rules of the loop."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from cpgnn.compatibility import initial_H_bar, sinkhorn_knopp
from cpgnn.engine import views
from cpgnn.engine.distant import estimate_from_few
from cpgnn.engine.initial import estimated_compatibility, initial_source
from cpgnn.engine.loop import Epoch, Patience
from cpgnn.engine.scores import accuracy
from cpgnn.engine.target import Target
from cpgnn.errors import BeliefOverflowError, InputError, NumericalNotice
from cpgnn.graph import Graph
from cpgnn.model import CPGNN, Architecture
from cpgnn.priors import MLPPrior
from cpgnn.settings import ABLATIONS, Settings, preset
from cpgnn.splits import Split, stratified_split
from cpgnn.training import train
from toys import Toy, array, planted, softmax, toy

NOBODY = np.empty(0, dtype=np.int64)
SHORT = Settings(pretrain_epochs=12, epochs=15, patience=None)


def model_for(graph: Graph, K: int = 1, *, seed: int = 0, dropout: float = 0.0, **rest) -> CPGNN:
    return CPGNN(MLPPrior(graph, hidden=8, dropout=dropout, seed=seed), K, **rest)


def phi(H_bar):
    """Σ|row sums|, where a sum that is 0 but for rounding has no gradient."""
    sums = H_bar.sum(dim=1)
    return sums[sums.abs() > 1e-10].abs().sum()


def weights_of(model: nn.Module) -> list[Tensor]:
    return [p.detach().clone() for p in model.parameters()]


def same(one: nn.Module, other: nn.Module) -> bool:
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


# -- the whole of training, written a second time ----------------------------------------


@dataclass
class Adam:
    """Adam with one count of steps for all weights, as in TensorFlow; moments start when asked."""

    rate: float = 0.01
    eps: float = 1e-7
    t: int = 0
    m: dict[str, Tensor] = field(default_factory=dict)
    v: dict[str, Tensor] = field(default_factory=dict)

    def step(self, weights: dict[str, Tensor], gradients: dict[str, Tensor]) -> None:
        self.t += 1
        for name, g in gradients.items():
            self.m[name] = 0.9 * self.m.get(name, 0) + 0.1 * g
            self.v[name] = 0.999 * self.v.get(name, 0) + 0.001 * g**2
            m_hat = self.m[name] / (1 - 0.9**self.t)
            v_hat = self.v[name] / (1 - 0.999**self.t)
            weights[name] = weights[name] - self.rate * m_hat / (v_hat.sqrt() + self.eps)

    def copy(self) -> Adam:
        return Adam(self.rate, self.eps, self.t, dict(self.m), dict(self.v))


class Reference:
    """CPGNN-MLP on dense float64 tensors: phases, selection and restart by the letter."""

    def __init__(self, toy: Toy, split: Split, settings: Settings, K: int, model: CPGNN):
        self.toy, self.split, self.settings, self.K = toy, split, settings, K
        self.A, self.X = torch.from_numpy(toy.A), torch.from_numpy(toy.X)
        self.y = torch.from_numpy(toy.y)
        self.w = {name: getattr(model.prior, name).detach().clone() for name in ("W_1", "W_2")}
        self.adam = Adam()
        self.kept = None  # (phase, epoch, score, weights)
        self.H_hat = None
        balance = np.ones(toy.c)
        if settings.class_weight == "balanced":
            for c in range(toy.c):
                of_class = (toy.y[split.train] == c).sum()
                present = len(set(toy.y[split.train]))
                balance[c] = len(split.train) / (present * max(of_class, 1))
        self.balance = torch.from_numpy(balance)

    def prior(self, w):
        return torch.relu(self.X @ w["W_1"]) @ w["W_2"]

    def logits(self, w, phase):
        R = self.prior(w)
        if phase == 1:
            return R
        B_0 = torch.softmax(R, dim=1) - 1 / self.toy.c
        B = B_0
        for _ in range(self.K):
            B = B_0 + self.A @ B @ w["H"]
        return B + 1 / self.toy.c

    def score(self, phase):
        val = self.split.val
        if not len(val):
            return 0.0
        return float((self.logits(self.w, phase)[val].argmax(1) == self.y[val]).double().mean())

    def update(self, phase):
        w = {name: value.clone().requires_grad_() for name, value in self.w.items()}
        train, s = self.split.train, self.settings
        twice = s.regularizer_factor if phase == 2 else 1.0
        loss = cross_entropy(self.logits(w, phase)[train], self.y[train], self.balance)
        decay = s.prior_weight_decay * (w["W_1"].square().sum() + w["W_2"].square().sum())
        loss = loss + twice * decay
        if phase == 2:
            loss = loss + twice * s.centering_weight * phi(w["H"])
        loss.backward()
        names = ["W_1", "W_2"] + (["H"] if phase == 2 else [])
        self.adam.step(self.w, {name: w[name].grad for name in names})

    def offer(self, phase, epoch):
        if not len(self.split.val):
            return
        score = self.score(phase)
        if (
            self.kept is None
            or score > self.kept[2]
            or (phase == 1 and score == self.kept[2])  # ties: later in phase 1, never in phase 2
        ):
            self.kept = (phase, epoch, score, dict(self.w), self.adam.copy())

    def estimate(self):
        y, train, c = self.toy.y, self.split.train, self.toy.c
        B = softmax(self.prior(self.w).numpy())
        B[train] = np.eye(c)[y[train]]
        heard = self.toy.A[train] @ B
        if self.settings.weighting == "node":
            heard = heard / np.where(heard.sum(axis=1) > 0, heard.sum(axis=1), 1)[:, None]
        C = np.eye(c)[y[train]].T @ heard
        return sinkhorn_knopp(C / C.sum(axis=1, keepdims=True)).matrix

    def run(self, H_hat):
        """Φ has its kink at H̄₀, whose rows sum to 0 but for rounding: start from the same bits."""
        s = self.settings
        for epoch in range(1, s.pretrain_epochs + 1):
            self.update(1)
            self.offer(1, epoch)
        if self.kept is None and s.pretrain_epochs:  # no validation nodes: the last epoch
            self.kept = (1, epoch, 0.0, dict(self.w), self.adam.copy())
        back = s.restart == "best" or (s.restart != "never" and self.toy.graph.features is not None)
        if self.kept is not None and back:
            self.w, self.adam = dict(self.kept[3]), self.kept[4].copy()
        self.H_hat = self.estimate()
        self.w["H"] = torch.from_numpy(initial_H_bar(H_hat))
        best_in_phase, since = -1.0, 0
        for epoch in range(1, s.epochs + 1):
            self.update(2)
            self.offer(2, epoch)
            if self.score(2) > best_in_phase:
                best_in_phase, since = self.score(2), epoch
            if s.patience is not None and len(self.split.val) and epoch - since >= s.patience:
                break
        self.last = epoch
        if not len(self.split.val):
            self.kept = (2, epoch, 0.0, dict(self.w), self.adam)
        return self


VARIANTS = {
    "paper": preset("paper"),
    "authors": preset("authors"),
    "default": preset("default").but(patience=4),
    "no Φ": preset("paper").but(**ABLATIONS["no regularization"]),
    "no pretraining": preset("paper").but(pretrain_epochs=0),
    "balanced": preset("paper").but(class_weight="balanced"),
    "strong decay": preset("authors").but(prior_weight_decay=0.05),
}


@pytest.mark.parametrize("num_val", [0, 7])
@pytest.mark.parametrize("num_features", [None, 4])
@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("variant", VARIANTS)
def test_against_the_dense_trainer(variant, K, num_features, num_val):
    settings = VARIANTS[variant]
    settings = settings.but(pretrain_epochs=min(settings.pretrain_epochs, 9), epochs=11)
    for seed in range(3):
        small = toy(
            seed, n=24, density=0.2, weighted=seed == 1, num_features=num_features, isolated=2
        )
        split = small.split(8, num_val)
        model = CPGNN(MLPPrior(small.graph, hidden=4, seed=seed), K).double()
        reference = Reference(small, split, settings, K, model)
        record = train(model, small.graph, split, settings)
        reference.run(record.initial_compatibility)
        phase, epoch, score, w, _ = reference.kept
        assert (record.kept.phase, record.kept.epoch) == (phase, epoch)
        assert record.kept.score == pytest.approx(score)
        assert record.epochs[-1].epoch == reference.last
        if record.initial_from == "beliefs":  # paths have tests of their own
            np.testing.assert_allclose(record.initial_compatibility, reference.H_hat, atol=1e-9)
        for name in ("W_1", "W_2"):
            np.testing.assert_allclose(array(getattr(model.prior, name)), array(w[name]), atol=1e-7)
        if phase == 2:
            np.testing.assert_allclose(array(model.H_bar), array(w["H"]), atol=1e-7)
        assert record.num_layers == (K if phase == 2 else 0)


def test_first_update_of_H_counts_adams_steps_from_the_start():
    """H̄ -= lr · m̂/(√v̂ + ε), m̂ = m/(1-β₁ᵗ), v̂ = v/(1-β₂ᵗ), with the t of the whole run."""
    small = toy(5, n=30, density=0.2)
    split = Split(np.arange(12), np.empty(0, dtype=np.int64), np.arange(12, 30))
    pre, lr = 20, 0.01
    start = model_for(small.graph).double()
    settings = SHORT.but(pretrain_epochs=pre, epochs=0)
    train(start, small.graph, split, settings)
    target = Target.of(start.view(small.graph), split)
    loss = target.loss(start(target.view)) + phi(start.H_bar)
    (g,) = torch.autograd.grad(loss, [start.H_bar])

    moved = model_for(small.graph).double()
    train(moved, small.graph, split, settings.but(epochs=1))
    t = pre + 1
    m, v = 0.1 * g / (1 - 0.9**t), 0.001 * g**2 / (1 - 0.999**t)
    expected = -lr * m / (v.sqrt() + 1e-7)
    step = moved.H_bar - start.H_bar
    np.testing.assert_allclose(array(step), array(expected), rtol=1e-6)
    assert step.abs().max() < 0.6 * lr  # with a count of its own it would be lr


# -- the receptive field ----------------------------------------


@pytest.mark.parametrize("K", [1, 2])
@pytest.mark.parametrize("prior", ["mlp", "cheby", "link"])
def test_fifty_epochs_on_the_field_are_fifty_epochs_on_the_graph(prior, K, monkeypatch):
    graph = toy(4, n=80, density=0.02, num_features=5, c=2).graph
    split = Split(np.arange(10), np.arange(10, 16), np.arange(16, 80))
    results = []
    for saturated in (1.0, 0.0):
        monkeypatch.setattr(views, "SATURATED", saturated)
        model = Architecture(prior, K, hidden=6).build(graph).double()
        fields = graph.view(dtype=torch.float64).of(np.arange(16)).wider
        assert (fields.nodes is None) == (saturated == 0.0)
        settings = Settings(pretrain_epochs=10, epochs=50, patience=None)
        record = train(model, graph, split, settings)
        results.append((record, weights_of(model)))
    (field, ours), (whole, theirs) = results
    assert field.kept.epoch == whole.kept.epoch
    assert len(field.epochs) == 60
    for a, b in zip(field.epochs, whole.epochs, strict=True):
        assert a.loss == pytest.approx(b.loss, abs=1e-6)
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(array(a), array(b), atol=1e-6)


# -- repeatability ----------------------------------------


@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_the_same_seed_gives_the_same_bits(dropout):
    graph = planted(n=60)
    split = stratified_split(graph.labels, test=0.5)
    runs = []
    for noise in (1, 2):
        torch.manual_seed(noise)  # what happened before must not matter
        model = model_for(graph, dropout=dropout)
        record = train(model, graph, split, SHORT, seed=7)
        runs.append((model, record))
    assert same(runs[0][0], runs[1][0])
    assert runs[0][1].epochs == runs[1][1].epochs


def test_another_seed_gives_other_weights():
    graph = planted(n=60)
    split = stratified_split(graph.labels, test=0.5)
    one, other, third = (model_for(graph, seed=s, dropout=0.5) for s in (0, 0, 1))
    for model, seed in ((one, 0), (other, 1), (third, 0)):
        train(model, graph, split, SHORT, seed=seed)
    assert not same(one, other)  # other masks
    assert not same(one, third)  # other first weights


def test_the_callers_random_numbers_are_untouched():
    graph = planted(n=40)
    split = stratified_split(graph.labels)
    before, numpy_before = torch.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    train(model_for(graph, dropout=0.5), graph, split, SHORT.but(init_H="glorot"))
    assert torch.equal(torch.get_rng_state(), before)
    np.testing.assert_array_equal(np.random.get_state()[1], numpy_before)  # noqa: NPY002
    with pytest.raises(BeliefOverflowError):  # also when training fails
        train(model_for(graph), graph.with_features(graph.features * 1e30), split, SHORT)
    assert torch.equal(torch.get_rng_state(), before)


# -- which epoch is kept ----------------------------------------


@pytest.mark.parametrize("dropout", [0.0, 0.5])
@pytest.mark.parametrize("select_by", ["accuracy", "macro_f1", "average_precision"])
def test_the_kept_weights_have_the_kept_score_and_none_is_better(select_by, dropout):
    from cpgnn.engine.scores import validation_score

    graph = planted(n=120, signal=0.5)
    split = stratified_split(graph.labels, test=0.6)
    model = model_for(graph, dropout=dropout)
    record = train(model, graph, split, SHORT.but(epochs=40, select_by=select_by))
    assert not model.training
    model.num_layers = record.num_layers
    with torch.no_grad():
        logits = model(graph)
        assert torch.equal(logits, model(graph))
    score = validation_score(select_by)(
        logits[split.val], torch.from_numpy(graph.labels)[split.val]
    )
    assert score == pytest.approx(record.kept.score, abs=1e-6)
    assert record.kept.score == max(epoch.score for epoch in record.epochs)
    assert record.kept in record.epochs


def test_when_the_prior_cannot_be_beaten_the_model_is_the_prior():
    """Validation is perfect in phase 1; a tie does not count as better."""
    graph = planted(n=90, signal=6.0)
    split = stratified_split(graph.labels, test=0.5)
    model = model_for(graph, K=2)
    record = train(model, graph, split, SHORT.but(pretrain_epochs=60))
    assert record.kept.score == 1.0
    assert record.phase == record.kept.phase == 1
    assert record.kept.epoch == 60  # among equals, the last of phase 1
    assert record.num_layers == 0
    assert model.num_layers == 2  # the caller decides what to make of it
    model.num_layers = record.num_layers
    assert torch.equal(model(graph), model.prior(graph))
    assert record.initial_compatibility is not None


def test_without_validation_nodes_the_last_epoch_is_kept():
    graph = planted(n=40)
    everything = Split(np.arange(40), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    for select_by in ("accuracy", "macro_f1", "average_precision"):
        model = model_for(graph)
        settings = Settings(pretrain_epochs=5, epochs=30, patience=3, select_by=select_by)
        record = train(model, graph, everything, settings)
        assert (record.kept.phase, record.kept.epoch) == (2, 30)  # patience has nothing to judge
        assert record.kept == record.epochs[-1]
        assert record.num_layers == 1


def test_patience_waits_until_propagation_had_its_turn():
    """Nothing improves after phase 1, and still phase 2 gets its epochs."""
    graph = planted(n=90, signal=6.0)
    split = stratified_split(graph.labels, test=0.5)
    for pretrain in (5, 60):
        record = train(
            model_for(graph),
            graph,
            split,
            Settings(pretrain_epochs=pretrain, epochs=50, patience=7),
        )
        phases = [epoch.phase for epoch in record.epochs]
        assert phases.count(1) == pretrain
        second = [epoch for epoch in record.epochs if epoch.phase == 2]
        scores = [epoch.score for epoch in second]
        first_best = second[int(np.argmax(scores))].epoch
        assert second[-1].epoch == min(first_best + 7, 50)
        assert len(second) > 7


def test_patience_by_hand():
    patience = Patience(2)
    scores = [0.5, 0.5, 0.7, 0.6, 0.7, 0.9]
    stops = [patience(Epoch(2, i, 0.0, 0.0, s), lambda: 0.0) for i, s in enumerate(scores, 1)]
    assert stops == [False, False, False, False, True, False]


def test_scores_that_do_not_exist_are_refused():
    """Average precision without one positive validation node would keep the first epoch."""
    graph = planted(n=40, c=2)
    negative = np.flatnonzero(graph.labels == 0)
    split = Split(
        np.concatenate([negative[4:], np.flatnonzero(graph.labels == 1)]),
        negative[:4],
        np.empty(0, dtype=np.int64),
    )
    with pytest.raises(InputError, match="average_precision"):
        train(model_for(graph), graph, split, SHORT.but(select_by="average_precision"))
    train(model_for(graph), graph, split, SHORT)


# -- ablations ----------------------------------------


@pytest.fixture(scope="module")
def graph() -> Graph:
    return planted(n=80, signal=0.7)


@pytest.fixture(scope="module")
def split(graph) -> Split:
    return stratified_split(graph.labels, test=0.5)


def test_after_init_is_the_best_prior_and_the_first_matrix(graph, split):
    model = model_for(graph)
    record = train(model, graph, split, SHORT.but(**ABLATIONS["after init"]))
    prior_only = model_for(graph, K=0)
    first = train(prior_only, graph, split, SHORT.but(epochs=0))
    assert same(model.prior, prior_only.prior)
    assert (record.kept.phase, record.kept.epoch) == (2, 0)
    assert first.kept.phase == 1
    assert record.num_layers == 1
    np.testing.assert_allclose(
        array(model.H_bar), initial_H_bar(record.initial_compatibility), atol=1e-7
    )
    with torch.no_grad():
        score = accuracy(model(graph)[split.val], torch.from_numpy(graph.labels)[split.val])
    assert record.kept.score == score


def test_no_pretraining_estimates_from_the_untrained_prior(graph, split):
    fresh = model_for(graph)
    expected = estimated_compatibility(fresh, graph, split, SHORT)
    model = model_for(graph)
    record = train(model, graph, split, SHORT.but(pretrain_epochs=0))
    assert {epoch.phase for epoch in record.epochs} == {2}
    np.testing.assert_allclose(record.initial_compatibility, expected, atol=1e-12)
    assert record.kept.phase == 2


def test_no_init_starts_from_a_random_matrix(graph, split):
    settings = SHORT.but(**ABLATIONS["no init"], epochs=0)
    matrices = []
    for seed in (0, 0, 1):
        model = model_for(graph)
        record = train(model, graph, split, settings, seed=seed)
        assert record.initial_compatibility is None
        matrices.append(array(model.H_bar))
    bound = 1.0  # √(6 / (3 + 3))
    assert np.abs(matrices[0]).max() <= bound
    assert np.abs(matrices[0] - matrices[0].T).max() > 0.1
    assert np.abs(matrices[0].sum(axis=1)).max() > 0.1
    np.testing.assert_array_equal(matrices[0], matrices[1])
    assert (matrices[0] != matrices[2]).any()


def test_phi_keeps_the_rows_of_H_centred(graph, split):
    drift = {}
    for eta in (0.0, 1.0):
        model = model_for(graph)
        everything = Split(
            np.concatenate([split.train, split.val]), np.empty(0, dtype=np.int64), split.test
        )
        train(model, graph, everything, SHORT.but(epochs=60, centering_weight=eta))
        drift[eta] = np.abs(array(model.H_bar).sum(axis=1)).sum()
    assert drift[1.0] < 0.1
    assert drift[0.0] > 3 * drift[1.0]


@pytest.mark.parametrize("name", ABLATIONS)
def test_every_ablation_is_a_setting(name, graph, split):
    budget = {"pretrain_epochs": 4, "epochs": 5}
    changes = {k: min(v, budget[k]) if k in budget else v for k, v in ABLATIONS[name].items()}
    record = train(model_for(graph), graph, split, SHORT.but(**budget).but(**changes))
    assert np.isfinite([epoch.loss for epoch in record.epochs]).all()


# -- other priors, other matrices ----------------------------------------


def test_a_given_matrix_stays_when_frozen(graph, split):
    H_bar = initial_H_bar(np.array([[0.1, 0.6, 0.3], [0.6, 0.2, 0.2], [0.3, 0.2, 0.5]]))
    model = model_for(graph, H_bar=H_bar, train_H=False)
    before = weights_of(model.prior)
    record = train(model, graph, split, SHORT)
    np.testing.assert_array_equal(array(model.H_bar), H_bar.astype(np.float32))
    assert record.initial_compatibility is None
    assert not torch.equal(before[0], model.prior.W_1)


def test_a_given_matrix_is_where_training_starts(graph, split):
    H_bar = np.diag([0.5, 0.25, -0.75])
    model = model_for(graph, H_bar=H_bar)
    train(model, graph, split, SHORT.but(epochs=0))
    np.testing.assert_array_equal(array(model.H_bar), H_bar)
    trained = model_for(graph, H_bar=H_bar)
    everything = Split(split.train, np.empty(0, dtype=np.int64), split.test)
    train(trained, graph, everything, SHORT)
    assert 0.01 < np.abs(array(trained.H_bar) - H_bar).max() < 1.0


class Linear(nn.Module):
    """A prior of somebody else: takes a Graph, has a bias, knows nothing of views."""

    def __init__(self, graph: Graph) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.layer = nn.Linear(graph.num_features, graph.num_classes)
        self.calls = 0

    def forward(self, graph: Graph) -> Tensor:
        self.calls += 1
        return self.layer(torch.from_numpy(graph.features))


def test_any_module_is_trained_as_a_prior(graph, split):
    model = CPGNN(Linear(graph), 1, num_classes=graph.num_classes)
    before = weights_of(model)
    record = train(model, graph, split, SHORT.but(epochs=60))
    losses = [epoch.loss for epoch in record.epochs if epoch.phase == 2]
    assert losses[-1] < losses[0]
    assert all(not torch.equal(a, b) for a, b in zip(before, weights_of(model), strict=True))


def test_a_prior_without_weights_can_be_propagated(graph, split):
    class Fixed(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            rng = np.random.default_rng(0)
            noise = rng.normal(size=(graph.num_nodes, 3)) + np.eye(3)[graph.labels]
            self.register_buffer("R", torch.from_numpy(noise).float())

        def forward(self, graph):
            return self.R

    model = CPGNN(Fixed(), 1, num_classes=3)
    record = train(model, graph, split, SHORT)
    assert {epoch.phase for epoch in record.epochs} == {2}
    assert model.H_bar.abs().max() > 0


def test_one_pass_an_epoch_without_dropout_and_two_with_it(graph, split):
    class Noisy(Linear):
        def forward(self, graph):
            return nn.functional.dropout(super().forward(graph), 0.5, self.training)

    for make, passes in ((Linear, 1), (Noisy, 2)):
        calls = []
        for epochs in (10, 20):
            model = CPGNN(make(graph), 1, num_classes=3)
            train(model, graph, split, SHORT.but(epochs=epochs))
            calls.append(model.prior.calls)
        assert calls[1] - calls[0] == 10 * passes


def test_batch_statistics_are_those_of_the_updates(graph, split):
    """Looking whether the mode matters must not leave a trace in the buffers."""

    class Normed(Linear):
        def __init__(self, graph):
            super().__init__(graph)
            self.norm = nn.BatchNorm1d(graph.num_classes)

        def forward(self, graph):
            return self.norm(super().forward(graph))

    model = CPGNN(Normed(graph), 0, num_classes=3)
    everything = Split(split.train, np.empty(0, dtype=np.int64), split.test)
    train(model, graph, everything, SHORT.but(pretrain_epochs=5, epochs=0))
    assert int(model.prior.norm.num_batches_tracked) <= 6


def test_an_observer_sees_every_epoch_once(graph, split):
    seen = []
    record = train(model_for(graph), graph, split, SHORT, observe=seen.append)
    assert seen == record.epochs
    assert [(e.phase, e.epoch) for e in seen] == [(1, i) for i in range(1, 13)] + [
        (2, i) for i in range(1, 16)
    ]


def test_labels_of_training_nodes_must_be_known(graph):
    hidden = graph.with_labels(np.where(np.arange(80) == 3, -1, graph.labels), graph.class_names)
    split = Split(np.arange(10), np.arange(10, 20), np.arange(20, 80))
    with pytest.raises(InputError, match=r"nodes must be labelled\. Got node 3\."):
        train(model_for(graph), hidden, split, SHORT)


def test_nodes_of_a_split_must_be_nodes_of_the_graph(graph):
    with pytest.raises(InputError, match=r"below the number of nodes \(80\)\. Got 80"):
        train(model_for(graph), graph, Split(np.arange(9), np.array([80]), np.array([11])), SHORT)


# -- numbers stay finite ----------------------------------------


def assert_finite(model: CPGNN, graph: Graph) -> None:
    with torch.no_grad():
        assert torch.isfinite(model(graph)).all()
    assert all(torch.isfinite(p).all() for p in model.parameters())


@pytest.mark.parametrize("prior", ["mlp", "cheby", "link"])
@pytest.mark.parametrize("num_features", [None, 3])
def test_isolated_nodes_one_label_a_class_and_a_class_without_any(prior, num_features):
    small = toy(0, n=20, c=4, density=0.15, isolated=8, num_features=num_features)
    split = Split(np.array([0, 1, 2]), np.array([5, 18]), np.array([3, 6]))  # class 3: no node
    model = Architecture(prior, 2).build(small.graph)
    record = train(model, small.graph, split, SHORT)
    assert np.isfinite(record.initial_compatibility).all()
    assert_finite(model, small.graph)


def test_only_isolated_training_nodes():
    small = toy(0, n=20, c=2, density=0.3, isolated=4)
    graph = small.graph.with_labels(np.arange(20) % 2, ["a", "b"])
    model = model_for(graph)
    record = train(model, graph, Split(np.arange(16, 20), np.arange(4), np.arange(4, 6)), SHORT)
    np.testing.assert_allclose(record.initial_compatibility, 0.5)
    assert_finite(model, graph)


def test_a_star_with_a_million_leaves():
    n = 1_000_001
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = (rng.normal(size=(n, 2)) + y[:, None]).astype(np.float32)
    graph = Graph.from_edges(np.zeros(n - 1, dtype=np.int64), np.arange(1, n), features=X, labels=y)
    assert graph.degrees[0] == n - 1
    split = Split(np.arange(40), np.arange(40, 80), np.arange(80, 100))
    model = CPGNN(MLPPrior(graph, hidden=4), 1)
    with pytest.warns(NumericalNotice, match="Sinkhorn stopped"):  # all leaves hear one label
        record = train(model, graph, split, Settings(pretrain_epochs=3, epochs=3))
    assert np.isfinite([epoch.loss for epoch in record.epochs]).all()
    assert_finite(model, graph)


def crowd(n: int = 60) -> Graph:
    """Everybody knows everybody of the other class: ρ(A) = n/2."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    u, v = np.nonzero(np.triu(y[:, None] != y))
    return Graph.from_edges(u, v, features=rng.normal(size=(n, 3)) + y[:, None], labels=y)


@pytest.mark.parametrize("kind", ["sym", "row"])
def test_ten_layers_with_a_normalised_matrix(kind):
    graph = crowd()
    model = model_for(graph, K=10, normalization=kind)
    train(model, graph, Split(np.arange(20), np.arange(20, 40), np.arange(40, 60)), SHORT)
    assert_finite(model, graph)


def test_ten_layers_without_stop_with_a_message():
    graph = crowd()
    model = model_for(graph, K=10)
    with pytest.raises(BeliefOverflowError) as caught:
        train(model, graph, Split(np.arange(20), np.arange(20, 40), np.arange(40, 60)), SHORT)
    message = str(caught.value)
    assert "float32" in message
    assert "K = 10" in message
    assert "normalization='sym' or 'row'" in message
    rho = re.search(r"ρ\(A\)·ρ\(H̄\) = ([\d.e+]+) · ([\d.e+-]+) = ([\d.e+]+)", message)
    rho_A = np.abs(np.linalg.eigvalsh(graph.adjacency.toarray())).max()
    rho_H = np.abs(np.linalg.eigvals(array(model.H_bar))).max()
    assert [float(x) for x in rho.groups()] == pytest.approx(
        [rho_A, rho_H, rho_A * rho_H], rel=0.01
    )


def test_the_message_knows_that_a_row_normalised_matrix_has_radius_one():
    graph = toy(3, n=40, density=0.15, c=2, isolated=0).graph
    model = model_for(graph, K=10, H_bar=np.diag([50.0, -50.0]), normalization="row")
    with pytest.raises(BeliefOverflowError, match=r"= 1 · 50 = 50"):
        train(model, graph, Split(np.arange(20), np.arange(20, 30), np.arange(30, 40)), SHORT)


def test_unscaled_features_stop_with_another_message():
    graph = planted(n=40)
    huge = graph.with_features(graph.features * 1e30)
    with pytest.raises(BeliefOverflowError, match=r"epochs\. Try feature_scaling="):
        train(model_for(huge), huge, stratified_split(graph.labels), SHORT)


def test_few_labels_without_features_start_from_paths():
    graph = planted(4, n=150, degree=8, num_features=None)
    few, many = Split(np.arange(6), NOBODY, NOBODY), Split(np.arange(120), NOBODY, NOBODY)
    described = planted(4, n=150, degree=8)
    default, paper = preset("default"), preset("paper")
    assert initial_source(graph, few, default) == "paths"
    assert initial_source(graph, many, default) == "beliefs"
    assert initial_source(described, few, default) == "beliefs"
    assert initial_source(graph, few, paper) == "beliefs"
    assert initial_source(graph, many, default.but(init_H="paths")) == "paths"
    assert initial_source(graph, few, default.but(init_H="glorot")) == "random"
    model = Architecture("mlp", 1).build(graph)
    record = train(model, graph, few, default.but(pretrain_epochs=2, epochs=0))
    expected = estimate_from_few(graph.adjacency, graph.labels, few.train, num_classes=3)
    np.testing.assert_allclose(record.initial_compatibility, expected)
    np.testing.assert_allclose(model.H_bar.detach(), initial_H_bar(expected), atol=1e-6)
    assert record.initial_from == "paths"
