"""The priors that a blend can be made of, each with what it reads and what it may cost.

    trees     boosted trees on own columns (16 principal coordinates where there are many), their
              means over one and two hops, and the shape of the graph around the node
    words     boosted trees on a sparse X itself
    mlp       a small network on the node's own columns
    smoothed  small networks on Ã² X (`sgc`) and on X smoothed by personalised PageRank (`ppr`)
    link      a small network on the node's row of D^-½ A, A as in `relations.derived.near`
    ties      one on the row of all edges, where there are other kinds of nodes: who has the same
              director tells more than that somebody has; and two edges far where these kinds lead
              to further ones (authors, papers, venues)
    together  own network and H̄ trained end to end in log-odds, γ = ½, edges and two hops

Where there are no features, `trees` read the shape of the graph and 16 principal coordinates of Ã,
`link` and `ties` are as above, and

    shares    (several kinds) one on a row of what is shared, with weights: who shares a director of
              three films tells more than who shares an actor of sixty
    spread    known labels, spread by personalised PageRank (nothing is fitted)

What is affordable is decided by sizes, never by the clock: the same input gives the same model.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from cpgnn.engine.cross_fitting import Worlds
from cpgnn.engine.loop import Begin, expect
from cpgnn.errors import must_be, wrong_value
from cpgnn.priors.columns import label_shares_around
from cpgnn.priors.inputs import HALF, Inputs
from cpgnn.priors.members import (
    EstimatorPrior,
    NetworkPrior,
    Prior,
    SpreadPrior,
    TogetherPrior,
    TreesPrior,
    estimated,
    floored,
    own_columns,
)
from cpgnn.priors.networks import Descent, fit_bag
from cpgnn.priors.together import fit_together
from cpgnn.priors.trees import Boosting, fit_trees
from cpgnn.relations.derived import among_predicted, entries_leading_on, is_far
from cpgnn.relations.relation import MAX_ENTRIES

MAX_LINK_NODES = 300_000
"""Beyond this the weights of LINK, 32 a node and world, outgrow the graph."""
MAX_EPOCH = 250_000_000
"""Multiplications of X with the weights of all worlds, an epoch: what a network may cost."""
IN_BATCHES = 128
"""Hidden units of `mlp` where that is too little for all rows at once: then there is much to learn
from, and batches make width cheap."""
MAX_TOGETHER_FAR = 1_000_000
"""Entries of "two hops" and the like up to which `together` hears it too."""
BAG, MOST_BAGGED = 3, 100_000
"""Networks on rows, where they are nearly all there is to read (several kinds of nodes, without
features): the mean of so many. Where nodes are more, one."""
COUNTS = 0.05
"""A prior that counts less is not fitted a second time."""
GROUPS = {"smoothed": ("sgc", "ppr"), "trees": ("trees", "words")}
"""What is asked for by one name."""
COLUMNS = ("trees", "mlp", "words")
"""What there is to learn where there are features but no edges."""

Made = tuple[Prior, np.ndarray]


@dataclass(frozen=True, eq=False)
class Member:
    """A fitted prior, its log-beliefs [k + 1, n, c] in every world, and its price."""

    prior: Prior
    logs: np.ndarray
    cpu_seconds: float

    @property
    def name(self) -> str:
        return self.prior.name


def fit_members(
    x: Inputs,
    worlds: Worlds,
    wanted: Any = "auto",
    *,
    fast: bool = False,
    seed: int = 0,
    begin: Begin | None = None,
    times: int = 1,
) -> list[Member]:
    """Every affordable prior ("auto"), those of a name, or an estimator; all cross-fitted.

    `fast` leaves out the slowest of the networks. `times`: how often all this is to come.
    """
    made = affordable(x, worlds, seed, begin)
    if fast:
        made.pop("together", None)
    if wanted == "auto" and x.graph.num_edges == 0 and x.graph.features is not None:
        made = {name: make for name, make in made.items() if name in COLUMNS}
    if not isinstance(wanted, str):
        made = {type(wanted).__name__: partial(_estimator, x, worlds, wanted)}
    elif wanted != "auto":
        names = GROUPS.get(wanted, (wanted,))
        made = {name: make for name, make in made.items() if name in names}
        if not made:
            raise _not_for(wanted, x)
    expect(begin, times * (len(made) + 1))  # and the neighbours, once these are fitted
    return [_fitted(name, make, x, begin) for name, make in made.items()]


def fit_again(
    members: list[Member],
    counts: np.ndarray,
    x: Inputs,
    worlds: Worlds,
    *,
    seed: int = 0,
    begin: Begin | None = None,
) -> list[Member]:
    """The same priors fitted to other lessons; those that hardly count stay as they are."""
    made = affordable(x, worlds, seed, begin)
    again = [w >= COUNTS and m.name in made for m, w in zip(members, counts, strict=True)]
    expect(begin, sum(again))
    return [
        _fitted(member.name, made[member.name], x, begin) if anew else member
        for member, anew in zip(members, again, strict=True)
    ]


def _fitted(name: str, make: Callable[[], Made], x: Inputs, begin: Begin | None) -> Member:
    if begin is not None and name not in ("trees", "words"):  # these report their rounds
        begin(name, 1)
    start = time.process_time()
    prior, logs = make()
    return Member(prior, x.uniform_elsewhere(logs), time.process_time() - start)


def affordable(
    x: Inputs, worlds: Worlds, seed: int, begin: Begin | None
) -> dict[str, Callable[[], Made]]:
    """How to fit each affordable prior, in the order in which that is done."""
    trees = partial(_trees, x, worlds, Boosting(seed=seed), begin)
    network = partial(_network, x, worlds)
    usual = Descent(seed=seed)
    made: dict[str, Callable[[], Made]] = {"trees": partial(trees, "trees", "columns")}
    if x.graph.num_nodes <= MAX_LINK_NODES:
        listed, others = Descent(weight_decay=2e-3, seed=seed), x.A is not x.graph.adjacency
        few = x.graph.features is None and x.graph.num_nodes <= MOST_BAGGED
        bag = BAG if others and few else 1
        made["link"] = partial(network, "link", "rows", listed, bag)
        if others:
            reads = "paths" if _leads_on(x, worlds) else "all_rows"
            made["ties"] = partial(network, "ties", reads, listed, bag)
            if few:
                made["shares"] = partial(network, "shares", "weighed_rows", listed, bag)
    if x.graph.features is None:
        made["spread"] = partial(_spread, x, worlds)
        return made
    entries = x.own.nnz if sp.issparse(x.own) else x.own.size
    wide = _width(entries, worlds.num_worlds)
    if wide:
        how = Descent(hidden=wide, weight_decay=1e-3, seed=seed)
        made["together"] = partial(_together, x, worlds, how)
    judged = len(worlds.judged) / x.graph.num_nodes
    hidden = _width(int(entries * judged), worlds.num_worlds) or IN_BATCHES
    made["mlp"] = partial(network, "mlp", "own", Descent(hidden=hidden, seed=seed))
    if sp.issparse(x.graph.features):
        made["words"] = partial(trees, "words", "words")
    made["ppr"] = partial(network, "ppr", "personalised", usual)
    made["sgc"] = partial(network, "sgc", "smoothed", usual)
    return made


def _leads_on(x: Inputs, worlds: Worlds) -> bool:
    """Whether other kinds lead to further ones, and a network can afford to read those paths."""
    entries = entries_leading_on(x.graph)
    judged = len(worlds.judged) / max(int(x.graph.predicted.sum()), 1)
    wide = _width(int(entries * judged), worlds.num_worlds)
    return bool(wide) and 0 < entries <= MAX_ENTRIES


def _width(entries: int, copies: int) -> int:
    """Hidden units a network that takes all rows at once can afford: 64, 32, or 0 (none)."""
    return next((h for h in (64, 32) if entries * h * copies <= MAX_EPOCH), 0)


def _trees(
    x: Inputs, worlds: Worlds, how: Boosting, begin: Begin | None, name: str, reads: str
) -> Made:
    weight = worlds.class_weight
    trees, logs = fit_trees(getattr(x, reads), worlds, how, weight=weight, begin=begin)
    return TreesPrior(name, reads, trees), floored(logs)


def _network(x: Inputs, worlds: Worlds, name: str, reads: str, how: Descent, bag: int = 1) -> Made:
    network, logs = fit_bag(getattr(x, reads), worlds, how, bag)
    return NetworkPrior(name, reads, network), floored(logs)


def _together(x: Inputs, worlds: Worlds, how: Descent) -> Made:
    heard = [
        x.relations[name]
        for name in among_predicted(x.graph, x.relations)
        if not is_far(name) or x.relations[name].matrix.nnz <= MAX_TOGETHER_FAR
    ]
    P, names = [r.propagator(HALF) for r in heard], tuple(r.name for r in heard)
    if x.graph.predicted.all():
        made, logs = fit_together(x.own, P, worlds, how)
        return TogetherPrior("together", names, made), logs
    asked = np.flatnonzero(x.graph.predicted)  # nobody else is heard by them
    inside = [sp.csr_array(p[asked][:, asked]) for p in P]
    made, some = fit_together(x.own[asked], inside, worlds.among(asked), how)
    logs = np.zeros((len(some), x.graph.num_nodes, worlds.num_classes), dtype=some.dtype)
    logs[:, asked] = some
    return TogetherPrior("together", names, made), logs


def _spread(x: Inputs, worlds: Worlds) -> Made:
    c = worlds.num_classes
    logs = [
        label_shares_around(x.A, worlds.fits(f), worlds.labels, c) for f in range(worlds.num_worlds)
    ]
    return SpreadPrior("spread", c), floored(np.stack(logs))


def _estimator(x: Inputs, worlds: Worlds, given: Any) -> Made:
    if not hasattr(given, "predict_proba"):
        must = "be a name, a function that makes a module, or a classifier with predict_proba"
        raise wrong_value("prior", must, type(given).__name__)
    X, c = own_columns(x), worlds.num_classes
    logs = []
    for f in range(worlds.num_worlds):
        nodes = worlds.fits(f)
        fitted = clone(given).fit(X[nodes], worlds.labels[nodes])
        logs.append(estimated(fitted, X, c))
    return EstimatorPrior(type(given).__name__, fitted, c), np.stack(logs)


def _not_for(name: str, x: Inputs) -> Exception:
    what = "have features" if x.graph.features is None else "be small enough"
    got = "none" if x.graph.features is None else f"{x.graph.num_nodes:,} nodes"
    return must_be("The graph", f"{what} for prior={name!r}", got, "Try prior='auto'.")
