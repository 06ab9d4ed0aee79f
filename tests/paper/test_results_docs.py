"""The docs' tables and figures are those of the committed results."""

from __future__ import annotations

from PIL import Image

import results_docs as script


def test_the_pages_say_what_the_results_say_and_a_changed_number_is_noticed():
    for path, parts in script.PAGES.items():
        page = path.read_text(encoding="utf-8")
        before, mark, after = page.partition("<!-- begin ")
        tampered = before + mark + after.replace("1", "7", 1)
        assert tampered != page
        assert script.generated(tampered, parts) == page, "run: make results-docs"


def test_the_pictures_show_the_results():
    for name, (_, shown) in script.PICTURES.items():
        with Image.open(script.PICTURE_FOLDER / f"{name}.png") as picture:
            assert picture.text["Description"] == script.fingerprint(shown()), "make results-docs"
