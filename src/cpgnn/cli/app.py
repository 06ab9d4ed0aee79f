"""The commands together, and the one place where errors become messages.

Nothing heavy is imported here: `cpgnn --help` answers at once.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, NoReturn

import typer

from cpgnn import __version__
from cpgnn.cli import spark
from cpgnn.cli.check import check
from cpgnn.cli.datasets import datasets
from cpgnn.cli.demo import demo
from cpgnn.cli.explain import explain
from cpgnn.cli.export import export
from cpgnn.cli.fit import fit
from cpgnn.cli.generate import generate
from cpgnn.cli.predict import predict
from cpgnn.cli.report import report
from cpgnn.cli.reproduce import reproduce
from cpgnn.cli.stats import stats
from cpgnn.cli.table import table
from cpgnn.cli.verify import verify
from cpgnn.errors import CPGNNError, Mention, either

app = typer.Typer(
    help="Classify the nodes of a graph, whether its edges join like with like or opposites.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


@app.callback(invoke_without_command=True)
def top(
    version: bool = typer.Option(False, "--version", help="Print the version and exit."),
) -> None:
    if version:
        print(f"cpgnn {__version__}")
        raise typer.Exit


COMMANDS: tuple[Callable[..., None], ...] = (
    *(fit, predict, check, explain, report, export, verify, stats),
    *(demo, reproduce, table, datasets, generate),
)
for command in COMMANDS:
    app.command()(command)
app.add_typer(spark.app, name="spark")


def main() -> None:
    """Runs a command. An error that the user can fix is a message and exit code 2, no traceback."""
    # Threads that wait for work sleep instead of spinning: on a busy machine that is the
    # difference between seconds and minutes. Must be set before torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # Large arrays on huge pages: neighbours of millions of nodes are gathered in half the time.
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    in_main = threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGINT, _interrupt) if in_main else None
    try:
        app()
    except _Interrupted:
        resumes = sys.argv[1:2] == ["reproduce"]
        kept = "finished runs are kept" if resumes else "nothing was written"
        _fail(f"Interrupted; {kept}.", 130)
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):
            _leave_pipe()
        _flush()
        raise
    except BrokenPipeError:
        _leave_pipe()
    except MemoryError:
        _fail("The graph does not fit into memory. Try a smaller one, or fewer features.", 2)
    except Exception as error:
        if isinstance(error, CPGNNError):
            _fail(error.spelt(in_flags), 2)
        if isinstance(error, OSError):
            where = f"{error.filename}: " if error.filename else ""
            _fail(f"{where}{error.strerror or error}", 2)
        raise
    finally:
        if before is not None:
            signal.signal(signal.SIGINT, before)
    _flush()


FLAGS = {
    "num_layers": "--layers",
    "h": "--homophily",
    "num_classes": "--classes",
    "num_bootstrap": "--bootstrap-nodes",
    "reference": "--features",
    "class_sizes": "--class-size",
}
"""Parameters whose flag has another name; the others have the same name."""


COLUMNS = (
    "source",
    "target",
    "weight",
    "id",
    "label",
    "feature",
    "ignore",
    "unlabelled",
    "positive",
)
"""Parameters whose values are a user's own words, spelt as they are."""


def in_flags(mention: Mention) -> str:
    """ "'--layers'", "--impute median", "--one-hot": as a user of the command line writes it."""
    name, values = mention.parameter, mention.values
    flag = FLAGS.get(name, "--" + name.replace("_", "-"))
    if name and flag not in _flags():
        return str(mention)
    if not values:
        return f"'{flag}'"
    if values == (True,):
        return flag
    spelt = [str(value) for value in values if value is not None]
    words = either(spelt if name in COLUMNS else [word.replace("_", "-") for word in spelt])
    return f"{flag} {words}" if name else words


def _flags() -> set[str]:
    """Every flag of every command."""
    waiting: list[Any] = [typer.main.get_command(app)]
    flags: set[str] = set()
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        flags.update(*(parameter.opts for parameter in command.params))
    return flags


class _Interrupted(BaseException):
    """Ctrl-C. Not a KeyboardInterrupt, which typer would turn into a silent exit."""


def _interrupt(*_: Any) -> NoReturn:
    raise _Interrupted


def _flush() -> None:
    """What was printed goes out now, while a reader that went away can still be noticed."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_pipe()


def _leave_pipe() -> NoReturn:
    """The reader of a pipe went away (`| head`): end as other tools do, without a word."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())  # type: ignore[union-attr]
    sys.exit(128 + 13)


def _fail(message: str, code: int) -> NoReturn:
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(code)
