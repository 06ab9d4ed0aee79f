"""How a model is trained: frozen settings, the three presets, the paper's ablations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from cpgnn.compatibility import Weighting
from cpgnn.engine.scaling import Scaling
from cpgnn.errors import changed, check_choice, check_count, check_numbers, check_words

MOST_EPOCHS = 10**9
"""Years of training; a larger number is a slip."""
InitH = Literal["estimate", "paths", "glorot"]
Restart = Literal["best", "best with features", "never"]
SelectBy = Literal["accuracy", "macro_f1", "average_precision"]


@dataclass(frozen=True)
class Settings:
    """Everything that steers training, each field with its why. Defaults are preset "default"."""

    preset: str = "default"
    learning_rate: float = 0.01
    """Adam's step, one optimiser for both phases."""
    adam_epsilon: float = 1e-7
    """TensorFlow's value, which the published numbers were made with."""
    prior_weight_decay: float = 5e-4
    """λ_p: L2 weight on every weight of the prior, never on H̄."""
    centering_weight: float = 1.0
    """η: weight of Φ, which keeps the rows of H̄ centred. 0 is the ablation "no Φ"."""
    regularizer_factor: float = 1.0
    """What λ_p and η are multiplied with in phase 2. The authors' code adds both twice."""
    pretrain_epochs: int = 400
    """β₁: epochs for the prior alone. 0 is the ablation "no pretraining"."""
    epochs: int = 1600
    """Epochs end to end. 0 is the ablation "after init": the model right after H̄₀."""
    patience: int | None = 600
    """End phase 2 after so many of its epochs without a better one. Phase 1 always runs."""
    weighting: Weighting = "node"
    """Whether every edge or every labelled node counts once in Ĥ."""
    init_H: InitH = "estimate"
    """H̄₀ from labels and prior (preset "default": from paths between labels where these are few and
    there are no features), from such paths always, or random: the ablation "no init"."""
    restart: Restart = "best"
    """Whether phase 2 starts from the best prior of phase 1, Adam's moments included."""
    recalibrate: bool = True
    """Report H as Sinkhorn(H̄/α + 1/c), as the paper does, or as H̄ + 1/c, as its code does."""
    feature_scaling: Scaling = "auto"
    """See `cpgnn.engine.scaling`: "rows", "standard", "none" or "auto"."""
    select_by: SelectBy = "accuracy"
    """The validation score that chooses the epoch (and the model, where there is a choice)."""
    positive: int | None = None
    """The class, by its index, whose average precision chooses; None: the mean over classes."""
    class_weight: Literal["balanced"] | None = None
    """"balanced" gives every class the same weight in the loss."""

    def __post_init__(self) -> None:
        check_count("pretrain_epochs", self.pretrain_epochs, least=0, most=MOST_EPOCHS)
        check_count("epochs", self.epochs, least=0, most=MOST_EPOCHS)
        if self.patience is not None:
            check_count("patience", self.patience, least=1)
        check_numbers(self, 0, "prior_weight_decay", "centering_weight")
        check_numbers(self, 1e-12, "learning_rate", "adam_epsilon", "regularizer_factor")
        check_words(self)

    def within(self, budget: str) -> Settings:
        """These settings with the epochs of a budget: see `BUDGETS`."""
        check_choice("budget", budget, tuple(BUDGETS))
        factor, patience = BUDGETS[budget], self.patience
        return self.but(
            pretrain_epochs=round(factor * self.pretrain_epochs),
            epochs=round(factor * self.epochs),
            patience=None if patience is None else max(round(factor * patience), 1),
        )

    def but(self, **changes: Any) -> Settings:
        """These settings with some fields changed."""
        return changed(self, changes)


BUDGETS = {"fast": 0.25, "normal": 1.0, "thorough": 2.0}
"""Of the epochs of a preset, so many times as many."""

PRESETS: dict[str, Settings] = {
    "default": Settings(),
    "paper": Settings(preset="paper", patience=None, weighting="edge", feature_scaling="rows"),
    "authors": Settings(
        preset="authors",
        patience=None,
        regularizer_factor=2.0,
        restart="best with features",
        recalibrate=False,
        feature_scaling="rows",
    ),
}

ABLATIONS: dict[str, dict[str, Any]] = {
    "full": {},
    "no init": {"init_H": "glorot"},
    "no regularization": {"centering_weight": 0.0},
    "after init": {"epochs": 0},
    "no pretraining": {"pretrain_epochs": 0, "epochs": 2000},
}
"""The variants of the paper's ablation study: what each changes in a preset."""


def preset(name: str) -> Settings:
    """The settings called "default", "paper" or "authors"."""
    check_choice("preset", name, tuple(PRESETS))
    return PRESETS[name]
