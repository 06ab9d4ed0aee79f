"""How many cells of the committed results reach the paper's numbers."""

from __future__ import annotations

from cpgnn.experiments.misses import auto_columns, compared


def test_authors_reproduces_the_paper():
    frame = compared()
    authors = frame[frame["preset"] == "authors"]
    assert len(authors) == 48
    assert authors["within"].sum() >= 42


def test_the_baselines_reproduce_the_paper():
    frame = compared()
    baselines = frame[frame["preset"] == "-"]
    assert len(baselines) == 84
    assert baselines["within"].sum() >= 65


def test_default_reaches_the_paper():
    frame = compared()
    default = frame[frame["preset"] == "default"]
    assert len(default) == 48
    assert default["reached"].sum() >= 34


def test_auto_reaches_the_best_variant_of_the_paper():
    columns = auto_columns()
    assert len(columns) == 12
    assert columns["reached"].sum() >= 9
