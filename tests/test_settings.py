"""The presets say what the method's table says; senseless settings are refused."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cpgnn.errors import InputError
from cpgnn.settings import ABLATIONS, PRESETS, Settings, preset

TABLE = {
    "learning_rate": (0.01, 0.01, 0.01),
    "adam_epsilon": (1e-7, 1e-7, 1e-7),
    "prior_weight_decay": (5e-4, 5e-4, 5e-4),
    "centering_weight": (1, 1, 1),
    "regularizer_factor": (1, 2, 1),
    "pretrain_epochs": (400, 400, 400),
    "epochs": (1600, 1600, 1600),
    "patience": (None, None, 600),
    "weighting": ("edge", "node", "node"),
    "init_H": ("estimate", "estimate", "estimate"),
    "restart": ("best", "best with features", "best"),
    "recalibrate": (True, False, True),
    "feature_scaling": ("rows", "rows", "auto"),
    "select_by": ("accuracy", "accuracy", "accuracy"),
    "positive": (None, None, None),
    "class_weight": (None, None, None),
}
"""The three presets of METHOD.md, in the order paper, authors, default."""


def test_the_presets_are_those_of_the_table():
    for column, name in enumerate(("paper", "authors", "default")):
        values = dataclasses.asdict(preset(name))
        assert values.pop("preset") == name
        assert values == {field: row[column] for field, row in TABLE.items()}
    assert set(PRESETS) == {"paper", "authors", "default"}
    assert preset("default") == Settings()


def test_settings_are_frozen_and_vary_by_copy():
    settings = preset("paper")
    with pytest.raises(dataclasses.FrozenInstanceError):
        settings.epochs = 3
    changed = settings.but(epochs=3, patience=7)
    assert (changed.epochs, changed.patience) == (3, 7)
    assert changed.but(epochs=1600, patience=None) == settings


def test_the_ablations_of_the_paper():
    assert ABLATIONS == {
        "full": {},
        "no init": {"init_H": "glorot"},
        "no regularization": {"centering_weight": 0.0},
        "after init": {"epochs": 0},
        "no pretraining": {"pretrain_epochs": 0, "epochs": 2000},
    }
    for changes in ABLATIONS.values():
        preset("paper").but(**changes)


def test_numbers_of_numpy_are_numbers():
    settings = Settings(epochs=np.int64(3), learning_rate=np.float32(0.5), patience=np.int32(2))
    assert (settings.epochs, settings.learning_rate, settings.patience) == (3, 0.5, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"epochs": -1}, r"'epochs' must be at least 0\. Got -1\."),
        ({"epochs": 1.5}, r"'epochs' must be a whole number\. Got 1\.5\."),
        ({"epochs": "10"}, r"'epochs' must be a whole number\. Got '10'\."),
        ({"epochs": None}, r"'epochs' must be a whole number\. Got None\."),
        ({"pretrain_epochs": -2}, r"'pretrain_epochs' must be at least 0\. Got -2\."),
        ({"patience": 0}, r"'patience' must be at least 1\. Got 0\."),
        ({"learning_rate": 0}, r"'learning_rate' must be a number of at least 1e-12\. Got 0\."),
        ({"learning_rate": float("nan")}, r"'learning_rate' must be a number .* Got nan\."),
        ({"learning_rate": float("inf")}, r"'learning_rate' must be a number .* Got inf\."),
        ({"learning_rate": "fast"}, r"'learning_rate' must be a number .* Got 'fast'\."),
        ({"adam_epsilon": -1e-7}, r"'adam_epsilon' must be .* Got -1e-07\."),
        ({"prior_weight_decay": -1}, r"'prior_weight_decay' must be a number of at least 0"),
        ({"centering_weight": -1}, r"'centering_weight' must be a number of at least 0"),
        ({"regularizer_factor": 0}, r"'regularizer_factor' must be a number of at least 1e-12"),
        ({"weighting": "both"}, r"'weighting' must be 'edge' or 'node'\. Got 'both'\."),
        ({"init_H": "zero"}, r"'init_H' must be 'estimate', 'paths' or 'glorot'\. Got 'zero'\."),
        ({"restart": True}, r"'restart' must be 'best', 'best with features' or 'never'"),
        ({"feature_scaling": "max"}, r"'feature_scaling' must be 'auto', 'rows'"),
        ({"select_by": "f1"}, r"'select_by' must be 'accuracy', 'macro_f1'"),
        ({"class_weight": "rare"}, r"'class_weight' must be None or 'balanced'"),
        ({"epoch": 3}, r"A setting must be one of adam_epsilon, .*\. Got 'epoch'\."),
    ],
)
def test_senseless_settings_are_refused(change, message):
    with pytest.raises(InputError, match=message):
        Settings().but(**change)


def test_an_unknown_preset_is_refused():
    with pytest.raises(InputError, match=r"be 'default', 'paper' or 'authors'\. Got 'papers'"):
        preset("papers")


def test_budgets_scale_the_epochs_and_nothing_else():
    normal = preset("default")
    assert normal.within("normal") == normal
    assert normal.within("fast") == normal.but(pretrain_epochs=100, epochs=400, patience=150)
    assert preset("paper").within("thorough").patience is None
    with pytest.raises(InputError, match="'budget' must be 'fast', 'normal' or 'thorough'"):
        normal.within("slow")
