"""What commands print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from cpgnn.check.facts import Stats
from cpgnn.compatibility import compatibility_error
from cpgnn.evaluation.calibration import Calibration
from cpgnn.evaluation.intervals import EdgeFrequency
from cpgnn.evaluation.metrics import Scored
from cpgnn.evaluation.thresholds import Flag
from cpgnn.graph import Graph
from cpgnn.run.run import Run

if TYPE_CHECKING:
    from cpgnn.demo import Demo

WIDEST = 12
"""Matrices of more classes than this are left to their files."""
WIDEST_INTERVALS = 7
"""And their intervals of more than this."""


def console() -> Console:
    """Standard output; as wide as it needs to be where it is not a terminal."""
    plain = Console(highlight=False)
    return plain if plain.is_terminal else Console(highlight=False, width=160)


def show(to: Console, made: Table) -> None:
    """A table at its full width: numbers are never broken, even where the terminal is narrow."""
    if made.title:  # a table would fold or cut it to its own width
        to.print(made.title, style="bold")
        made.title = None
    own = to.width
    to.width = 10_000  # neither measuring nor printing goes beyond the width of the console
    to.width = max(own, to.measure(made).maximum)
    to.print(made, crop=False, no_wrap=True)
    to.width = own


def print_notices(graph: Graph) -> None:
    for notice in graph.notices:
        print(f"Note: {notice}", file=sys.stderr)


def table(*columns: str, title: str | None = None) -> Table:
    """A table whose first column is text and whose others are numbers."""
    made = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for i, column in enumerate(columns):
        made.add_column(escape(column), justify="right" if i else "left", no_wrap=True)
    return made


def matrix_table(title: str, matrix: np.ndarray, names: list[str]) -> Table:
    made = table("", *names, title=title)
    for name, row in zip(names, matrix, strict=True):
        cells = ("–" if np.isnan(value) else f"{value:.2f}" for value in row)
        made.add_row(escape(name), *cells)
    return made


def percent_table(title: str, matrix: np.ndarray, names: list[str]) -> Table:
    """A class matrix in whole percents, narrow enough for three side by side."""
    made = Table(title=title, box=None, padding=(0, 1, 0, 0), title_style="bold")
    for name in ("", *names):
        made.add_column(escape(name), justify="right", no_wrap=True)
    for name, row in zip(names, 100 * matrix, strict=True):
        made.add_row(escape(name), *(f"{value:.0f}" for value in row))
    return made


def print_run(run: Run, out: Path) -> None:
    to, classifier = console(), run.classifier
    names = [str(name) for name in classifier.classes_]
    to.print(f"Model: {_model_line(run)}")
    if run.evaluation is None:
        to.print("No test labels, so no scores: nothing was held out.")
    else:
        show(to, _scores(run))
        show(to, _per_class(run))
    if run.calibration is not None:
        to.print(_calibration_line(run.calibration))
    if run.flag is not None:
        print_flag(to, run.flag)
    if len(names) <= WIDEST:
        print_edge_frequency(to, classifier.edge_frequency_interval_, names)
    for note in worth_knowing(run):
        to.print(note)
    to.print(f"Written to {escape(str(out))}: predictions, matrices, metrics, model.")


def print_edge_frequency(to: Console, made: EdgeFrequency, names: list[str]) -> None:
    """The matrix with its intervals, and how far they can be trusted."""
    title = "Of the edges of a class (row), the share that leads to each class (column)"
    if np.isnan(made.low).all() or len(names) > WIDEST_INTERVALS:
        show(to, matrix_table(title, made.share, names))
    else:
        rows = table("", *names, title=f"{title}, {made.confidence:.0%} interval")
        for name, *row in zip(names, made.share, made.low, made.high, strict=True):
            cells = (
                f"{share:.2f} (?)" if np.isnan(low) else f"{share:.2f} ({low:.2f}–{high:.2f})"
                for share, low, high in zip(*row, strict=True)
            )
            rows.add_row(escape(name), *cells)
        show(to, rows)
    if made.method == "beliefs":
        to.print("From predicted probabilities alone: no validation node says how good they are.")
    elif made.optimistic:
        to.print("Intervals are optimistic: validation accuracy is below 80 %.")
    unseen = [name for name, seen in zip(names, made.evidence, strict=True) if not seen]
    if unseen:
        to.print(f"No edge between labelled nodes for: {escape(', '.join(unseen))}.")


def _calibration_line(made: Calibration) -> str:
    off = f"{100 * made.before.error:.1f}"
    if made.num_nodes == 0:
        return f"Probabilities are off by {off} points on average; not calibrated."
    return (
        f"Probabilities are off by {100 * made.after.error:.1f} points on average ({off} before "
        f"calibration; T = {made.temperature:.3g} from {made.num_nodes:,} validation nodes)."
    )


def print_flag(to: Console, flag: Flag) -> None:
    made = table("", "value", "95 % interval", "n", title=_flag_line(flag))
    for name, scored in (flag.test or {}).items():
        made.add_row(f"{name} on held-out nodes", *_cells(scored))
    show(to, made)


def _flag_line(flag: Flag) -> str:
    line = f"Flagged as {escape(flag.class_name)} from probability {flag.value:.3g} on"
    if flag.chosen is None:
        return line
    line += f": {flag.chosen.goal} on validation nodes ({flag.chosen.positives} positive)"
    return line if flag.chosen.reached else f"{line}, which no threshold reached; the closest"


def worth_knowing(run: Run) -> list[str]:
    """What a reader of the scores should not miss."""
    notes, scores = [], run.evaluation
    if scores is not None and scores.accuracy.value <= scores.majority.value:
        notes.append(
            "Note: this is no better than always naming the largest class "
            f"({scores.accuracy.value:.3f} against {scores.majority.value:.3f})."
        )
    classifier = run.classifier
    architecture = classifier.architecture_
    if architecture is not None and not architecture.is_inductive(classifier.n_features_in_):
        why = "no features" if not classifier.n_features_in_ else "LINK"
        how = "with features and --prior mlp or cheby" if why == "no features" else "--prior mlp"
        notes.append(
            f"Note: a model with {why} knows its nodes by name; 'cpgnn predict' cannot be used for "
            f"nodes that come later. Fit {how} for that."
        )
    return notes


def _model_line(run: Run) -> str:
    classifier = run.classifier
    line = str(classifier.architecture_)
    if classifier.num_layers_ == 0:
        line += "; its prior alone was best on the validation nodes, so no propagation is used"
    if classifier.self_trained_:
        line += f"; trained again with {classifier.self_trained_:,} sure predictions as labels"
    if run.refitted:
        line += "; refitted on all labels (scores are from before)"
    return line


def _scores(run: Run) -> Table:
    evaluation = run.evaluation
    assert evaluation is not None
    rows = [
        ("accuracy", evaluation.accuracy),
        ("always the largest class", evaluation.majority),
        ("macro-F1", evaluation.macro_f1),
    ]
    if evaluation.roc_auc and evaluation.average_precision:
        rows.append((f"ROC-AUC of {evaluation.positive}", evaluation.roc_auc))
        rows.append((f"average precision of {evaluation.positive}", evaluation.average_precision))
        for k, scored in (evaluation.precision_at or {}).items():
            rows.append((f"precision at {k}", scored))
    made = table("on held-out nodes", "value", "95 % interval", "n", title="Scores")
    for name, scored in rows:
        made.add_row(escape(name), *_cells(scored))
    return made


def _per_class(run: Run) -> Table:
    evaluation = run.evaluation
    assert evaluation is not None
    heads = ("precision", "95 % interval", "n", "recall", "95 % interval", "n")
    made = table("class", *heads, title="Per class")
    for name in evaluation.precision:
        precision, recall = evaluation.precision[name], evaluation.recall[name]
        made.add_row(escape(name), *_cells(precision), *_cells(recall))
    return made


def _cells(scored: Scored) -> tuple[str, str, str]:
    if np.isnan(scored.value):
        return "–", "–", str(scored.n)
    return f"{scored.value:.3f}", f"{scored.low:.3f} – {scored.high:.3f}", f"{scored.n:,}"


def print_stats(stats: Stats) -> None:
    to = console()
    made = table("", "", title="Graph")
    quartiles = ", ".join(f"{stats.degree_quantile(q):g}" for q in (0.25, 0.5, 0.75))
    largest = int(stats.degrees[-1, 0]) if len(stats.degrees) else 0
    rows = [
        ("nodes", f"{stats.nodes:,}"),
        ("edges", f"{stats.edges:,}"),
        ("self-loops set aside", f"{stats.self_loops:,}"),
        ("weighted", "yes" if stats.weighted else "no"),
        ("isolated nodes", f"{stats.isolated:,}"),
        ("degree: quartiles, largest", f"{quartiles}, {largest:,}"),
        ("features", f"{stats.features:,}" if stats.features else "none"),
        ("labelled nodes", f"{stats.labelled:,}"),
    ]
    if stats.class_names:
        rows.append(("homophily ratio h", _ratio(stats.homophily_ratio())))
        rows.append(("h with self-loops", _ratio(stats.homophily_ratio(self_loops=True))))
    for name, value in rows:
        made.add_row(name, value)
    show(to, made)
    if not stats.class_names:
        to.print("No labels: homophily and the compatibility matrix need --labels.")
        return
    names = list(stats.class_names)
    sizes = table("class", "labelled nodes", title="Classes")
    for name, count in zip(names, stats.class_sizes, strict=True):
        sizes.add_row(escape(name), f"{count:,}")
    show(to, sizes)
    title = "H: of the edges of a class (row), the share that leads to each class (column)"
    show(to, matrix_table(title, stats.compatibility_matrix(), names))


def _ratio(h: float) -> str:
    return "none: no edge joins two labelled nodes" if np.isnan(h) else f"{h:.3f}"


def print_demo(demo: Demo, picture: Path, report: Path) -> None:
    to = console()
    graph = demo.graph
    to.print(
        f"A generated graph: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, "
        f"{graph.num_classes} classes. Only {demo.homophily:.0%} of the edges stay within a class."
    )
    made = table("method", "accuracy", "95 % interval", "n", title="Test accuracy (10 % labels)")
    for name, scored in demo.accuracy.items():
        made.add_row(name, *_cells(scored))
    show(to, made)
    names = [str(name) for name in graph.class_names]
    matrices = {
        "Truth": demo.true,
        "Initial estimate": demo.initial,
        "Found by CPGNN": demo.found,
    }
    side_by_side = Table.grid(padding=(0, 3))
    side_by_side.add_row(*(percent_table(title, H, names) for title, H in matrices.items()))
    show(to, side_by_side)
    to.print(
        "Which classes connect: percent of the edges of a class that lead to each class. "
        f"Mean error per cell: {compatibility_error(demo.initial, demo.true):.3f} at the start, "
        f"{compatibility_error(demo.found, demo.true):.3f} in the end."
    )
    to.print(f"Picture: {escape(str(picture))}, report: {escape(str(report))}")


def print_pages(pages: list[tuple[str, pd.DataFrame]]) -> None:
    """Tables of text cells, one after the other; what a terminal is too narrow for, in blocks."""
    to = console()
    for title, frame in pages:
        for block in column_blocks(frame, to.width) if to.is_terminal else [frame]:
            made = table(*block.columns, title=title)
            for row in block.itertuples(index=False):
                made.add_row(*map(escape, row))
            show(to, made)


def column_blocks(frame: pd.DataFrame, width: int) -> list[pd.DataFrame]:
    """The first column with as many of the others as fit into `width`, then with the next."""
    first, *others = frame.columns
    needs = {name: 3 + max(map(len, (name, *frame[name]))) for name in frame.columns}
    blocks: list[list[str]] = [[]]
    for name in others:
        if blocks[-1] and needs[first] + sum(needs[n] for n in (*blocks[-1], name)) > width:
            blocks.append([])
        blocks[-1].append(name)
    return [frame[[first, *names]] for names in blocks]
