"""The table of the paper's equations names what exists and shows it; what it names is what runs."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from cpgnn import compatibility, model, training
from cpgnn.engine import initial
from cpgnn.model import Architecture
from cpgnn.settings import Settings
from cpgnn.splits import stratified_split
from toys import array, planted

PAGE = (Path(__file__).parents[2] / "docs/paper.md").read_text(encoding="utf-8")
HOMES = re.findall(r"\[`([\w.]+)`\]\(#cpgnn\.([\w.]+)\)", PAGE)


def found(name: str) -> object:
    parts = name.split(".")
    for depth in range(len(parts), 0, -1):
        try:
            value = import_module(".".join(["cpgnn", *parts[:depth]]))
        except ModuleNotFoundError:
            continue
        for part in parts[depth:]:
            value = getattr(value, part)
        return value
    raise AssertionError(name)


@pytest.mark.parametrize(("name", "anchor"), HOMES)
def test_every_home_exists_and_its_code_is_on_the_page(name, anchor):
    assert name == anchor
    value = found(name)
    assert value.__module__.startswith("cpgnn.")
    assert f"::: cpgnn.{name}\n" in PAGE


def test_every_number_of_the_paper_is_in_the_table():
    rows = [row.split("|")[1] for row in PAGE.splitlines() if row.startswith("| ")]
    listed = " ".join(rows)
    for equation in range(1, 15):
        assert re.search(rf"\b{equation}\b", listed), equation
    for other in ("Definition 1", "Definition 2", "Theorem 1", "Algorithm 1", "Eq. 15–19"):
        assert other in listed


# -- what the table names is what runs ----------------------------------------


def trained() -> np.ndarray:
    """All weights after a short training that keeps the last epoch."""
    graph = planted(n=60)
    split = stratified_split(graph.labels, validation=0.0, test=0.4)
    network = Architecture("mlp", 1, hidden=6).build(graph)
    training.train(network, graph, split, Settings(pretrain_epochs=5, epochs=15))
    return np.concatenate([array(weight).ravel() for weight in network.parameters()])


@pytest.mark.parametrize(
    ("module", "name", "other"),
    [
        (model, "propagate", lambda of: lambda A, B_0, H, K: of(A, B_0, 2 * H, K)),
        (model, "prior_belief", lambda of: lambda R: of(2 * R)),
        (training, "centering_penalty", lambda of: lambda H: of(H) + H.square().sum()),
        (training, "cross_entropy", lambda of: lambda *given: 2 * of(*given)),
        (training, "overall_loss", lambda of: lambda *given: of(*given) ** 2),
        (initial, "estimate_compatibility", lambda of: lambda *a, **b: of(*a, **b).T[::-1]),
        (initial, "initial_H_bar", lambda of: lambda H: 2 * of(H)),
        (compatibility, "sinkhorn_knopp", lambda of: lambda M: of(M + 0.1)),
    ],
)
def test_training_runs_it(module, name, other, monkeypatch):
    before = trained()
    np.testing.assert_array_equal(before, trained())
    monkeypatch.setattr(module, name, other(getattr(module, name)))
    assert np.abs(trained() - before).max() > 1e-3


def test_the_weight_decay_of_a_phase_is_the_gradient_of_its_term(monkeypatch):
    """Adam adds 2 λ_p Θ_p, where the loss has λ_p ‖Θ_p‖²; the authors' factor doubles both."""
    decays, lambdas = [], []

    class Spy(training.Adam):
        def step(self) -> None:
            decays.append(self.weight_decay)
            super().step()

    loss = training.overall_loss

    def noted(*given):
        lambdas.append(given[-2:])
        return loss(*given)

    monkeypatch.setattr(training, "Adam", Spy)
    monkeypatch.setattr(training, "overall_loss", noted)
    graph = planted(n=40)
    settings = Settings(
        pretrain_epochs=2,
        epochs=2,
        prior_weight_decay=0.03,
        centering_weight=0.7,
        regularizer_factor=2.0,
    )
    training.train(
        Architecture("mlp", 1, hidden=4).build(graph),
        graph,
        stratified_split(graph.labels),
        settings,
    )
    assert decays == [0.06] * 2 + [0.12] * 2
    assert lambdas == [(0.03, 0.0)] * 3 + [(0.06, 1.4)] * 3
