"""The paper's models, tried in turn: prior and number of layers by validation score alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from cpgnn.engine.loop import Observer, Training
from cpgnn.errors import BeliefOverflowError, check_choice
from cpgnn.graph import Graph
from cpgnn.model import Architecture
from cpgnn.settings import Settings
from cpgnn.splits import Split, exchanged
from cpgnn.training import train

CANDIDATES = (
    Architecture("mlp", 1),
    Architecture("mlp", 2),
    Architecture("cheby", 1),
    Architecture("cheby", 2),
    Architecture("link", 1),
)
"""Tried in this order; a later one must be strictly better."""

DROPOUT = 0.5
"""Tried as well, where the authors' code tries it: in the MLP prior if there are features, on the
input of the Chebyshev prior if there are none."""

TRIAL_PRETRAIN, TRIAL_EPOCHS = 100, 300
"""The budget of a trial, in epochs. The winner is then trained with the full one."""

ENOUGH = 1000
"""With fewer validation nodes than this, chance decides between close candidates: each is tried a
second time, with training nodes for validation in exchange."""

MAX_CHEBY_EDGES = 2_000_000
"""Beyond this a Chebyshev trial would take longer than everything else together: each epoch
multiplies the whole graph with 64 columns, four times over."""

MAX_LINK_NODES = 300_000
"""Beyond this the LINK prior's own weights (64 for every node) outgrow the graph."""

MAX_FIELD_NODES = 300_000
"""Beyond this many nodes within K hops of the labels, a second layer is not tried: an epoch of it
costs the whole graph where one layer costs a part."""


@dataclass(frozen=True)
class Trial:
    """One candidate and its validation scores on the short budget (a mean, if it ran twice)."""

    candidate: Architecture
    score: float
    """Of the best epoch."""
    mean: float
    """Over all epochs: the best of 400 on a few validation nodes is partly luck."""
    note: str = ""

    @property
    def merit(self) -> float:
        """What the candidates are ranked by."""
        return self.score + self.mean


def candidates(
    graph: Graph,
    split: Split,
    like: Architecture,
    prior: str = "auto",
    num_layers: int | None = None,
) -> list[Architecture]:
    """The short list for this graph; `prior` and `num_layers` narrow it, `like` gives the rest."""
    check_choice("prior", prior, ("auto", "mlp", "cheby", "link"))
    chosen: list[Architecture] = []
    for candidate in CANDIDATES:
        K = candidate.num_layers if num_layers is None else num_layers
        entry = replace(like, prior=candidate.prior, num_layers=K)
        if prior not in ("auto", candidate.prior) or entry in chosen:
            continue
        if prior == "auto" and not _affordable(entry, graph):
            continue
        if num_layers is None and K > 1 and not _within_reach(entry, graph, split):
            continue
        chosen.append(entry)
    if prior == "auto" and like.dropout == 0:
        dropping = "cheby" if graph.features is None else "mlp"
        chosen += [replace(entry, dropout=DROPOUT) for entry in chosen if entry.prior == dropping]
    return chosen


def _affordable(entry: Architecture, graph: Graph) -> bool:
    if entry.prior == "cheby":
        return graph.num_edges <= MAX_CHEBY_EDGES
    return entry.prior != "link" or graph.num_nodes <= MAX_LINK_NODES


def _within_reach(entry: Architecture, graph: Graph, split: Split) -> bool:
    if graph.num_nodes <= MAX_FIELD_NODES:
        return True
    labelled = np.concatenate([split.train, split.val])
    return graph.view().of(labelled).widened(entry.num_layers).num_nodes <= MAX_FIELD_NODES


def has_few(split: Split) -> bool:
    """Whether validation nodes are so few that chance has a say, see `ENOUGH`."""
    return 0 < len(split.val) < ENOUGH


def choose(
    entries: list[Architecture],
    graph: Graph,
    split: Split,
    settings: Settings,
    *,
    seed: int = 0,
    device: str = "cpu",
    begin: Callable[[Architecture, int], Observer | None] | None = None,
) -> list[Trial]:
    """A trial of every candidate on the short budget, best first: by best epoch + mean of all.

    Where validation nodes are few, a trial is two: see `ENOUGH`. A candidate whose beliefs overflow
    is out, with a note. `begin(candidate, epochs)` is told of each trial and may return an observer
    for it.
    """
    short = settings.but(
        pretrain_epochs=min(settings.pretrain_epochs, TRIAL_PRETRAIN),
        epochs=min(settings.epochs, TRIAL_EPOCHS),
    )
    splits = [split]
    if has_few(split):
        splits.append(exchanged(split, graph.labels))
    budget = len(splits) * (short.pretrain_epochs + short.epochs)
    trials = []
    for entry in entries:
        observe = begin(entry, budget) if begin else None
        records = []
        try:
            for part in splits:
                model = entry.build(graph, seed=seed, device=device)
                records.append(train(model, graph, part, short, seed=seed, observe=observe))
        except BeliefOverflowError as error:
            trials.append(Trial(entry, float("-inf"), float("-inf"), str(error)))
            continue
        trials.append(_trial(entry, records))
    return sorted(trials, key=lambda trial: -trial.merit)


def _trial(entry: Architecture, records: list[Training]) -> Trial:
    best = np.mean([record.score for record in records])
    means = [np.mean([epoch.score for epoch in record.epochs] or best) for record in records]
    note = "prior alone was best" if records[0].phase == 1 else ""
    return Trial(entry, float(best), float(np.mean(means)), note)
