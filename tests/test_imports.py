"""Imports point one way: a module knows those below it, never those above or beside it."""

import ast
from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import pytest

import cpgnn
from cpgnn.cli.app import COMMANDS

LAYERS = (
    "cpgnn.errors",
    "cpgnn.io.problems cpgnn.io.address",
    "cpgnn.io.presence",
    "cpgnn.engine.text",
    "cpgnn.engine.arrays cpgnn.engine.formatting",
    "cpgnn.relations.relation",
    "cpgnn.relations.edge_types cpgnn.relations.kinds cpgnn.engine.mixed",
    "cpgnn.engine.frames cpgnn.report.notebook",
    "cpgnn.engine.sparse",
    "cpgnn.engine.interchange cpgnn.engine.pyg_data",
    "cpgnn.engine.views",
    "cpgnn.graph",
    "cpgnn.relations cpgnn.homophily cpgnn.splits cpgnn.engine.cross_fitting",
    "cpgnn.compatibility cpgnn.engine",
    "cpgnn.io cpgnn.propagation cpgnn.priors cpgnn.settings cpgnn.reference",
    "cpgnn.blend.second_stage",
    "cpgnn.model cpgnn.synthetic.generate cpgnn.engine.distant cpgnn.blend",
    "cpgnn.synthetic.typed",
    "cpgnn.synthetic cpgnn.engine.initial",
    "cpgnn.training cpgnn.evaluation.calibration",
    "cpgnn.selection cpgnn.evaluation cpgnn.engine.saving_blend",
    "cpgnn.engine.saving cpgnn.report.grids",
    "cpgnn.classifier cpgnn.calibration cpgnn.thresholds",
    "cpgnn.explanation cpgnn.baselines cpgnn.datasets cpgnn.pyg cpgnn.doubt",
    "cpgnn.selection.node_classifier",
    "cpgnn.check.finding",
    "cpgnn.check.structure",
    "cpgnn.run",
    "cpgnn.check",
    "cpgnn.report",
    "cpgnn.run.folder cpgnn.plots",
    "cpgnn.experiments cpgnn.demo",
    "cpgnn.spark",
    "cpgnn.cli",
    "cpgnn.__main__",
)
"""From the bottom up. Modules of one layer stand beside each other and do not import each other;
a package stands for all of its modules that are not listed themselves. Imports for annotations
only (`if TYPE_CHECKING`) are never run, and free."""

SOURCE = Path(cpgnn.__file__).parent
HOMES = {home: height for height, layer in enumerate(LAYERS) for home in layer.split()}


def modules() -> dict[str, Path]:
    """Every module by its name."""
    found = {}
    for path in SOURCE.rglob("*.py"):
        parts = path.relative_to(SOURCE.parent).with_suffix("").parts
        found[".".join(parts).removesuffix(".__init__")] = path
    return found


def imports(path: Path, known: set[str]) -> Iterator[str]:
    """The modules of ours that a file imports, anywhere in it, except for annotations only."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                yield inner if inner in known else node.module


def home(module: str) -> str | None:
    """The entry of `LAYERS` that a module belongs to."""
    while module not in HOMES and "." in module:
        module = module.rpartition(".")[0]
    return module if module in HOMES else None


def test_every_module_has_a_layer():
    assert {name for name in modules() if home(name) is None} == {"cpgnn"}


def test_few_modules_stand_outside_packages():
    """The top level reads like the paper; everything else has a package."""
    assert len([path for path in SOURCE.glob("*.py") if not path.stem.startswith("__")]) <= 16


def test_imports_point_down():
    known = modules()
    wrong = set()
    for name, path in known.items():
        mine = home(name)
        for other in imports(path, set(known)):
            theirs = home(other)
            if mine is None or theirs is None or mine == theirs:
                continue  # the package itself hands names on, and has the version
            if HOMES[theirs] >= HOMES[mine]:
                wrong.add(f"{name} imports {other}")
    assert not wrong, "\n".join(sorted(wrong))


MOST_LINES, MOST_PARAMETERS = 400, 12
MANY = {"cpgnn.classifier.__init__", "cpgnn.graph.from_edges"}
"""Public since before the rule: their parameters are what a user may say about a model, a graph."""


def test_files_and_parameter_lists_stay_short():
    """Commands may have more parameters: each is an option."""
    commands = {command.__name__ for command in COMMANDS}
    long = []
    for name, path in modules().items():
        text = path.read_text()
        if (lines := text.count("\n")) > MOST_LINES:
            long.append(f"{name}: {lines} lines")
        for node in ast.walk(ast.parse(text)):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            given = node.args
            number = len([*given.posonlyargs, *given.args, *given.kwonlyargs])
            is_command = name.startswith("cpgnn.cli.") and (
                node.name in commands or name == "cpgnn.cli.spark"
            )
            if number > MOST_PARAMETERS and not is_command and f"{name}.{node.name}" not in MANY:
                long.append(f"{name}.{node.name}: {number} parameters")
    assert not long, "\n".join(long)


BENCHMARKS = sorted((Path(__file__).parents[1] / "benchmarks").rglob("*.py"))


@pytest.mark.parametrize("path", BENCHMARKS, ids=lambda path: path.stem)
def test_benchmarks_import_names_that_exist(path):
    """A benchmark runs once in weeks: a function that has moved would be missed only then."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "cpgnn":
            module = import_module(node.module)
            for name in (alias.name for alias in node.names):
                there = hasattr(module, name) or find_spec(f"{node.module}.{name}")
                assert there, f"{node.module} has no {name}"
