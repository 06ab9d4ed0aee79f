"""Who a node hears, as tables: `cpgnn.relations` for Spark.

A relation has a row (source, target[, weight]) for every neighbour `source` that `target` hears.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cpgnn.engine.text import listed, shorten
from cpgnn.errors import CPGNNError, must_be, wrong_value
from cpgnn.relations.edge_types import MOST_TYPES, UNNAMED, own_names, which_directed
from cpgnn.relations.edge_weights import RAW, Weights
from cpgnn.relations.kinds import OTHER
from cpgnn.relations.relation import EDGES, MAX_ENTRIES, SHARED, TWO_HOPS
from cpgnn.spark.adjacency import Adjacency, both_ways, merged, weighed
from cpgnn.spark.heard import Heard, named, weight_of
from cpgnn.spark.keeping import kept
from cpgnn.spark.tables import Tables, proper_rows


@dataclass(frozen=True, eq=False)
class TypeRows:
    """The edges of one type: both directions of each, or u → v alone."""

    name: str
    given: DataFrame
    """Their rows as they were given."""
    directed: bool
    weights: Weights = RAW

    @property
    def rows(self) -> DataFrame:
        """Merged."""
        one = self.given.where(proper_rows(self.given)) if self.directed else both_ways(self.given)
        return weighed(merged(one), self.weights)

    @property
    def ways(self) -> tuple[str, str]:
        """The relations in which v hears u, and u hears v, for an edge u → v."""
        if not self.directed:
            return self.name, self.name
        named = f"{self.name} ({{}})" if self.name != UNNAMED else "{}"
        return named.format("in"), named.format("out")

    def relations(self) -> dict[str, DataFrame]:
        into, out = self.ways
        return {out: _turned(self.rows), into: self.rows} if self.directed else {out: self.rows}


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
            rows, called = edges, name
            if "type" in edges.columns:
                rows = edges.where(F.col("type") == name).drop("type")
                [called] = own_names([name])
            made.append(TypeRows(called, rows, one_way and _leads(rows), self.weights))
        plain = "type" not in edges.columns and not made[0].directed
        return [] if plain else made

    @cached_property
    def adjacency(self) -> Adjacency:
        """All edges, whatever their type and direction."""
        return Adjacency.of(self.tables, self.weights)

    @cached_property
    def near(self) -> Adjacency:
        """A as priors read it: see `relations.derived.near`."""
        rows = self._near_rows()
        if rows is None:
            return self.adjacency
        pairs = rows.select("source", "target").distinct()
        return Adjacency.laid_out(pairs, self.tables.num_nodes)

    @cached_property
    def weighed(self) -> Adjacency:
        """The same with what is shared as weights: see `relations.derived.weighed_near`."""
        rows = self._near_rows()
        if rows is None:
            return self.near
        return Adjacency.laid_out(rows, self.tables.num_nodes, merge=True)

    def _near_rows(self) -> DataFrame | None:
        """source, target, weight: edges among predicted nodes, and what they share; pairs may come
        again. None where all edges are near."""
        if self.predicted is None:
            return None
        found = [rows for rows in self._shared.values() if rows is not None]
        if not found:
            return None
        inside = self.adjacency.everything()
        inside = inside.select("source", "target", weight_of(inside))
        for end in ("source", "target"):
            inside = inside.join(self.predicted.withColumnRenamed("id", end), end, "left_semi")
        return reduce(DataFrame.unionByName, (inside, *found))

    @cached_property
    def degrees(self) -> DataFrame:
        """id, neighbours, degree in `near`."""
        return kept(self.near.degrees())

    @property
    def linked(self) -> DataFrame:
        """id of the nodes with a neighbour of any kind, marked as linked."""
        degrees = self.degrees if self.near is self.adjacency else self.adjacency.degrees()
        return degrees.select("id", F.lit(True).alias("linked"))

    @cached_property
    def _shared(self) -> dict[str, DataFrame | None]:
        if not self.types:
            return {f"{EDGES}{SHARED}": self._sharing([self.adjacency.everything()])}
        return {
            f"{kind.name}{SHARED}": self._sharing([*kind.relations().values()])
            for kind in self.types
        }

    def _sharing(self, ways: list[DataFrame]) -> DataFrame | None:
        """`relations.derived.shared` of an edge type: W = M D^-1 Mᵀ over nodes of other kinds."""
        assert self.predicted is not None
        inside = self.predicted.select("id", F.lit(True).alias("asked"))
        M = reduce(DataFrame.unionByName, ways).select("source", "target", weight_of(ways[0]))
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

    @property
    def derived(self) -> dict[str, Callable[[], DataFrame | None]]:
        """How to make every relation that is not one of edges; None where it is not affordable."""
        if self.predicted is None:
            return {TWO_HOPS: self._two_hops}
        kinds = [kind.name for kind in self.types] or [EDGES]
        return {f"{name}{SHARED}": partial(self._one_shared, f"{name}{SHARED}") for name in kinds}

    def _one_shared(self, name: str) -> DataFrame | None:
        return self._shared[name]

    @property
    def of_edges(self) -> list[str]:
        """The names of the relations of edges."""
        return [*dict.fromkeys(name for kind in self.types for name in kind.ways[::-1]), EDGES]

    def check(self, names: Iterable[str]) -> None:
        """Raises unless the graph can have these relations; the types of its edges tell."""
        there = [*self.of_edges, *self.derived]
        for name in names:
            if name not in there:
                raise self._missing(name, there)

    def _missing(self, name: str, there: list[str]) -> CPGNNError:
        must = f"have the relation {shorten(name)}, which the model hears"
        return must_be("The graph", must, listed(there))

    def release(self) -> None:
        """Forgets what is kept on the executors."""
        for name in ("adjacency", "near", "weighed"):
            if name in self.__dict__:
                self.__dict__[name].release()
        if "degrees" in self.__dict__:
            self.degrees.unpersist()
        self.tables.nodes.unpersist()

    def heard(self, names: Sequence[str]) -> Heard:
        """All that is said over these relations, in one table."""
        if list(names) == [EDGES] and self.near is self.adjacency:
            return Heard(self.adjacency, (EDGES,), self.degrees)
        derived, parts = self.derived, []
        far = [name for name in names if name in derived]
        if len(far) < len(names):
            parts.append(self._by_target(names))
        for name in far:
            rows = derived[name]()
            if rows is None:
                there = [each for each in far if derived[each]() is not None]
                raise self._missing(name, self.of_edges + there)
            rows = rows.select("source", "target", weight_of(rows))
            if not self.adjacency.sent:
                degree = rows.groupBy("target").agg(F.sum("weight").alias("degree"))
                rows = rows.join(degree, "target")
            parts.append(_typed(rows.withColumn("relation", F.lit(names.index(name)))))
        if not parts:
            return Heard(None, tuple(names))
        # Where only edges are heard, hubs are those of the edges.
        hubs = None if far else self.adjacency.hub_ids
        rows, placed = reduce(DataFrame.unionByName, parts), len(parts) == 1 and not far
        A = Adjacency.laid_out(rows, self.tables.num_nodes, hubs, placed=placed)
        return Heard(A, tuple(names))

    def _by_target(self, names: Sequence[str]) -> DataFrame:
        """source, target, weight, relation (its number) of all relations of edges among `names`,
        from one reading of the edges; and degree (the target's), where sums are shuffled."""
        edges, derived = self.tables.edges, self.derived
        at = {name: r for r, name in enumerate(names) if name not in derived}
        into: Column = F.lit(None).cast("int")
        out = into
        for kind in self.types:
            here = F.col("type") == kind.name if "type" in edges.columns else F.lit(True)
            into, out = (
                F.when(here, F.lit(at.get(name))).otherwise(rest)
                for name, rest in zip(kind.ways, (into, out), strict=True)
            )
        u, v, rest = F.col("source"), F.col("target"), list(map(F.col, _weights(edges)))
        both = [(u, v, into), (v, u, out)]
        if EDGES in at:
            both += [(u, v, F.lit(at[EDGES])), (v, u, F.lit(at[EDGES]))]
        said = [
            F.struct(a.alias("source"), b.alias("target"), *rest, r.cast("int").alias("relation"))
            for a, b, r in both
        ]
        rows = edges.where(proper_rows(edges)).select(F.inline(F.array(*said)))
        rows = rows.where(F.col("relation").isNotNull())
        # By target first: merging and adding up what a node hears then move nothing any more.
        rows = rows.repartition(self.adjacency.partitions, "target")
        rows = weighed(merged(rows, "relation"), self.weights)
        rows = rows.select("source", "target", weight_of(rows), "relation")
        if self.adjacency.sent:
            return _typed(rows)
        degrees = {
            f"d{r}": F.sum(F.when(F.col("relation") == r, F.col("weight"))) for r in at.values()
        }
        total = rows.groupBy("target").agg(*named(degrees.values(), degrees))
        degree = F.coalesce(*(F.when(F.col("relation") == r, F.col(f"d{r}")) for r in at.values()))
        return _typed(rows.join(total.hint("merge"), "target").withColumn("degree", degree))


def predicted_nodes(tables: Tables, known: DataFrame | None = None) -> DataFrame | None:
    """id of the nodes of the kind that has labels, or where there are none had them (`known`) in
    the fit; None: all."""
    if tables.kinds is None:
        return None
    labelled = known if tables.labels is None else tables.labelled
    if labelled is None:
        return None
    kind = F.coalesce("kind", F.lit(OTHER))
    every = kept(tables.nodes.join(tables.kinds, "id", "left").select("id", kind.alias("kind")))
    found = every.join(labelled, "id", "left_semi").select("kind").distinct().collect()
    wanted = [row["kind"] for row in found]
    if not wanted or every.where(~F.col("kind").isin(wanted)).first() is None:
        return None
    return kept(every.where(F.col("kind").isin(wanted)).select("id"))


def _leads(rows: DataFrame) -> bool:
    """Whether an edge has no counterpart, or one of another weight: a few are looked at first."""
    ends = ["source", "target"]
    proper = rows.where(proper_rows(rows))
    few = {(row["target"], row["source"]) for row in proper.select(*ends).limit(100).collect()}
    if few:
        kind = rows.schema["source"].dataType.simpleString()
        back = rows.sparkSession.createDataFrame([*few], f"source {kind}, target {kind}")
        if proper.select(*ends).join(F.broadcast(back), ends, "left_semi").distinct().count() < len(
            few
        ):
            return True
    M = merged(proper)
    return M.join(_turned(M), M.columns, "left_anti").first() is not None


def _weights(rows: DataFrame) -> list[str]:
    return ["weight"] if "weight" in rows.columns else []


def _turned(rows: DataFrame) -> DataFrame:
    rest = [name for name in rows.columns if name not in ("source", "target")]
    return rows.select(F.col("target").alias("source"), F.col("source").alias("target"), *rest)


def _typed(rows: DataFrame) -> DataFrame:
    """The columns of `Heard`, numbers as 32-bit numbers."""
    names = [name for name in ("weight", "degree") if name in rows.columns]
    numbers = [F.col(name).cast("float").alias(name) for name in names]
    return rows.select("source", "target", *numbers, "relation")
