"""Progress: one bar over all pieces with the time left, lines in a log if asked for, else quiet."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from cpgnn.cli import progress
from cpgnn.cli.progress import Course, Log, clock, counting, progress_bar
from cpgnn.engine.loop import Epoch, expect, repeated

EPOCH = Epoch(1, 1, 0.5, 0.9, 0.8)


def timed(told=lambda course: None) -> tuple[Course, list[float]]:
    """A course whose clock is set by hand."""
    now = [0.0]
    return Course(told, clock=lambda: now[0]), now


def test_time_left_follows_the_share_of_pieces_done():
    course, now = timed()
    expect(course, 4)
    assert course.left is None
    observe = course("first", 100)
    now[0] = 10.0
    for _ in range(100):
        observe(EPOCH)
    assert course.share == 0.25
    assert course.left == pytest.approx(30)  # a quarter took ten seconds
    course("second", 2)(EPOCH)
    assert course.share == pytest.approx(0.375)
    now[0] = 30.0
    assert course.left == pytest.approx(50)


def test_a_piece_that_stops_early_counts_whole_once_the_next_begins():
    course, _ = timed()
    course.expect(2)
    course("first", 1000)(EPOCH)
    course("second", 10)
    assert course.share == 0.5


def test_pieces_nobody_announced_leave_the_end_open():
    course, now = timed()
    course("one", 1)
    course("two", 1)(EPOCH)
    now[0] = 5.0
    assert (course.pieces, course.left) == (2, None)


def test_who_does_not_want_to_know_is_not_told():
    expect(None, 3)
    expect(lambda name, epochs: None, 3)


def test_a_log_has_a_line_for_each_piece_and_some_within_long_ones(capsys):
    course, now = timed(Log())
    course.expect(2)
    observe = course("trees", 100)
    for second in range(100):
        now[0] = second / 4
        observe(EPOCH)
    now[0] = 30.0
    course("neighbours", 1)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "0:00 1/2 trees"
    assert lines[1] == "0:12 1/2 trees 50/100 loss 0.500 val 0.800, about 0:37 left"
    assert lines[-1] == "0:30 2/2 neighbours, about 0:30 left"
    assert len(lines) == 4


def test_quiet_where_there_is_no_terminal(capsys):
    for shown in ("auto", "off"):
        with progress_bar(shown) as begin:
            begin("first", 10)(EPOCH)
    with counting("runs", 3) as done:
        done(None)
    assert capsys.readouterr() == ("", "")


def on_a_terminal(monkeypatch) -> io.StringIO:
    screen = io.StringIO()

    def console(**_: object) -> Console:
        return Console(file=screen, force_terminal=True, width=100)

    monkeypatch.setattr(progress, "Console", console)
    return screen


def test_one_bar_on_a_terminal(monkeypatch):
    screen = on_a_terminal(monkeypatch)
    with progress_bar() as begin:
        expect(begin, 2)
        for name in ("first", "second"):
            observe = begin(name, 10)
            for _ in range(10):
                observe(EPOCH)
    *_, last = (line for line in screen.getvalue().splitlines() if "━" in line)
    assert "done" in last
    assert "2/2" in last
    assert screen.getvalue().count("\n") <= 2  # one line, drawn again and again


def test_off_is_off(monkeypatch):
    screen = on_a_terminal(monkeypatch)
    with progress_bar("off") as begin:
        begin("first", 10)(EPOCH)
    assert screen.getvalue() == ""


def test_clocks():
    assert [clock(s) for s in (0, 7.4, 754, 3723)] == ["0:00", "0:07", "12:34", "1:02:03"]


def test_a_fit_announces_every_piece(cpgnn, files):
    words = ["fit", "edges.csv", "--labels", "labels.csv", "--features", "features.csv"]
    done = cpgnn(*words, "--out", "run", "--prior", "mlp", "--layers", 1, "--progress", "log")
    assert done.code == 0, done.err
    lines = [line for line in done.err.splitlines() if not line.startswith("Note")]
    assert lines[0].startswith("0:00 1/2 MLP-1")
    assert any("2/2 without the graph" in line for line in lines)
    assert lines[-1].endswith("done")
    quiet = cpgnn(*words, "--out", "other", "--prior", "mlp", "--layers", 1, "--fast")
    assert [line for line in quiet.err.splitlines() if not line.startswith("Note")] == []


def test_repetitions_take_as_long_as_what_they_repeat(capsys):
    """A fit of two pieces in ten seconds, then four times the same: a tenth is done."""
    course, now = timed(Log())
    expect(course, 2)
    course("one", 1)(EPOCH)
    now[0] = 5.0
    course("two", 1)(EPOCH)
    now[0] = 10.0
    again = repeated(course, 4, "cross-validation")
    expect(again, 2)  # what the repeated fit says of itself is known already
    again("one", 1)
    assert course.left == pytest.approx(40)
    for _ in range(7):
        now[0] += 5.0
        again("two", 1)
    assert course.begun == course.pieces == 10
    assert capsys.readouterr().err.splitlines()[2:] == [
        "0:10 3/10 cross-validation, about 0:40 left",
        "0:20 5/10 cross-validation, about 0:30 left",
        "0:30 7/10 cross-validation, about 0:20 left",
        "0:40 9/10 cross-validation, about 0:10 left",
    ]
    assert repeated(None, 4, "nobody asks") is None
