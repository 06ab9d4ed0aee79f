"""The commands together, and the one place where errors become messages.

Nothing heavy is imported here: `cpgnn --help` answers at once.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from cpgnn import __version__
from cpgnn.cli import spark
from cpgnn.cli.check import check
from cpgnn.cli.datasets import datasets
from cpgnn.cli.demo import demo
from cpgnn.cli.diff import diff
from cpgnn.cli.explain import explain
from cpgnn.cli.export import export
from cpgnn.cli.fit import fit
from cpgnn.cli.generate import generate
from cpgnn.cli.predict import predict
from cpgnn.cli.report import report
from cpgnn.cli.reproduce import reproduce
from cpgnn.cli.review_labels import review_labels
from cpgnn.cli.stats import stats
from cpgnn.cli.suggest import suggest
from cpgnn.cli.table import table
from cpgnn.cli.terminal import Stopped, safe_output, stopping
from cpgnn.cli.verify import verify
from cpgnn.engine.flags import as_flag, flag_of
from cpgnn.engine.memory import address_space
from cpgnn.errors import CPGNNError, Mention, tidy

app = typer.Typer(
    help="Classify the nodes of a graph, whether its edges join like with like or opposites.",
    no_args_is_help=True,
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
    *(review_labels, suggest, diff),
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
    with safe_output() as output:
        code = _exit_code()
        sys.stdout.flush()
        if output is not None and output.error is not None:
            code = _without_output(output.error, code)
    if code:
        sys.exit(code)


LEAST = 1_200_000_000
"""Bytes of address space that the libraries alone take: with less, some of them end the process."""


def _exit_code() -> int:
    """Runs the command; what goes wrong is said on standard error."""
    if (address_space() or LEAST) < LEAST:
        return _failed(_no_memory(), 2)
    try:
        with stopping():
            app()
    except Stopped as stop:
        done = _written()
        return _failed(f"{stop.word}; {done or 'nothing was written'}.", 128 + stop.number)
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(bool(stop.code))
    except CPGNNError as error:
        return _failed(error.spelt(in_flags), 2)
    except OSError as error:
        where = f"{error.filename}: " if error.filename else ""
        return _failed(tidy(f"{where}{error.strerror or error}"), 2)
    except (MemoryError, RuntimeError, ImportError, SystemError) as error:
        if not _lacks_memory(error):
            raise
        return _failed(_no_memory(), 2)
    return 0


def _lacks_memory(error: Exception) -> bool:
    """Also where there is not enough for the libraries themselves."""
    if isinstance(error, SystemError):  # "error return without exception set"
        return address_space() is not None
    words = ("allocate memory", "failed to map segment")
    return isinstance(error, MemoryError) or any(word in str(error) for word in words)


def _written() -> str:
    """What is in place already, in words; nothing where nothing is."""
    if sys.argv[1:2] == ["reproduce"]:
        return "finished runs are kept"
    atomic = sys.modules.get("cpgnn.io.atomic")
    there = [path for path in (atomic.placed if atomic else ()) if path.exists()]
    return f"{tidy(str(there[-1]))} was written" if there else ""


def _without_output(error: OSError, code: int) -> int:
    """The exit code where standard output could not be written: of other tools, unless the command
    has written its files, which is what counts.
    """
    done, why = _written(), (error.strerror or str(error)).lower()
    if isinstance(error, BrokenPipeError):  # `| head`
        return code if done else 128 + 13
    if not done:
        return code or _failed(f"Cannot print: {why}.", 1)
    print(f"Note: {done}, but not everything was printed: {why}.", file=sys.stderr)
    return code


def _no_memory() -> str:
    limit = address_space()
    if limit is None:
        return "The graph does not fit into memory. Try a smaller one, or fewer features."
    return (
        f"The address space of this process is limited to {limit / 1e9:.1f} GB, which is not "
        "enough. Raise the limit ('ulimit -v'), or use a smaller graph."
    )


def in_flags(mention: Mention) -> str:
    """The flag, with its values; as in Python where no command has such a flag."""
    name = mention.parameter
    return str(mention) if name and flag_of(name) not in _flags() else as_flag(mention)


def _flags() -> set[str]:
    """Every flag of every command."""
    waiting: list[Any] = [typer.main.get_command(app)]
    flags: set[str] = set()
    while waiting:
        command = waiting.pop()
        waiting += getattr(command, "commands", {}).values()
        flags.update(*(parameter.opts for parameter in command.params))
    return flags


def _failed(message: str, code: int) -> int:
    print(f"Error: {message}", file=sys.stderr)
    return code
