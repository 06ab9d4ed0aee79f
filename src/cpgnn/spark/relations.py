"""Who a node hears, as tables: `cpgnn.relations` for Spark.

A relation has a row (source, target[, weight]) for every neighbour `source` that `target` hears.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cpgnn.blend.blend import Hearing
from cpgnn.engine.text import listed, shorten
from cpgnn.errors import must_be, wrong_value
from cpgnn.io.node_kinds import OTHER
from cpgnn.relations.derived import SHARED
from cpgnn.relations.edge_types import MOST_TYPES, UNNAMED, which_directed
from cpgnn.relations.edge_weights import RAW, Weights
from cpgnn.relations.relation import EDGES, MAX_ENTRIES, TWO_HOPS
from cpgnn.spark.adjacency import Adjacency, both_ways, merged, weighed
from cpgnn.spark.propagation import product
from cpgnn.spark.tables import Tables, kept, proper_rows


@dataclass(frozen=True, eq=False)
class TypeRows:
    """The edges of one type, merged: both directions of each, or u → v alone."""

    name: str
    rows: DataFrame
    directed: bool

    def relations(self) -> dict[str, DataFrame]:
        if not self.directed:
            return {self.name: self.rows}
        named = f"{self.name} ({{}})" if self.name != UNNAMED else "{}"
        return {named.format("out"): _turned(self.rows), named.format("in"): self.rows}


class Relations:
    """The relations of a graph by name, each made when it is asked for."""

    def __init__(self, tables: Tables, predicted: DataFrame | None, weights: Weights = RAW) -> None:
        """predicted: id of the nodes whose class is asked for; None: all of them. weights: what the
        model makes of those of the edges."""
        self.tables, self.predicted, self.weights = tables, predicted, weights

    @cached_property
    def types(self) -> list[TypeRows]:
        """Of a graph that has types or directions."""
        edges, directed = self.tables.edges, self.tables.directed
        if "type" not in edges.columns and not directed:
            return []
        names = [UNNAMED]
        if "type" in edges.columns:
            found = edges.select("type").distinct().limit(MOST_TYPES + 1).collect()
            names = sorted(row["type"] for row in found)
        if len(names) > MOST_TYPES:
            raise wrong_value("relation", f"name at most {MOST_TYPES} types", "more")
        made = []
        for name, one_way in zip(names, which_directed(names, directed), strict=True):
            rows = edges
            if "type" in edges.columns:
                rows = edges.where(F.col("type") == name).drop("type")
            if one_way:
                M = merged(rows.where(proper_rows(rows)))
                one_way = M.join(_turned(M), M.columns, "left_anti").first() is not None
            M = weighed(M if one_way else merged(both_ways(rows)), self.weights)
            made.append(TypeRows(name, M, one_way))
        plain = "type" not in edges.columns and not made[0].directed
        return [] if plain else made

    @cached_property
    def adjacency(self) -> Adjacency:
        """All edges, whatever their type and direction."""
        return Adjacency.of(self.tables, self.weights)

    @cached_property
    def near(self) -> Adjacency:
        """A as priors read it: see `relations.derived.near`."""
        if self.predicted is None:
            return self.adjacency
        found = [rows for rows in self._shared.values() if rows is not None]
        if not found:
            return self.adjacency
        ends = ["source", "target"]
        inside = self.adjacency.everything().select(*ends)
        for end in ends:
            inside = inside.join(self.predicted.withColumnRenamed("id", end), end, "left_semi")
        rows = reduce(DataFrame.unionByName, (r.select(*ends) for r in (inside, *found)))
        return Adjacency.laid_out(rows.distinct())

    @cached_property
    def degrees(self) -> DataFrame:
        """id, neighbours, degree in `near`."""
        return kept(self.near.degrees())

    @cached_property
    def _shared(self) -> dict[str, DataFrame | None]:
        types = self.types or [TypeRows(EDGES, self.adjacency.everything(), directed=False)]
        return {f"{kind.name}{SHARED}": self._sharing(kind) for kind in types}

    def _sharing(self, kind: TypeRows) -> DataFrame | None:
        """`relations.derived.shared`: W = M D^-1 Mᵀ over nodes of other kinds."""
        assert self.predicted is not None
        inside = self.predicted.select("id", F.lit(True).alias("asked"))
        ways = [kind.rows, _turned(kind.rows)] if kind.directed else [kind.rows]
        M = reduce(DataFrame.unionByName, ways).select("source", "target", _weight(kind.rows))
        for end in ("source", "target"):
            M = M.join(inside.toDF(end, f"{end}_asked"), end, "left")
        M = M.where(F.col("source_asked").isNotNull() & F.col("target_asked").isNull())
        counts = M.groupBy("target").agg(F.count(F.lit(1)).alias("n"), F.sum("weight").alias("D"))
        counts = kept(counts)
        square = counts.agg(F.sum(F.col("n").cast("double") ** 2)).first()
        if square is None or not square[0] or square[0] > MAX_ENTRIES:
            return None
        M = M.groupBy("source", "target").agg(F.sum("weight").alias("weight"))
        back = M.join(counts, "target").select(
            F.col("source").alias("hearer"), "target", (F.col("weight") / F.col("D")).alias("share")
        )
        pairs = M.join(back, "target").where(F.col("source") != F.col("hearer"))
        total = F.sum(F.col("weight") * F.col("share")).cast("float")
        groups = pairs.groupBy("source", F.col("hearer").alias("target"))
        return kept(groups.agg(total.alias("weight")))  # heard, and in `near`

    def _two_hops(self) -> DataFrame | None:
        """Nodes at distance exactly two, each once."""
        A = self.adjacency
        neighbours = F.col("neighbours").cast("double")
        square = A.degrees().agg(F.sum(neighbours**2)).first()
        if square is None or (square[0] or 0) > MAX_ENTRIES:
            return None
        once = A.everything().select("source", "target")
        first = once.toDF("source", "middle")
        pairs = first.join(once.toDF("middle", "target"), "middle").select("source", "target")
        pairs = pairs.where(F.col("source") != F.col("target")).distinct()
        return pairs.join(once, ["source", "target"], "left_anti")

    def named(self) -> dict[str, Callable[[], DataFrame | None]]:
        """How to make every relation; None where one is not affordable."""
        made: dict[str, Callable[[], DataFrame | None]] = {}
        for kind in self.types:
            made |= {name: partial(_itself, rows) for name, rows in kind.relations().items()}
        made[EDGES] = self.adjacency.everything
        if self.predicted is None:
            return made | {TWO_HOPS: self._two_hops}
        return made | {name: partial(_itself, rows) for name, rows in self._shared.items()}

    def release(self) -> None:
        """Forgets what is kept on the executors."""
        for name in ("adjacency", "near"):
            if name in self.__dict__:
                self.__dict__[name].release()
        if "degrees" in self.__dict__:
            self.degrees.unpersist()
        self.tables.ends.unpersist()

    def heard(self, names: Sequence[str]) -> Heard:
        """All that is said over these relations, in one table."""
        if list(names) == [EDGES] and self.near is self.adjacency:
            return Heard(self.adjacency, (EDGES,), self.degrees)
        made, parts = self.named(), []
        for r, name in enumerate(names):
            rows = made[name]() if name in made else None
            if rows is None:
                must = f"have the relation {shorten(name)}, which the model hears"
                there = [name for name, make in made.items() if make() is not None]
                raise must_be("The graph", must, listed(there))
            rows = rows.select("source", "target", _weight(rows))
            degree = rows.groupBy("target").agg(F.sum("weight").alias("degree"))
            rows = rows.join(degree, "target").withColumn("relation", F.lit(r))
            numbers = (F.col(name).cast("float").alias(name) for name in ("weight", "degree"))
            parts.append(rows.select("source", "target", *numbers, "relation"))
        every = Adjacency.laid_out(reduce(DataFrame.unionByName, parts)) if parts else None
        return Heard(every, tuple(names))


@dataclass(frozen=True, eq=False)
class Heard:
    """The edges of several relations in one table, so that a round is one join and one sum."""

    A: Adjacency | None
    """With relation (its number) and degree (the target's in it), where they are no plain edges."""
    names: tuple[str, ...]
    degrees: DataFrame | None = None
    """Of plain edges: id, degree."""

    def sums(
        self, B: DataFrame, columns: list[str], hears: Sequence[Hearing], H_bar: np.ndarray
    ) -> DataFrame | None:
        """Σ_r P_r B H̄_r of beliefs B (id and `columns`, 1/c less); a node may have no row."""
        if self.A is None or not hears:
            return None
        if self.degrees is not None:
            sums = self.A.times(B.select("id", *named(product(columns, H_bar[0]), columns)))
            scaled = [F.col(name) * _scale(hears[0].gamma) for name in columns]
            return sums.join(self.degrees, "id").select("id", *named(scaled, columns))
        messages, terms = self._spoken(columns, hears, H_bar)
        values = B.select("id", *named(messages.values(), messages))
        return self.A.gathered(values, {name: F.sum(term) for name, term in terms.items()})

    def terms(
        self,
        nodes: DataFrame,
        B: DataFrame,
        columns: list[str],
        hears: Sequence[Hearing],
        H_bar: np.ndarray,
    ) -> DataFrame | None:
        """What each neighbour says to `nodes` (id): source, target, relation and `columns`."""
        if self.A is None or not hears:
            return None
        rows = self.A.everything()
        if self.degrees is not None:
            degrees = self.degrees.select(F.col("id").alias("target"), "degree")
            rows = rows.select("source", "target", _weight(rows), F.lit(0).alias("relation"))
            rows = rows.join(degrees, "target")
        rows = rows.join(F.broadcast(nodes.withColumnRenamed("id", "target")), "target")
        messages, terms = self._spoken(columns, hears, H_bar)
        values = B.select(F.col("id").alias("source"), *named(messages.values(), messages))
        ends = ["source", "target", "relation"]
        return rows.join(values, "source").select(*ends, *named(terms.values(), terms))

    def _spoken(
        self, columns: list[str], hears: Sequence[Hearing], H_bar: np.ndarray
    ) -> tuple[dict[str, Column], dict[str, Column]]:
        """What a node says over each relation; and what of it goes along an edge."""
        at = [self.names.index(one.relation) for one in hears]
        messages: dict[str, Column] = {}
        for r, H in zip(at, H_bar, strict=True):
            spoken = zip(columns, product(columns, H), strict=True)
            messages |= {f"m{r}_{name}": message for name, message in spoken}
        terms = {}
        for name in columns:
            term: Column = F.lit(0.0)
            for r, one in zip(at, hears, strict=True):
                said = F.col("weight") * _scale(one.gamma) * F.col(f"m{r}_{name}")
                term = F.when(F.col("relation") == r, said).otherwise(term)
            terms[name] = term
        return messages, terms


def _scale(gamma: float) -> Column:
    """degree^-γ"""
    return F.pow("degree", F.lit(-gamma)) if gamma else F.lit(1.0)


def predicted_nodes(
    tables: Tables, nodes: DataFrame, known: DataFrame | None = None
) -> DataFrame | None:
    """id of the nodes of the kind that has labels, or where there are none had them (`known`) in
    the fit; None: all."""
    if tables.kinds is None:
        return None
    labelled = known if tables.labels is None else tables.labelled
    if labelled is None:
        return None
    kind = F.coalesce("kind", F.lit(OTHER))
    every = kept(nodes.join(tables.kinds, "id", "left").select("id", kind.alias("kind")))
    found = every.join(labelled, "id", "left_semi").select("kind").distinct().collect()
    wanted = [row["kind"] for row in found]
    if not wanted or every.where(~F.col("kind").isin(wanted)).first() is None:
        return None
    return kept(every.where(F.col("kind").isin(wanted)).select("id"))


def _itself(rows: DataFrame | None) -> DataFrame | None:
    return rows


def named(columns: Iterable[Column], names: Iterable[str]) -> list[Column]:
    """The columns under these names."""
    return [column.alias(name) for column, name in zip(columns, names, strict=True)]


def _turned(rows: DataFrame) -> DataFrame:
    rest = [name for name in rows.columns if name not in ("source", "target")]
    return rows.select(F.col("target").alias("source"), F.col("source").alias("target"), *rest)


def _weight(rows: DataFrame) -> Column:
    weight = F.col("weight").cast("double") if "weight" in rows.columns else F.lit(1.0)
    return weight.alias("weight")
