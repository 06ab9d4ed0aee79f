"""A progress bar for training; silent where standard error is not a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

if TYPE_CHECKING:
    from cpgnn.classifier import Begin
    from cpgnn.engine.loop import Epoch, Observer


@contextmanager
def progress_bar() -> Iterator[Begin]:
    """Hands out `begin(name, epochs)`, which draws one bar for each piece of training."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description:<16}"),
        BarColumn(bar_width=20),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(compact=True),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:

        def finish() -> None:
            for task in bars.tasks:  # training may have stopped early
                bars.update(task.id, total=task.completed)

        def begin(name: str, epochs: int) -> Observer:
            finish()
            task = bars.add_task(name, total=epochs, state="")
            done = 0

            def observe(epoch: Epoch) -> None:
                nonlocal done
                done += 1
                if done % 10 == 0 or done == epochs:
                    state = f"loss {epoch.loss:.3f} val {epoch.score:.3f}"
                    bars.update(task, completed=done, state=state)

            return observe

        yield begin
        finish()


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner beside `what`; silent where standard error is not a terminal."""
    console = Console(stderr=True)
    if console.is_terminal:
        with console.status(what):
            yield
    else:
        yield


@contextmanager
def counting(name: str, total: int) -> Iterator[Callable[[dict[str, Any] | None], None]]:
    """A bar over runs of an experiment with the time left; hands out `done(result)`.

    None stands for a run that was not needed.
    """
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[last]}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal) as bars:
        task = bars.add_task(name, total=total, last="")

        def done(result: dict[str, Any] | None) -> None:
            bars.update(task, advance=1)
            if result is not None:
                last = f"{result['method']} on {result['dataset']}: {result['test']:.1f}"
                bars.update(task, last=last)

        yield done
