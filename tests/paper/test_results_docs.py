"""The docs' tables and figures are those of the committed results."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from PIL import Image

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def script():
    path = ROOT / "scripts" / "results_docs.py"
    if not path.exists():
        pytest.skip("the scripts are not part of this copy")
    sys.path.insert(0, str(path.parent))
    try:
        spec = importlib.util.spec_from_file_location("results_docs", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(str(path.parent))
    return module


def test_the_pages_say_what_the_results_say(script):
    for path, parts in script.PAGES.items():
        page = path.read_text(encoding="utf-8")
        assert script.generated(page, parts) == page, "run: make results-docs"


def test_a_changed_number_would_be_noticed(script):
    for path, parts in script.PAGES.items():
        page = path.read_text(encoding="utf-8")
        before, mark, after = page.partition("<!-- begin ")
        tampered = before + mark + after.replace("1", "7", 1)
        assert tampered != page
        assert script.generated(tampered, parts) == page


def test_the_pictures_show_the_results(script):
    for name, (_, shown) in script.PICTURES.items():
        with Image.open(script.PICTURE_FOLDER / f"{name}.png") as picture:
            assert picture.text["Description"] == script.fingerprint(shown()), "make results-docs"
