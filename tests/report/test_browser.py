"""Reports in a real browser: Debian's chromium, driven by Playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cpgnn.io import LoadedGraph
from cpgnn.reference import gaussian_reference
from cpgnn.run.folder import fit_run
from cpgnn.synthetic.generate import generate_graph, mixhop_compatibility
from hostile import EVIL, NAMES, hostile_graph, quick_classifier

CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
LIMIT = 2_000_000

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium: make chromium"),
    pytest.mark.xdist_group("browser"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two classes and 300 nodes with names that try to break out."""
    folder = tmp_path_factory.mktemp("small") / "<b>run</b>"
    fit_run(hostile_graph(), quick_classifier(), folder)
    return folder


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Twenty classes with long names, and long ids."""
    folder = tmp_path_factory.mktemp("wide") / "wide"
    fit_run(hostile_graph(600, 20, long=True), quick_classifier(), folder)
    return folder


@pytest.fixture(scope="module")
def five(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five classes with long names, some of one long word."""
    folder, loaded = tmp_path_factory.mktemp("five") / "five", hostile_graph(400, 5)
    names = ("Personal banking accounts", "Small and medium enterprises", "Government agencies")
    names += ("Non-profit organisations", "Donaudampfschifffahrtsgesellschaft")
    fit_run(
        replace(loaded, graph=replace(loaded.graph, class_names=names)), quick_classifier(), folder
    )
    return folder


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """20,000 nodes, 120,000 edges, five classes."""
    sizes, folder = [4_000] * 5, tmp_path_factory.mktemp("large") / "large"
    H = mixhop_compatibility(5, 0.1)
    graph = generate_graph(sizes, H, seed=0, reference=gaussian_reference(sizes, 16))
    fit_run(LoadedGraph(graph, None), quick_classifier(), folder)
    return folder


class Visit:
    """A page in a tab, and what went wrong there."""

    def __init__(
        self, browser: Any, run: Path, *, width: int = 1100, scheme: str = "light"
    ) -> None:
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        self.tab = context.new_page()
        self.troubles: list[str] = []
        self.requests: list[str] = []
        self.tab.on("console", lambda line: self.troubles.append(line.text))
        self.tab.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.tab.on("dialog", lambda dialog: (self.troubles.append("dialog"), dialog.dismiss()))
        self.tab.on("request", lambda request: self.requests.append(request.url))
        self.address = (run / "report.html").as_uri()
        self.tab.goto(self.address)

    def search(self, node: str) -> None:
        """By keyboard alone, from the top of the page."""
        self.tab.keyboard.press("Home")
        self.tab.evaluate("document.activeElement.blur()")
        for _ in range(100):
            self.tab.keyboard.press("Tab")
            if self.tab.evaluate("document.activeElement.id") == "query":
                break
        else:
            pytest.fail("the search field cannot be reached with the Tab key")
        self.tab.keyboard.press("Control+A")
        self.tab.keyboard.insert_text(node)
        self.tab.keyboard.press("Enter")
        self.tab.wait_for_selector("#result h3")

    def chances(self) -> dict[str, str]:
        """Class → what stands beside it, of the node that is shown."""
        cells = self.tab.eval_on_selector_all(
            ".chances tr", "rows => rows.map(r => [r.cells[0].innerText, r.cells[1].innerText])"
        )
        return dict(cells)

    def overflow(self) -> int:
        return self.tab.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )

    def close(self) -> None:
        """Nothing was logged, nothing but the page itself was asked for."""
        wanted = {self.address}
        assert {url.split("#")[0] for url in self.requests} <= wanted | {"data:,"}
        self.tab.context.close()
        assert self.troubles == []


def shown_as(p: float) -> str:
    hundredths = round(1e4 * p)
    if hundredths in (0, 10_000):
        return "> 99.99 %" if hundredths else "< 0.01 %"
    return f"{100 * p:.2f} %"


def table_of(run: Path) -> pd.DataFrame:
    table = pd.read_csv(run / "predictions.csv", dtype={"id": str}, keep_default_na=False)
    return table.set_index("id")


def test_numbers_of_a_node_are_those_of_the_table(browser, small):
    table, visit = table_of(small), Visit(browser, small)
    for node in ("n7", "n123", "n299", *NAMES):
        row = table.loc[node]
        visit.search(node)
        wanted = {name[2:]: shown_as(row[name]) for name in table if name.startswith("p_")}
        assert visit.chances() == wanted
        assert row["class"] in visit.tab.inner_text("#result h3")
        assert visit.tab.input_value("#query") == node
    visit.close()


def test_names_do_nothing(browser, small):
    visit = Visit(browser, small)
    visit.search(EVIL)
    visit.tab.wait_for_timeout(100)
    assert visit.tab.inner_text("#result h3").startswith(EVIL)
    assert visit.tab.locator("script").count() == 2
    assert visit.tab.locator("img").count() == 0
    visit.close()


def test_contributions_add_up_and_lead_on(browser, small):
    visit = Visit(browser, small)
    visit.search("n50")
    numbers = visit.tab.eval_on_selector_all(
        ".terms .number", "cells => cells.map(c => parseFloat(c.innerText.replace('−', '-')))"
    )
    assert len(numbers) >= 3
    assert sum(numbers[:-1]) == pytest.approx(numbers[-1], abs=0.006 * len(numbers))
    neighbour = visit.tab.locator(".terms a").first
    name = neighbour.inner_text()
    neighbour.press("Enter")
    visit.tab.wait_for_function("name => document.getElementById('query').value === name", arg=name)
    assert visit.tab.inner_text("#result h3").startswith(name)
    visit.close()


