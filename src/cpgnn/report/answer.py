"""How good is it? The scores beside what they must beat."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cpgnn.engine.formatting import percent, quoted
from cpgnn.evaluation.metrics import HELD_OUT, Evaluation, Scored
from cpgnn.evaluation.verdict import Verdict, measured, times_chance
from cpgnn.run.run import Run

PRIOR_ALONE = (
    "On the validation nodes the model did best without propagation, so none is used: the classes "
    "come from its prior alone, and the matrix below is an estimate that was not trained."
)


@dataclass(frozen=True)
class Row:
    """A score of one model."""

    name: str
    scored: Scored
    ours: bool = False
    note: str = ""


@dataclass(frozen=True)
class Answer:
    """The first section of a report."""

    verdict: Verdict
    score: Scored | None
    """What stands in the largest letters."""
    score_is: str
    tables: tuple[tuple[str, tuple[Row, ...]], ...]
    """Captions, and the scores below them."""
    more_tables: tuple[tuple[str, tuple[Row, ...]], ...]
    more: tuple[str, ...]


def answer(run: Run) -> Answer:
    """From the scores of a run."""
    test, more = run.evaluation, () if run.classifier.num_layers_ else (PRIOR_ALONE,)
    if test is None:
        return Answer(run.verdict, None, "", (), (), more)
    blind = run.without_graph
    rows = _beside(run, test.accuracy, blind.accuracy if blind else None)
    rows += (Row("always the largest class", test.majority),)
    right = (f"Accuracy on {measured(test, short=True)}", rows)
    if not test.by_ranking or test.average_precision is None:
        text = f"of {measured(test)} {'gets' if test.accuracy.n == 1 else 'get'} the right class"
        return Answer(run.verdict, test.accuracy, text, (right,), _ranking(run, test), more)
    text = f"average precision for {quoted(test.positive)}, {times_chance(test)}"
    ranking = _ranking(run, test)
    return Answer(
        run.verdict, test.average_precision, text, ranking[:-1], (ranking[-1], right), more
    )


def _ranking(run: Run, test: Evaluation) -> tuple[tuple[str, tuple[Row, ...]], ...]:
    """How well the positive class is found: by the ranking, and by the threshold."""
    if test.average_precision is None or test.roc_auc is None or test.chance is None:
        return ()
    blind, flag, name = run.without_graph, run.flag, quoted(test.positive)
    rows = _beside(run, test.average_precision, blind.average_precision if blind else None)
    rows += (Row("a random order", test.chance),)
    tables = [(f"Average precision for {name}, on {measured(test, short=True)}", rows)]
    others = (blind and blind.precision_at) or {}
    first = tuple(
        Row(
            f"precision at {k:,}",
            scored,
            True,
            f"without the graph {percent(others[k].value)}" if k in others else "",
        )
        for k, scored in (test.precision_at or {}).items()
    )
    tables.append((f"How many of the nodes ranked first are {name}", first))
    if flag is not None and flag.test is not None and flag.class_name == test.positive:
        without = (blind and blind.threshold) or {}
        for kind in ("recall", "precision"):
            if flag.test[kind].n:
                own = test.measured_on != HELD_OUT  # each fit that was judged chose its own
                at = "the threshold of each fold" if own else f"a threshold of {flag.value:.3g}"
                caption = f"{kind.capitalize()} at {at}"
                rows = _beside(run, flag.test[kind], without.get(kind), ", at its own threshold")
                tables.append((caption, rows))
    tables.append((f"ROC-AUC for {name}", (Row("this model", test.roc_auc, True),)))
    return tuple(tables)


def _beside(run: Run, ours: Scored, blind: Scored | None, how: str = "") -> tuple[Row, ...]:
    rows = (Row("this model", ours, True),)
    if blind is None or np.isnan(blind.value):
        return rows
    note = "the same model without edges" if run.classifier.evidence_ else "an MLP on the features"
    return (*rows, Row("without the graph", blind, note=note + how))
