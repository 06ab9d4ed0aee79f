"""Draws the pictures of docs/decision.md by running the page: `make pictures`.

Needs chromium and Playwright (the dev extra).
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from cpgnn.cli.app import app

DOCS = Path(__file__).parent
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)
PARTS = ("answer", "matrix", "calibration", "search")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"]


def run_page(page: Path) -> dict[str, object]:
    """Runs the blocks of a page in order, in the working folder."""
    names: dict[str, object] = {}
    for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
        if language == "python":
            exec(compile(code, page.name, "exec"), names)
            continue
        for line in code.splitlines():
            app(line.removeprefix("$ ").split()[1:], standalone_mode=False)
    return names


def photograph(report: Path, node: str, to: Path) -> None:
    """Sections of a report, each as a picture."""
    with sync_playwright() as playwright:
        chromium = shutil.which("chromium")
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        tab = browser.new_page(viewport={"width": 860, "height": 900}, device_scale_factor=1.5)
        tab.goto(f"{report.as_uri()}#node={node}")
        tab.wait_for_selector("#result h3")
        for part in PARTS:
            path = to / f"report-{part}.png"
            tab.locator(f"#{part}").screenshot(path=path)
            shrink(path)
        browser.close()


def shrink(path: Path) -> None:
    """A picture in at most 64 colours: a third of the bytes, and nobody sees it."""
    Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        names = run_page(DOCS / "decision.md")
        pictures = DOCS / "pictures"
        shutil.copy("suspects.png", pictures / "suspects.png")
        shrink(pictures / "suspects.png")
        top = names["top"]
        photograph(Path("run/report.html").resolve(), top["id"][0], pictures)  # type: ignore[index]
        os.chdir(DOCS)


if __name__ == "__main__":
    main()
