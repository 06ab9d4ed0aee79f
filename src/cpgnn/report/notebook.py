"""What a notebook shows of a graph, a model and an explanation: one small piece of HTML each.

Every name is escaped and cut; of long lists the first entries stand there, and how many follow.
Nothing is trained, predicted or kept. Graphs show themselves with this, so it imports nothing
that knows them; what is made elsewhere (terms, the grid) is handed in.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import scipy.sparse as sp
from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from cpgnn.engine.arrays import class_sizes, same_class_share
from cpgnn.engine.formatting import (
    abridged,
    emphasised,
    percent,
    ratio,
    shortened,
    signed,
    whole_percent,
)
from cpgnn.engine.text import count

if TYPE_CHECKING:
    from cpgnn.classifier import CPGNNClassifier
    from cpgnn.explanation.explanation import Explanation
    from cpgnn.explanation.terms import Term
    from cpgnn.graph import Graph
    from cpgnn.report.grids import Grid

MOST_ROWS, MOST_CLASSES, MOST_NODES, MOST_TERMS = 10, 8, 5, 8
"""Rows of a table, classes of a matrix, nodes and neighbours of an explanation."""
LONGEST_NAME, LONGEST_TEXT = 30, 1000

Part = dict[str, Any]


def graph_html(graph: Graph) -> str:
    """Sizes, features, weights, homophily, and how many labelled nodes each class has."""
    labelled = class_sizes(graph.labels, graph.num_classes)
    known, alone = int(labelled.sum()), int((graph.num_neighbours == 0).sum())
    rows = [
        ("nodes", f"{graph.num_nodes:,}" + (f", {alone:,} without an edge" if alone else "")),
        ("edges", f"{graph.num_edges:,}"),
        ("weights", _weights(graph)),
        ("features", _features(graph)),
        ("classes", f"{graph.num_classes:,}"),
        ("labelled", f"{known:,} ({percent(known / max(graph.num_nodes, 1))})"),
    ]
    if len(graph.self_loops):
        rows.insert(2, ("self-loops", f"set aside at {count(len(graph.self_loops), 'node')}"))
    if known:
        rows.append(("homophily", _homophily(graph)))
    parts = [{"kind": "facts", "rows": rows}]
    if graph.num_classes:
        sizes = zip(graph.class_names[:MOST_ROWS], labelled[:MOST_ROWS], strict=True)
        listed = [(_name(name), f"{size:,}", percent(size / max(known, 1))) for name, size in sizes]
        head = ("class", "labelled nodes", "share of the labels")
        parts.append(_table("Classes", head, listed, graph.num_classes, "class", "classes"))
    parts += [_text(notice) for notice in graph.notices[:MOST_NODES]]
    return _render("Graph", parts)


def _weights(graph: Graph) -> str:
    if not graph.is_weighted:
        return "none"
    return f"from {graph.adjacency.data.min():g} to {graph.adjacency.data.max():g}"


def _features(graph: Graph) -> str:
    if graph.features is None:
        return "none"
    return f"{graph.features.shape[1]:,}" + (", sparse" if sp.issparse(graph.features) else "")


def _homophily(graph: Graph) -> str:
    A, y = graph.adjacency, graph.labels
    by_number = ratio(same_class_share(A, y, by_weight=False))
    if not graph.is_weighted:
        return by_number
    return f"{by_number} of the edges, {ratio(same_class_share(A, y))} of their weight"


def classifier_html(model: CPGNNClassifier, grid: Grid) -> str:
    """The model and its score, where edges lead (of the first MOST_CLASSES), and what was tried.

    A loaded model has no trials.
    """
    split, trials = model.split_, getattr(model, "trials_", None)
    blended = model.architecture_ is None and bool(model.evidence_)
    chose = len(split.val) - len(model.calibration_)  # those that set the temperature had no say
    which = f"of {count(chose, 'validation node')}, which also chose the epoch"
    score = (
        f"{percent(model.validation_score_)} ({model.settings_.select_by.replace('_', ' ')}"
        f"{', on labels that it had not seen' if blended else f' {which}'})"
    )
    rows = [
        ("model", model.name),
        ("layers", f"{model.num_layers_}" if model.num_layers_ else "0: the prior alone"),
        ("validation score", score if blended or chose else "none: no validation nodes"),
        ("trained on", count(len(split.train), "labelled node")),
    ]
    if model.self_trained_:
        rows.append(("self-training", f"with {count(model.self_trained_, 'prediction')} as labels"))
    if len(model.calibration_):
        held = count(len(model.calibration_), "labelled node")
        contrast = f", contrast {model.contrast_:+.2f}" if model.contrast_ else ""
        rows.append(("temperature", f"{model.temperature_:.3g}{contrast}, set on {held}"))
    more = _more(len(model.classes_), MOST_CLASSES, "class", "classes")
    parts = [
        {"kind": "facts", "rows": rows},
        _text(grid.text),
        {"kind": "grid", "matrix": grid, "more": more},
    ]
    if trials is not None and len(trials):
        listed = [
            (
                _name(t.candidate),
                percent(t.score),
                f"{t.loss:.3f}" if blended else percent(t.mean),
                _name(t.note),
            )
            for t in trials.head(MOST_ROWS).itertuples()
        ]
        head: tuple[str, ...] = ("candidate", "score", "log loss", "")
        caption = "What was tried, on labels it had not seen"
        if not blended:
            head = ("candidate", "best epoch", "mean of all epochs", "")
            caption = "What was tried, by validation score"
        parts.append(_table(caption, head, listed, len(trials), "candidate", "candidates"))
    return _render("CPGNNClassifier, fitted", parts)


def explanation_html(of: Explanation, terms: Callable[[Explanation, int, int], list[Term]]) -> str:
    """Sentences, and the terms as bars, of the first nodes."""
    parts = []
    for i in range(min(len(of), MOST_NODES)):
        best, second = (_name(of.class_names[j]) for j in (of.predicted[i], of.runner_up[i]))
        share = whole_percent(of.probabilities[i, of.predicted[i]])
        caption = f"{_name(of.node_ids[i])}: to the right for {best} ({share}), left for {second}"
        parts.append(_text(emphasised(abridged(of.words(i), LONGEST_TEXT))))
        parts.append({"kind": "bars", "caption": caption, "rows": _bars(terms(of, i, MOST_TERMS))})
    if len(of) > MOST_NODES:
        parts.append(_text(_more(len(of), MOST_NODES, "node", "nodes")))
    return _render(f"Explanation of {count(len(of), 'node')}", parts)


def _bars(listed: list[Term]) -> list[dict[str, Any]]:
    """Widths in percent of the room; zero stands where the longest bars to both sides just fit."""
    margins = [term.margin for term in listed]
    low, high = min(0.0, *margins), max(0.0, *margins)
    room = high - low if high - low >= 0.005 else 1.0  # what is written as 0.00 has no bar
    return [
        {
            "name": t.short(LONGEST_NAME)
            + (f", like {_name(t.looks_like)}" if t.looks_like else ""),
            "text": signed(t.margin),
            "left": 100 * (min(t.margin, 0.0) - low) / room,
            "width": 100 * abs(t.margin) / room,
            "against": t.margin < 0,
        }
        for t in listed
    ]


def _name(name: object) -> str:
    return shortened(name, LONGEST_NAME)


def _more(number: int, shown: int, one: str, many: str) -> str:
    return f"… and {count(number - shown, f'more {one}', f'more {many}')}" if number > shown else ""


def _text(text: str) -> Part:
    cut = text if hasattr(text, "__html__") else abridged(text, LONGEST_TEXT)
    return {"kind": "text", "text": cut}


def _table(
    caption: str, head: Sequence[str], rows: Sequence[Any], number: int, one: str, many: str
) -> Part:
    more = _more(number, MOST_ROWS, one, many)
    return {"kind": "table", "caption": caption, "head": head, "rows": rows, "more": more}


def _render(title: str, parts: Sequence[Part]) -> str:
    return template("notebook.html").render(title=title, parts=parts, cut=_name).strip()


@cache
def template(name: str) -> Template:
    """A template of this package; whatever it is given is escaped."""
    return Environment(
        loader=PackageLoader("cpgnn.report", "."),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template(name)
