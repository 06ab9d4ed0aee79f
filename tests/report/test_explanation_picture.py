"""The picture of an explanation: right size, right words, any name."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import pytest
from PIL import Image

from cpgnn import Explanation, explain
from cpgnn.errors import InputError
from cpgnn.explanation.terms import terms
from cpgnn.report.explanation_picture import alternative_text, draw_explanation
from toys import random_model, toy

NAMES = ["$x^$", "<script>alert(1)</script>", "a" * 500, "naïve", "节点", "&amp;", *"ghijkl"]


def example(*nodes: str) -> Explanation:
    graph = replace(toy(4, n=12).graph, node_ids=pd.Index(NAMES))
    return explain(random_model(graph, prior="mlp", num_layers=2), graph, nodes)


def test_png_with_its_description(tmp_path):
    made = example("g", "naïve")
    draw_explanation(made, tmp_path / "why.png", top=3)
    with Image.open(tmp_path / "why.png") as picture:
        picture.load()
        assert picture.width == 1200
        text = picture.text["Description"]
    assert text == " ".join(alternative_text(made, i, 3) for i in range(2))
    for i in range(2):
        for term in terms(made, i, 3):
            assert f"{term.margin:+.2f}" in text


def test_svg_survives_any_name(tmp_path):
    draw_explanation(example(*NAMES[:6]), tmp_path / "why.svg")
    root = ElementTree.parse(tmp_path / "why.svg").getroot()
    assert root.tag.endswith("svg")
    assert not any(element.tag.endswith("script") for element in root.iter())


def test_what_cannot_be_drawn(tmp_path):
    with pytest.raises(InputError, match="A picture must show at most 6 nodes"):
        draw_explanation(example(*NAMES[:7]), tmp_path / "why.png")
    with pytest.raises(InputError, match=r"be '\.png' or '\.svg'"):
        draw_explanation(example("g"), tmp_path / "why.bmp")
    assert not list(tmp_path.iterdir())
