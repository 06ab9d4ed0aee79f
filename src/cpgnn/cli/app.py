"""The commands together, and the one place where errors become messages.

Nothing heavy is imported here: `cpgnn --help` answers at once.
"""

from __future__ import annotations

import os
import sys

import typer

from cpgnn import __version__
from cpgnn.cli import datasets, demo, fit, generate, predict, reproduce, stats, table

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


app.command("fit")(fit.fit)
app.command("predict")(predict.predict)
app.command("stats")(stats.stats)
app.command("demo")(demo.demo)
app.command("reproduce")(reproduce.reproduce)
app.command("table")(table.table)
app.command("datasets")(datasets.datasets)
app.command("generate")(generate.generate)


def main() -> None:
    """Runs a command. Errors the user can mend: a message, exit code 2, no traceback."""
    # Threads that wait for work sleep instead of spinning: on a busy machine that is the
    # difference between seconds and minutes. Must be set before torch is imported.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    try:
        app()
    except KeyboardInterrupt:
        _fail("Interrupted; nothing was written.", 130)
    except BrokenPipeError:  # the reader of a pipe went away
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except MemoryError:
        _fail("The graph must fit into memory. Got one that does not. Try fewer features.", 2)
    except Exception as error:
        from cpgnn.errors import CPGNNError

        if isinstance(error, CPGNNError):
            _fail(str(error), 2)
        if isinstance(error, OSError):
            where = f"{error.filename}: " if error.filename else ""
            _fail(f"{where}{error.strerror or error}", 2)
        raise


def _fail(message: str, code: int) -> None:
    print(f"Error: {message}", file=sys.stderr)
    sys.exit(code)
