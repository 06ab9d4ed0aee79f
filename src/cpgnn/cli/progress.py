"""Progress on standard error: one bar on a terminal, lines in a log if asked for, else nothing."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

if TYPE_CHECKING:
    from cpgnn.engine.loop import Begin, Epoch, Observer

Shown = Literal["auto", "log", "off"]
EVERY = 10.0
"""Seconds between the lines of a log within one piece of training."""
EARLY = 0.05
"""Below this share of the work, the time left is anybody's guess."""


@dataclass
class Course:
    """How far a fit has come: pieces begun, pieces to come, and the epochs of this one.

    Every piece counts alike, whatever it costs: what is left is a rough guess.
    """

    told: Callable[[Course], None]
    """Called at every change."""
    clock: Callable[[], float] = monotonic
    begun: int = 0
    expected: int = 0
    name: str = ""
    epochs: int = 0
    done: int = 0
    state: str = ""
    start: float = field(init=False)

    def __post_init__(self) -> None:
        self.start = self.clock()

    def __call__(self, name: str, epochs: int) -> Observer:
        """`begin` of a fit: a new piece of training."""
        self.begun += 1
        self.name, self.epochs, self.done, self.state = name, epochs, 0, ""
        self.told(self)

        def observe(epoch: Epoch) -> None:
            self.done += 1
            if self.done % 10 == 0 or self.done == self.epochs:
                self.state = f"loss {epoch.loss:.3f} val {epoch.score:.3f}"
                self.told(self)

        return observe

    def expect(self, pieces: int) -> None:
        """So many more pieces are to come than was known."""
        self.expected += pieces

    @property
    def pieces(self) -> int:
        return max(self.expected, self.begun)

    @property
    def share(self) -> float:
        """Of all pieces, what is done."""
        if self.begun == 0:
            return 0.0
        within = min(self.done / self.epochs, 1.0) if self.epochs else 0.0
        return (self.begun - 1 + within) / self.pieces

    @property
    def took(self) -> float:
        return self.clock() - self.start

    @property
    def left(self) -> float | None:
        """Seconds to go; None while nobody can tell."""
        if self.share < EARLY or self.expected < self.begun:
            return None
        return self.took * (1 - self.share) / self.share


def clock(seconds: float) -> str:
    """ "0:07", "12:34", "1:02:03"."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"


@contextmanager
def progress_bar(shown: Shown = "auto") -> Iterator[Begin]:
    """Hands out `begin(name, epochs)`: one bar for everything that is begun, or lines of a log."""
    if shown == "log":
        log = Log()
        course = Course(log)
        yield course
        log.line(f"{clock(course.took)} done")
        return
    with _bar(shown) as (bars, draw):
        yield Course(draw)
        bars.update(TaskID(0), completed=1.0, description="done", state="", left="0:00 left")


class Log:
    """Plain lines: one when a piece begins, and some within a long one."""

    def __init__(self) -> None:
        self.last, self.piece, self.name = -EVERY, 0, ""

    def __call__(self, course: Course) -> None:
        new = course.begun != self.piece
        if not (new and course.name != self.name) and course.took - self.last < EVERY:
            return
        self.last, self.piece, self.name = course.took, course.begun, course.name
        inside = "" if new else f" {course.done:,}/{course.epochs:,} {course.state}"
        left = "" if course.left is None else f", about {clock(course.left)} left"
        count = f"{course.begun}/{course.pieces}"
        self.line(f"{clock(course.took)} {count} {course.name}{inside}{left}")

    @staticmethod
    def line(text: str) -> None:
        print(text, file=sys.stderr, flush=True)


@contextmanager
def counting(name: str, total: int) -> Iterator[Callable[[dict[str, Any] | None], None]]:
    """A bar over the runs of an experiment; hands out `done(result)`.

    None stands for a run that was not needed.
    """
    with _bar() as (_, draw):
        course = Course(draw, expected=total, name=name, epochs=1, done=1)
        draw(course)

        def done(result: dict[str, Any] | None) -> None:
            course.begun += 1
            if result is not None:
                method, where = result["method"], result["dataset"]
                course.state = f"{method} on {where}: {result['test']:.1f}"
            draw(course)

        yield done


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """A spinner beside `what`."""
    console = Console(stderr=True)
    with console.status(what) if console.is_terminal else nullcontext():
        yield


@contextmanager
def _bar(shown: Shown = "auto") -> Iterator[tuple[Progress, Callable[[Course], None]]]:
    """One bar, and a way to draw how far a course has come."""
    console = Console(stderr=True)
    bars = Progress(
        TextColumn("{task.description:<22}"),
        BarColumn(bar_width=20),
        TextColumn("{task.fields[count]}"),
        TextColumn("{task.fields[state]}"),
        TextColumn("{task.fields[left]}", style="cyan"),
        console=console,
        disable=shown == "off" or not console.is_terminal,
    )

    def draw(course: Course) -> None:
        bars.update(
            task,
            description=course.name,
            completed=course.share,
            count=f"{course.begun}/{course.pieces}",
            state=course.state,
            left="" if course.left is None else f"{clock(course.left)} left",
        )

    with bars:
        task = bars.add_task("", total=1.0, state="", left="", count="")
        yield bars, draw
