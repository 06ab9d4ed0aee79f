"""Budgets of a blend: how many folds, which priors, and that every piece of work is announced."""

from __future__ import annotations

import pytest

from cpgnn.classifier import CPGNNClassifier
from cpgnn.errors import InputError
from cpgnn.selection import blending
from toys import planted


class Told:
    """Counts what a fit announces and what it begins."""

    def __init__(self) -> None:
        self.expected, self.names = 0, []

    @property
    def begun(self) -> int:
        return len(self.names)

    def expect(self, pieces: int) -> None:
        self.expected += pieces

    def __call__(self, name: str, epochs: int) -> None:
        self.names.append(name)


@pytest.mark.parametrize(("budget", "folds"), [("fast", [2]), ("normal", [5, 5])])
def test_folds_and_priors_of_a_budget(budget, folds, monkeypatch):
    seen, seeds, of = [], set(), blending.Worlds.of

    def watched(*args, **options):
        seen.append(options["num_folds"])
        seeds.add(options["seed"])
        return of(*args, **options)

    monkeypatch.setattr(blending.Worlds, "of", watched)
    told = Told()
    fitted = CPGNNClassifier(budget=budget).fit(planted(n=90), begin=told)
    assert seen == folds
    assert len(seeds) == len(folds)
    assert ("together" in set(fitted.trials_["candidate"])) == (budget != "fast")
    assert len(told.names) == told.expected


def test_budgets_that_there_are_not():
    with pytest.raises(InputError, match="'budget' must be 'fast', 'normal' or 'thorough'"):
        CPGNNClassifier(budget="endless").fit(planted(n=90))