def test_the_picture_draws_what_the_table_lists(browser, small):
    """A line and a dot for every neighbour in the table, dashed where it speaks against."""
    visit = Visit(browser, small)
    for node in ("n50", "n7", EVIL):
        visit.search(node)
        rows = "rows => rows.map(r => [!!r.querySelector('small'), r.cells[1].innerText])"
        listed = visit.tab.eval_on_selector_all(".terms tbody tr", rows)
        against = [number.startswith("−") for neighbour, number in listed if neighbour]
        drawn = visit.tab.eval_on_selector_all(
            ".near line:not(.link)", "lines => lines.map(l => l.classList.contains('against'))"
        )
        assert drawn == against
        assert visit.tab.locator(".near circle").count() == (len(against) + 1 if against else 0)
    visit.close()


def test_an_unknown_node_gets_help(browser, small):
    visit = Visit(browser, small)
    visit.tab.fill("#query", "n12x")
    visit.tab.keyboard.press("Enter")
    visit.tab.wait_for_selector("#result .warn")
    assert "no node called “n12x”" in visit.tab.inner_text("#result")
    visit.tab.fill("#query", "n12")
    assert visit.tab.locator("#matches option").count() > 5
    visit.close()


@pytest.mark.parametrize("run", ["small", "wide"])
def test_fits_a_telephone(browser, run, request):
    folder = request.getfixturevalue(run)
    visit = Visit(browser, folder, width=375)
    assert visit.overflow() == 0
    visit.tab.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    visit.search(str(table_of(folder).index[20]))
    assert visit.overflow() == 0
    visit.close()


@pytest.mark.parametrize("width", [375, 1280])
def test_matrices_of_five_classes_are_not_cut_off(browser, five, width):
    visit = Visit(browser, five, width=width)
    visit.tab.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    hidden = "boxes => boxes.map(box => box.scrollWidth - box.clientWidth)"
    beyond = visit.tab.eval_on_selector_all(".scroll", hidden)
    assert len(beyond) == 6  # class by class, five matrices
    assert max(beyond) == 0
    cells = "cells => cells.filter(cell => cell.scrollWidth > cell.clientWidth + 1).length"
    assert visit.tab.eval_on_selector_all(".grid tbody td", cells) == 0
    visit.close()


BROKEN = """
() => [...document.querySelectorAll('.grid th span, [data-is=class], [data-is=label]')].flatMap(
  cell => {
  const text = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT), found = [];
  while (text.nextNode()) for (const word of text.currentNode.data.matchAll(/[^\\s-]+/g)) {
    const range = document.createRange();
    range.setStart(text.currentNode, word.index);
    range.setEnd(text.currentNode, word.index + word[0].length);
    if (range.getClientRects().length > 1) found.push(word[0]);
  }
  return found;
})
"""
CUT = """
() => [...document.querySelectorAll('.grid th span')].filter(
  span => span.scrollWidth > span.clientWidth + 1 || span.scrollHeight > span.clientHeight + 1
).map(span => span.innerText)
"""


@pytest.mark.parametrize("width", [375, 1280])
def test_names_of_classes_are_not_broken_inside_words(browser, five, width):
    visit = Visit(browser, five, width=width)
    visit.tab.evaluate("for (const d of document.querySelectorAll('details')) d.open = true")
    assert visit.tab.evaluate(BROKEN) == []
    assert visit.tab.evaluate(CUT) == []
    visit.close()


def test_follows_dark_and_light_and_prints_in_light(browser, small):
    seen = {}
    colours = "e => [getComputedStyle(e).backgroundColor, getComputedStyle(e).color]"
    for scheme in ("light", "dark"):
        visit = Visit(browser, small, scheme=scheme)
        seen[scheme] = visit.tab.eval_on_selector("html", colours)
        visit.tab.emulate_media(media="print", color_scheme=scheme)
        printed = visit.tab.eval_on_selector("html", colours)
        assert printed == ["rgb(255, 255, 255)", "rgb(0, 0, 0)"]
        assert len(visit.tab.pdf(format="A4")) > 10_000
        visit.close()
    brightness = {k: [np.mean(eval(c[3:])) for c in v] for k, v in seen.items()}
    assert brightness["light"][0] > 200 > 60 > brightness["light"][1]
    assert brightness["dark"][1] > 200 > 60 > brightness["dark"][0]


def test_focus_can_be_seen(browser, small):
    visit = Visit(browser, small)
    visit.tab.keyboard.press("Tab")
    outline = "getComputedStyle(document.activeElement).outlineStyle"
    assert visit.tab.evaluate(outline) == "solid"
    assert visit.tab.evaluate("document.activeElement.className") == "skip"
    visit.close()


def test_twenty_thousand_nodes_fit_into_two_megabytes(browser, large):
    assert (large / "report.html").stat().st_size < LIMIT
    table, visit = table_of(large), Visit(browser, large)
    assert "All 20,000 nodes" in visit.tab.inner_text("#hint")
    for node in ("0", "7777", "19999"):
        row = table.loc[node]
        visit.search(node)
        assert visit.chances()[str(row["class"])] == shown_as(row.filter(like="p_").max())
    visit.close()
