"""What commands print."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from cpgnn.check.facts import Stats
from cpgnn.compatibility import compatibility_error
from cpgnn.engine.formatting import (
    SHARED_NODE_LINKS,
    Counted,
    between,
    carried,
    matrix_title,
    percent,
    ratio,
    what_decides,
)
from cpgnn.errors import Message, tidy
from cpgnn.evaluation.intervals import EdgeFrequency
from cpgnn.evaluation.metrics import Evaluation, Scored
from cpgnn.evaluation.thresholds import Flag
from cpgnn.evaluation.verdict import measured
from cpgnn.evaluation.without_graph import WithoutGraph
from cpgnn.graph import Graph
from cpgnn.relations.derived import counted
from cpgnn.run.run import Run

if TYPE_CHECKING:
    from cpgnn.classifier import CPGNNClassifier
    from cpgnn.demo import Demo

MOST_RELATIONS = 4
"""Relations whose matrices are printed, the weightiest first."""
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


def print_notices(graph: Graph, known: Collection[str] = ()) -> None:
    """What was noticed while reading or splitting, and is not known yet."""
    for notice in graph.notices:
        if notice in known:
            continue
        print(f"Note: {in_words(notice)}", file=sys.stderr)


def in_words(text: str) -> str:
    """A sentence with its parameters spelt as flags, if it mentions any."""
    from cpgnn.cli.app import in_flags

    return tidy(text.spelt(in_flags) if isinstance(text, Message) else text, most=2000)


def table(*columns: str, title: str = "", rows: Iterable[Sequence[str]] = ()) -> Table:
    """A table whose first column is text and whose others are numbers."""
    made = Table(title=Text(title), box=box.SIMPLE_HEAD, show_header=any(columns))
    for i, column in enumerate(columns):
        made.add_column(Text(column), justify="right" if i else "left", no_wrap=True)
    for row in rows:
        made.add_row(*map(Text, row))
    return made


def share_table(title: str, matrix: np.ndarray, names: list[str]) -> Table:
    """A class matrix in whole percents."""
    cells = ([percent(value, 0) for value in row] for row in matrix)
    rows = ((name, *row) for name, row in zip(names, cells, strict=True))
    return table("", *names, title=title, rows=rows)


def narrow_table(title: str, matrix: np.ndarray, names: list[str]) -> Table:
    """The same, narrow enough for three side by side."""
    made = Table("", *names, title=title, box=None, padding=(0, 1, 0, 0), title_style="bold")
    for name, row in zip(names, 100 * matrix, strict=True):
        made.add_row(name, *(f"{value:.0f}" for value in row))
    for column in made.columns:
        column.justify, column.no_wrap = "right", True
    return made


def print_run(run: Run, out: Path) -> None:
    to, classifier = console(), run.classifier
    names = [str(name) for name in classifier.classes_]
    to.print(Text(f"Model: {_model_line(run)}"))
    if classifier.initial_from_ == "paths":
        to.print("Few edges join two labels, so H was first estimated from longer paths.")
    to.print(Text(run.verdict.headline, style="bold"))
    for reason in run.verdict.reasons:
        to.print(Text(in_words(reason)))
    if run.evaluation is not None:
        show(to, _scores(run.evaluation, run.without_graph))
        show(to, _per_class(run.evaluation))
    if run.calibration is not None:
        to.print(str(run.calibration))
    if run.flag is not None:
        scores = ((f"{name} on nodes held out", of) for name, of in (run.flag.test or {}).items())
        show(to, score_table(_flag_line(run.flag), scores))
    if run.sets is not None:
        for sentence in run.sets.sentences(run.graph.unlabelled):
            to.print(Text(sentence))
    if len(names) <= WIDEST:
        made = classifier.edge_frequency_interval_
        print_edge_frequency(to, made, names, counted(run.graph))
        for name, frequency in list(run.relations.items())[:MOST_RELATIONS]:
            title = f"{name}: {carried(classifier.evidence_, name)}, in percent"
            show(to, share_table(title, frequency.share, names))
    if note := _only_its_nodes(classifier):
        to.print(note)
    to.print(Text(f"Written to {out}: predictions, matrices, metrics, model."))


def print_edge_frequency(to: Console, made: EdgeFrequency, names: list[str], what: Counted) -> None:
    """The matrix with its intervals, and how far they can be trusted."""
    title = matrix_title(what)
    if np.isnan(made.low).all() or len(names) > WIDEST_INTERVALS:
        show(to, share_table(title, made.share, names))
    else:
        rows = (
            [name, *(_with_interval(*cell) for cell in zip(*row, strict=True))]
            for name, *row in zip(names, made.share, made.low, made.high, strict=True)
        )
        title = f"{title}, {percent(made.confidence, 0)} interval"
        show(to, table("", *names, title=title, rows=rows))
    if what == "shared-node links":
        to.print(SHARED_NODE_LINKS)
    if not any(made.evidence):
        to.print("No edge joins two labelled nodes: this table rests on predictions alone.")
        return
    if made.method == "beliefs":
        to.print("From predicted probabilities alone: no label was kept unseen to check them.")
    elif made.optimistic:
        to.print(
            "The intervals may be too narrow: the model gets fewer than 80 % of unseen labels "
            "right, or a class has few known edges."
        )
    unseen = [name for name, seen in zip(names, made.evidence, strict=True) if not seen]
    if unseen:
        to.print(Text(f"No edge between labelled nodes for: {', '.join(unseen)}."))


def _with_interval(share: float, low: float, high: float) -> str:
    return f"{percent(share, 0)} ({'?' if np.isnan(low) else between(low, high, 0)})"


def _flag_line(flag: Flag) -> str:
    line = f"Flagged as {flag.class_name} at a probability of {flag.value:.3g} or more"
    if flag.chosen is None:
        return line
    line += f": {flag.chosen.goal} on labels it had not seen ({flag.chosen.positives:,} positive)"
    return line if flag.chosen.reached else f"{line}, which no threshold reached; the closest"


def _only_its_nodes(classifier: CPGNNClassifier) -> str:
    """A note on a model that cannot predict other nodes than those it was fitted on."""
    architecture, columns = classifier.architecture_, classifier.n_features_in_
    if architecture is None or architecture.is_inductive(columns):
        return ""
    why, how = "LINK", "--prior mlp"
    if not columns:
        why, how = "no features", "with features and --prior mlp or cheby"
    return (
        f"Note: a model with {why} knows its nodes by name; 'cpgnn predict' cannot be used for "
        f"nodes that come later. Fit {how} for that."
    )


def _model_line(run: Run) -> str:
    classifier = run.classifier
    line = classifier.name
    if classifier.evidence_:
        line += f"; what decides: {what_decides(classifier.evidence_)}"
    if classifier.num_layers_ == 0:
        line += "; its prior alone was best on the validation nodes, so no propagation is used"
    if classifier.self_trained_:
        line += f"; trained again with {classifier.self_trained_:,} confident predictions as labels"
    if run.refitted:
        line += "; refitted on all labels (scores are from before)"
    return line


def _scores(test: Evaluation, blind: WithoutGraph | None) -> Table:
    rows = [("accuracy", test.accuracy)]
    if blind:
        rows.append(("accuracy without the graph", blind.accuracy))
    rows += [("always the largest class", test.majority), ("macro-F1", test.macro_f1)]
    if test.roc_auc and test.average_precision and test.chance:
        rows.append((f"average precision of {test.positive}", test.average_precision))
        if blind and blind.average_precision:
            rows.append(("average precision without the graph", blind.average_precision))
        rows.append(("average precision by chance", test.chance))
        rows.append((f"ROC-AUC of {test.positive}", test.roc_auc))
        for k, scored in (test.precision_at or {}).items():
            rows.append((f"precision at {k}", scored))
    return score_table(f"Scores of {measured(test)}", rows)


def score_table(title: str, scores: Iterable[tuple[str, Scored]]) -> Table:
    rows = ((name, *_cells(scored)) for name, scored in scores)
    return table("", "value", "95 % interval", "n", title=title, rows=rows)


def _per_class(test: Evaluation) -> Table:
    heads = ("precision", "95 % interval", "n", "recall", "95 % interval", "n")
    rows = (
        (name, *_cells(test.precision[name]), *_cells(test.recall[name])) for name in test.precision
    )
    return table("class", *heads, title="Per class", rows=rows)


def _cells(scored: Scored) -> tuple[str, str, str]:
    return percent(scored.value), between(scored.low, scored.high), f"{scored.n:,}"


def print_stats(stats: Stats) -> None:
    to = console()
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
    met = stats.class_edges.any() or stats.class_loops.any()
    if stats.class_names and not met:
        rows.append(("homophily ratio h", "none: no edge joins two labelled nodes"))
    elif stats.class_names:
        numbers = stats.weighted and stats.class_edge_numbers is not None
        for by_weight in (False, True) if numbers else (True,):
            by = f", by {'weight' if by_weight else 'edges'}" if stats.weighted else ""
            for self_loops, name in ((False, "homophily ratio h"), (True, "h with self-loops")):
                h = stats.homophily_ratio(self_loops=self_loops, by_weight=by_weight)
                rows.append((f"{name}{by}", ratio(h)))
    show(to, table("", "", title="Graph", rows=rows))
    if not stats.class_names:
        to.print("Homophily and the compatibility matrix need labels: --labels.")
        return
    names = list(stats.class_names)
    sizes = ((name, f"{size:,}") for name, size in zip(names, stats.class_sizes, strict=True))
    show(to, table("class", "labelled nodes", title="Classes", rows=sizes))
    if met or not stats.relations:
        title = f"H: {matrix_title('edge weight' if stats.weighted else 'edges')}"
        show(to, share_table(title, stats.compatibility_matrix(), names))
    for name, H in list(stats.relations.items())[:MOST_RELATIONS]:
        show(to, share_table(f"H: {name}, in percent", H, names))


def print_demo(demo: Demo, picture: Path, report: Path) -> None:
    to = console()
    graph = demo.graph
    to.print(
        f"A generated graph: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges, "
        f"{graph.num_classes} classes. Only {percent(demo.homophily, 0)} of the edges stay within "
        "a class."
    )
    show(to, score_table("Test accuracy with 10 % of the labels", demo.accuracy.items()))
    names = [str(name) for name in graph.class_names]
    matrices = {"Truth": demo.true, "Initial estimate": demo.initial, "Found by CPGNN": demo.found}
    side_by_side = Table.grid(padding=(0, 3))
    side_by_side.add_row(*(narrow_table(title, H, names) for title, H in matrices.items()))
    show(to, side_by_side)
    to.print(
        "Which classes connect: percent of the edges of a class that lead to each class. Off by "
        f"{compatibility_error(demo.initial, demo.true):.3f} per cell on average at the start, by "
        f"{compatibility_error(demo.found, demo.true):.3f} at the end."
    )
    to.print(Text(f"Picture: {picture}, report: {report}"))


def print_pages(pages: list[tuple[str, pd.DataFrame]]) -> None:
    """Tables of text cells, one after the other; what a terminal is too narrow for, in blocks."""
    to = console()
    for title, frame in pages:
        for block in column_blocks(frame, to.width) if to.is_terminal else [frame]:
            rows = block.itertuples(index=False)
            show(to, table(*block.columns, title=title, rows=rows))


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
