"""The default model on tables: `cpgnn.blend` for Spark.

A prior is a function of one row, once that row holds what was gathered around the node; a round of
the second stage is one join and one sum over all relations that are heard.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property, reduce
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cpgnn.blend.blend import Blend, Hearing
from cpgnn.priors.inputs import HALF, ROWS
from cpgnn.priors.members import NetworkPrior, TogetherPrior
from cpgnn.priors.rows import SMOOTHED, FromColumns, FromFeatures, Plan, column_names, light, part
from cpgnn.spark.heard import Heard, named
from cpgnn.spark.propagation import beliefs
from cpgnn.spark.relations import Relations, predicted_nodes
from cpgnn.spark.softmax import softmax
from cpgnn.spark.structure import COLUMNS, structure
from cpgnn.spark.tables import Tables
from cpgnn.spark.work import Work

if TYPE_CHECKING:
    from cpgnn.classifier import CPGNNClassifier

ALPHA = 0.1
"""Of personalised PageRank, as in `priors.columns.personalised`."""


@dataclass(frozen=True, eq=False)
class Distributed:
    """A fitted blend, and the graph that it speaks about."""

    classifier: CPGNNClassifier
    tables: Tables
    relations: Relations
    fit: DataFrame
    """The nodes of the fit: id, y (the label that trained it, -1: none) and what it knows of each:
    first weights of LINK and places."""
    work: Work

    @classmethod
    def of(
        cls,
        classifier: CPGNNClassifier,
        tables: Tables,
        work: Work,
        relations: Relations | None = None,
    ) -> Distributed:
        """`relations`: those of the graph, where they are there already."""
        fit = _fit_nodes(classifier, tables.nodes)
        if relations is None:
            known = fit.where(F.col("y") >= 0)
            assert isinstance(classifier.model_, Blend)
            asked = predicted_nodes(tables, known)
            relations = Relations(tables, asked, classifier.model_.edge_weights)
            relations.check(_heard(classifier.model_))
        return cls(classifier, tables, relations, fit, work)

    @property
    def blend(self) -> Blend:
        assert isinstance(self.classifier.model_, Blend)
        return self.classifier.model_

    @property
    def plan(self) -> Plan:
        made = Plan.of(self.blend, self.classifier.n_features_in_)
        return replace(made, priors=tuple(map(light, made.priors)))

    @cached_property
    def _rounds(self) -> dict[int, DataFrame]:
        return {}

    @cached_property
    def heard(self) -> Heard:
        """Every relation that is heard, by the second stage or in a prior."""
        return self.relations.heard(_heard(self.blend))

    def logits(self) -> DataFrame:
        """id, nothing (whether nothing is known of a node), b0 … b(c-1)."""
        return self._after(len(self.blend.stages))

    def spoken(self, t: int) -> DataFrame:
        """id, b0 … b(c-1): B − 1/c that neighbours speak with in round t; labels where known."""
        c, names = self.blend.num_classes, beliefs(self.blend.num_classes)
        first = self.own.select("id", "y", *_renamed(part("o", 0, c), names))
        P = softmax(self._after(t - 1) if t > 1 else first, names, rest=["y"])
        known = [F.when(F.col("y") >= 0, (F.col("y") == j).cast("double")) for j in range(c)]
        said = [F.coalesce(k, n) - 1 / c for k, n in zip(known, names, strict=True)]
        return P.select("id", *named(said, names))

    def _after(self, t: int) -> DataFrame:
        """The logits after round t; all but the last are written down."""
        if t in self._rounds:
            return self._rounds[t]
        c, stage = self.blend.num_classes, self.blend.stages[t - 1]
        names, own = beliefs(c), part("o", t, c)
        sums = self.heard.sums(self.spoken(t), names, self.blend.hears, stage.H_bar)
        logits, total = self.own.select("id", "y", "nothing", *own), [F.col(o) for o in own]
        if sums is not None:
            logits = logits.join(sums, "id", "left")
            total = [o + F.coalesce(n, F.lit(0.0)) for o, n in zip(total, names, strict=True)]
        logits = logits.select("id", "y", "nothing", *named(total, names))
        if t < len(self.blend.stages):
            logits = self.work.keep(f"round-{t}", logits)
        self._rounds[t] = logits
        return logits

    @cached_property
    def own(self) -> DataFrame:
        """id, y, nothing, and the own part of every round: o0_0 …"""
        plan, blend, work = self.plan, self.blend, self.work
        base = self.base
        parts = [base, *self._hops(base), *self._smoothed(base)]
        if plan.has_columns:
            parts.append(structure(self.relations.near, self.tables.nodes, work))
        for m, prior in plan.having("together"):
            assert isinstance(prior, TogetherPrior)
            names, raw = part("t", m, plan.c), part("r", m, plan.c)
            sums = self.heard.sums(*self.spoken_by(m, prior))
            if sums is None:
                sums = base.select("id", *(F.lit(0.0).alias(r) for r in raw))
            parts.append(sums.select("id", *_renamed(raw, names)))
        made = {name for one in parts[1:] for name in one.columns if name != "id"}
        first = base.select(*(name for name in base.columns if name not in made))
        row = reduce(lambda one, other: one.join(other, "id", "left"), [first, *parts[1:]])
        row = row.fillna(0.0, subset=[name for name in made if name not in COLUMNS])
        places = 0 if blend.basis.places is None else blend.basis.places.shape[1]
        makes = FromColumns(
            plan,
            np.stack([blend.w_0, *(stage.w for stage in blend.stages)]),
            np.stack([np.zeros(plan.c), *(stage.b for stage in blend.stages)]),
            column_names(plan, places),
        )
        own = row.mapInArrow(makes.rows, _schema(base, makes.names))
        return work.keep("own", base.select("id", "y", "nothing").join(own, "id"))

    def spoken_by(
        self, m: int, prior: TogetherPrior
    ) -> tuple[DataFrame, list[str], list[Hearing], np.ndarray]:
        """What neighbours say within a prior: arguments of `Heard.sums`."""
        raw = part("r", m, self.plan.c)
        P = softmax(self.base.select("id", *raw), raw, minus=1 / self.plan.c)
        return P, raw, [Hearing(name, HALF) for name in prior.relations], prior.made.H_bar

    @cached_property
    def base(self) -> DataFrame:
        """id, y, asked, nothing, degree, and what the features and the fit say of every node."""
        tables, plan = self.tables, self.plan
        row = self.tables.nodes.join(self.fit, "id", "left").fillna(-1, subset=["y"])
        row = row.fillna(0.0, subset=[n for n in self.fit.columns if n not in ("id", "y")])
        row = row.join(self.relations.linked, "id", "left")
        row = row.join(self.relations.degrees, "id", "left")
        asked: Column = F.lit(True)
        if self.relations.predicted is not None:
            marked = self.relations.predicted.select("id", F.lit(True).alias("asked_for"))
            row = row.join(marked, "id", "left")
            asked = F.col("asked_for").isNotNull()
        empty: Column = F.lit(True)
        if tables.features is not None:
            features = tables.features.withColumn("bare", F.lit(False))
            if tables.kinds is not None:
                features = self.tables.nodes.join(features, "id", "left")
                features = features.withColumn("bare", F.col("x0").isNull())
            makes = FromFeatures(plan, self.classifier.scaler_, self.blend.basis)
            schema = _schema(features, ["empty", *plan.own]).replace(
                "empty double", "empty boolean"
            )
            row = row.join(features.mapInArrow(makes.rows, schema), "id", "left")
            empty = F.col("empty")
        shared = self.classifier.class_shares_ is not None
        row = row.withColumns(
            {
                "asked": asked,
                "nothing": F.col("linked").isNull() & empty & (F.col("y") < 0) & F.lit(shared),
                "degree": F.coalesce("degree", F.lit(0.0)),
            }
        )
        dropped = ("linked", "neighbours", "asked_for", "empty")
        return self.work.keep("nodes", row.drop(*dropped))

    def _hops(self, base: DataFrame) -> Iterable[DataFrame]:
        """Means over one and two hops of what trees read; what LINK hears of the nodes it knows."""
        ties, paths = self._listed("all_rows"), self._listed("paths")
        if ties or paths:
            every = self.relations.adjacency
            on = [F.when(F.col("asked"), 0.0).otherwise(F.col(w)).alias(f"_{w}") for w in paths]
            sums = every.times(base.select("id", *ties, *paths, *on)).join(every.degrees(), "id")
            rooted = _rooted([*ties, *paths, *(f"_{w}" for w in paths)])
            first = self.work.keep("all-kinds", sums.select("id", *rooted))
            yield self._led_on(first, paths, base) if paths else first
        shares = self._listed("weighed_rows")
        if shares:
            W = self.relations.weighed
            sums = W.times(base.select("id", *shares)).join(W.degrees(), "id")
            yield self.work.keep("shared", sums.select("id", *_rooted(shares)))
        A, plan, degrees = self.relations.near, self.plan, self.relations.degrees
        z, link = plan.table, self._listed("rows")
        if not z and not link:
            return
        sums = A.times(base.select("id", *z, *link)).join(degrees, "id")
        means = [(F.col(name) / F.col("degree")).alias(f"n{name}") for name in z]
        rooted = _rooted(link)
        first = self.work.keep("one-hop", sums.select("id", *means, *rooted))
        yield first
        if z:
            again = A.times(first.select("id", *(f"n{name}" for name in z))).join(degrees, "id")
            means = [(F.col(f"n{name}") / F.col("degree")).alias(f"nn{name}") for name in z]
            yield self.work.keep("two-hops", again.select("id", *means))

    def _led_on(self, first: DataFrame, paths: list[str], base: DataFrame) -> DataFrame:
        """Sums over one edge, with those over two by way of other kinds: see `Inputs.paths`."""
        every, near = self.relations.adjacency, [f"s{w[1:]}" for w in paths]
        others = base.where(~F.col("asked")).select("id")
        on = first.join(others, "id", "left_semi")
        sums = every.times(on.select("id", *_renamed([f"s{w}" for w in paths], paths)))
        far = sums.join(every.degrees(), "id").select("id", *_rooted(paths))
        far = far.toDF("id", *(f"far_{s}" for s in near))
        total = [(F.col(s) + F.coalesce(f"far_{s}", F.lit(0.0))).alias(s) for s in near]
        rest = [s for s in first.columns if s not in (*near, *(f"s{w}" for w in paths))]
        made = first.join(far, "id", "left").select(*rest, *total)
        return self.work.keep("paths", made)

    def _listed(self, reads: str) -> list[str]:
        """The columns of `fit` that hold first weights of networks on such rows."""
        return [
            name
            for m, prior in self.plan.having(reads)
            if isinstance(prior, NetworkPrior)
            for name in part("w", m, len(prior.network.b))
        ]

    def _smoothed(self, base: DataFrame) -> Iterable[DataFrame]:
        """Ã^k of columns, or personalised PageRank of them; Ã = D̃^-½ (A + I) D̃^-½."""
        plan, blocks = self.plan, dict[str, tuple[int, float]]()
        columns: list[Column] = []
        for m, prior in plan.having(*SMOOTHED):
            steps = SMOOTHED[prior.reads]  # type: ignore[attr-defined]
            alpha = ALPHA if steps > 2 else 0.0
            blocks |= dict.fromkeys(part("s", m, plan.projected(prior)), (steps, alpha))
        columns += [F.col(name) for name in blocks]
        for m, _ in plan.having("spread"):
            names = part("s", m, plan.c)
            blocks |= dict.fromkeys(names, (10, ALPHA))
            columns += [(F.col("y") == j).cast("double").alias(n) for j, n in enumerate(names)]
        if not plan.F and plan.has_columns:
            names = [name for name in self.fit.columns if name.startswith("v")]
            blocks |= dict.fromkeys(names, (1, 0.0))
            columns += [F.col(name) for name in names]
        if not blocks:
            return
        scale = F.pow(F.col("degree") + 1, F.lit(-0.5)).alias("scale")
        start = base.select("id", scale, *columns)
        firsts = [name for name, (_, alpha) in blocks.items() if alpha]
        state = start.select("*", *(F.col(name).alias(f"first_{name}") for name in firsts))
        for t in range(1, max(steps for steps, _ in blocks.values()) + 1):
            state = self.work.keep(f"smooth-{t}", self._step(state, t, blocks))
        yield state.select("id", *blocks)

    def _step(self, state: DataFrame, t: int, blocks: dict[str, tuple[int, float]]) -> DataFrame:
        """Z ← α Z₀ + (1 − α) Ã Z for the blocks that need a step t."""
        s, now = F.col("scale"), [name for name, (steps, _) in blocks.items() if steps >= t]
        sent = [(s * F.col(name)).alias(f"sum_{name}") for name in now]
        joined = state.join(self.relations.near.times(state.select("id", *sent)), "id", "left")
        new = {}
        for name in now:
            alpha, Z = (
                blocks[name][1],
                s * (F.coalesce(f"sum_{name}", F.lit(0.0)) + s * F.col(name)),
            )
            new[name] = alpha * F.col(f"first_{name}") + (1 - alpha) * Z if alpha else Z
        return joined.withColumns(new).select(*state.columns)


def _heard(blend: Blend) -> list[str]:
    """The names of the relations that a blend hears, in its second stage or in a prior."""
    names = dict.fromkeys(one.relation for one in blend.hears)
    for prior in blend.priors:
        if isinstance(prior, TogetherPrior):
            names |= dict.fromkeys(prior.relations)
    return list(names)


def _fit_nodes(classifier: CPGNNClassifier, nodes: DataFrame) -> DataFrame:
    """What a blend knows of the nodes of its fit, by their ids: see `blend.known_nodes`."""
    blend, ids = classifier.model_, classifier.node_ids_
    assert isinstance(blend, Blend)
    whole = nodes.schema["id"].dataType.simpleString() == "bigint"
    if isinstance(ids, pd.RangeIndex) and not _same_numbers(nodes, len(ids)):
        at, names = np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64 if whole else object)
    else:
        at, names = _comparable(ids, whole)
    columns: dict[str, np.ndarray] = {"id": names, "y": blend.labels[at].astype(np.int32)}
    for m, prior in Plan.of(blend, classifier.n_features_in_).having(*ROWS):
        assert isinstance(prior, NetworkPrior)
        W = prior.network.W[at].astype(np.float64)
        columns |= dict(zip(part("w", m, W.shape[1]), W.T.copy(), strict=True))
    if blend.basis.places is not None:
        V = blend.basis.places[at].astype(np.float64)
        columns |= {f"v{i}": column.copy() for i, column in enumerate(V.T)}
    schema = {"id": pa.int64() if whole else pa.string()}
    arrays = {name: pa.array(values, schema.get(name)) for name, values in columns.items()}
    return nodes.sparkSession.createDataFrame(pa.table(arrays))


def _comparable(ids: pd.Index, whole: bool) -> tuple[np.ndarray, np.ndarray]:
    """Which ids of the fit can be ids here, and they as numbers or as text."""
    if not whole:
        return np.arange(len(ids)), ids.astype(str).to_numpy(dtype=object)
    if pd.api.types.is_integer_dtype(ids.dtype):
        return np.arange(len(ids)), ids.to_numpy(dtype=np.int64)
    text = ids.astype(str)
    plain = np.flatnonzero(text.str.fullmatch(r"0|-?[1-9]\d{0,17}"))
    return plain, text[plain].to_numpy(dtype=object).astype(np.int64)


def _same_numbers(nodes: DataFrame, n: int) -> bool:
    """Whether the nodes are called 0 … n-1: then they are those of a fit that named none."""
    number = F.expr("try_cast(id AS bigint)")
    found = nodes.agg(F.count(F.lit(1)), F.count(number), F.min(number), F.max(number)).first()
    return found is not None and tuple(found) == (n, n, 0, n - 1)


def _rooted(columns: list[str]) -> list[Column]:
    """Sums of w… divided by the root of the degree, as s…"""
    scale = F.pow("degree", F.lit(-HALF))
    return [(F.col(name) * scale).alias(f"s{name[1:]}") for name in columns]


def _renamed(old: list[str], new: list[str]) -> list[Column]:
    return named([F.col(name) for name in old], new)


def _schema(like: DataFrame, names: list[str]) -> str:
    kind = like.schema["id"].dataType.simpleString()
    return ", ".join([f"id {kind}", *(f"{name} double" for name in names)])
