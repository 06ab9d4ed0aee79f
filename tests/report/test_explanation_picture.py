"""The picture of an explanation: right size, right words, any name."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text
from PIL import Image

from cpgnn import Explanation, explain
from cpgnn.errors import InputError
from cpgnn.explanation.terms import Term, terms
from cpgnn.report.explanation_picture import (
    alternative_text,
    draw_explanation,
    plot_explanation,
)
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


def test_a_term_keeps_both_ends_of_an_id_and_its_relation():
    far = Term("urn:customer:" + "0" * 40 + ":17 (two hops)", 1, "neighbour", relation="two hops")
    assert far.short(30).startswith("urn:customer:")
    assert far.short(30).endswith("0:17 (two hops)")
    own = Term("own: trees on its columns and those of its neighbours", 1, "prior")
    assert own.short(30) == own.name


@pytest.mark.filterwarnings("ignore:Glyph")
def test_what_is_above_the_bars_is_not_cut_off():
    picture = Figure(figsize=(8, 4), layout="constrained")
    drawn = plot_explanation(example("a" * 500), axes=picture.subplots())
    FigureCanvasAgg(picture).draw()
    [title] = [text for text in drawn.findobj(Text) if "why" in text.get_text()]
    assert title.get_window_extent().x1 <= picture.bbox.x1
