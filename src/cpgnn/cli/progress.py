"""Progress on standard error; silent where that is not a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from cpgnn.engine.loop import Begin, Epoch, Observer


@contextmanager
def progress_bar() -> Iterator[Begin]:
    """Hands out `begin(name, epochs)`, which draws one bar for each piece of training."""
    with _bars() as bars:
        counts: dict[TaskID, int] = {}

        def finish() -> None:
            for task in bars.tasks:  # training may have stopped early, or have nothing to count
                reached = counts[task.id] or task.total
                bars.update(task.id, completed=reached, total=reached)

        def begin(name: str, epochs: int) -> Observer:
            finish()
            task = bars.add_task(name, total=epochs, state="")
            counts[task] = 0

            def observe(epoch: Epoch) -> None:
                counts[task] = done = counts[task] + 1
                if done % 10 == 0 or done == epochs:
                    state = f"loss {epoch.loss:.3f} val {epoch.score:.3f}"
                    bars.update(task, completed=done, state=state)

            return observe

        yield begin
        finish()


@contextmanager
def counting(name: str, total: int) -> Iterator[Callable[[dict[str, Any] | None], None]]:
    """A bar over the runs of an experiment; hands out `done(result)`.

    None stands for a run that was not needed.
    """
    with _bars() as bars:
        task = bars.add_task(name, total=total, state="")

        def done(result: dict[str, Any] | None) -> None:
            bars.update(task, advance=1)
            if result is not None:
                last = f"{result['method']} on {result['dataset']}: {result['test']:.1f}"
                bars.update(task, state=last)

        yield done


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner beside `what`."""
    console = Console(stderr=True)
    with console.status(what) if console.is_terminal else nullcontext():
        yield


def _bars() -> Progress:
    console = Console(stderr=True)
    return Progress(
        TextColumn("{task.description:<16}"),
        BarColumn(bar_width=20),
        TextColumn("{task.completed:.0f}/{task.total:.0f}"),
        TextColumn("{task.fields[state]}"),
        TimeRemainingColumn(compact=True),
        console=console,
        disable=not console.is_terminal,
    )
