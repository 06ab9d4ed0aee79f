"""Every code block of README and docs runs; every command and public name is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import cpgnn as package
from cpgnn.cli.app import app

ROOT = Path(__file__).parent.parent
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_code_blocks_run(page, tmp_path, monkeypatch, request):
    """Blocks of a page run in order, in one namespace and one empty folder."""
    blocks = BLOCK.findall(page.read_text(encoding="utf-8"))
    if not blocks:
        pytest.skip("no code on this page")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {}
    for language, code in blocks:
        if language == "python":
            exec(compile(code, page.name, "exec"), namespace)
            continue
        for line in code.splitlines():
            words = line.removeprefix("$ ").split()
            assert words[0] == "cpgnn", "only our own commands"
            app(words[1:], standalone_mode=False)


def commands() -> list[str]:
    return [info.name or "" for info in app.registered_commands]


@pytest.mark.parametrize("command", commands())
def test_every_command_is_documented(command):
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    assert any(f"cpgnn {command}" in text or f"make {command}" in text for text in texts)


def test_every_public_name_exists_and_is_imported_late():
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = package.nonsense


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if not target.startswith(("http://", "https://")):
                assert (page.parent / target).exists(), f"{page.name} → {target}"
