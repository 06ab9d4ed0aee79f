"""Every code block of README and docs runs; every command and public name is documented."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from importlib import import_module
from inspect import ismodule
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


def test_every_command_and_option_is_documented(tmp_path):
    script = ROOT / "scripts/commands_docs.py"
    made = subprocess.run([sys.executable, script, "-"], capture_output=True, text=True, check=True)
    page = (ROOT / "docs/commands.md").read_text(encoding="utf-8")
    assert page == made.stdout, "run `make commands-docs`"


def named(path: str) -> object:
    """What `path` names: a module, or a name in one."""
    module, _, name = path.rpartition(".")
    return getattr(import_module(module), name)


def shown_imports() -> set[str]:
    """Every name that a code block of the docs imports from us."""
    names = set()
    for page in PAGES:
        for language, code in BLOCK.findall(page.read_text(encoding="utf-8")):
            nodes = ast.walk(ast.parse(code)) if language == "python" else ()
            for node in nodes:
                if isinstance(node, ast.ImportFrom) and str(node.module).startswith("cpgnn"):
                    names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


def test_the_reference_has_every_public_name():
    entries = re.findall(r"^::: (\S+)$", (ROOT / "docs/api.md").read_text(), re.MULTILINE)
    assert len(entries) == len(set(entries))
    documented = [named(entry) for entry in entries]
    assert all(of.__doc__ for of in documented)
    modules = ("cpgnn", "cpgnn.baselines", "cpgnn.plots", "cpgnn.synthetic", "cpgnn.thresholds")
    every = {f"{module}.{name}" for module in modules for name in import_module(module).__all__}
    public = {name for name in every if callable(named(name))}
    used = public | {name for name in shown_imports() if not ismodule(named(name))}
    assert not {name for name in used if not any(named(name) is of for of in documented)}


def test_every_public_name_exists_and_is_imported_late():
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="attribute nonsense"):
        _ = package.nonsense


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if not target.startswith(("http://", "https://")):
                assert (page.parent / target).exists(), f"{page.name} → {target}"
