"""The nodes that tables name, and whether the tables agree about them.

Where every node must have features, and the ids of those that have them can be sent to every
executor, edges are looked at where they lie. Else the ends of edges are gathered by id.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cpgnn.engine.text import count, listed
from cpgnn.io.files import wrong
from cpgnn.relations.kinds import OTHER
from cpgnn.spark.keeping import kept
from cpgnn.spark.rows import PADDED, trimmed
from cpgnn.spark.sending import columns_sent

MARKS = ("ends", "labels", "known", "features", "kinds", "kind")


@dataclass(frozen=True)
class Names:
    """What messages call the tables: their paths, where they have one."""

    edges: str = "edges"
    labels: str = "labels"
    features: str = "features"
    kinds: str = "kinds"


@dataclass(frozen=True, eq=False)
class Ids:
    """Tables whose rows make sense: source and target of edges; id and more of the others."""

    edges: DataFrame
    labels: DataFrame | None
    features: DataFrame | None
    kinds: DataFrame | None
    num_described: int
    """Rows of features."""

    @property
    def ends(self) -> DataFrame:
        """id: both ends of every row of the edges."""
        return self.edges.select(F.explode(F.array("source", "target")).alias("id"))

    @property
    def by_features(self) -> bool:
        """Whether features must name every node, and fit into every executor as ids."""
        if self.features is None or self.kinds is not None:
            return False
        return columns_sent(self.edges.sparkSession, self.num_described) > 0

    def marked(self) -> DataFrame:
        """id, and `MARKS`: in how many rows of every table it stands; ends only 0 or 1, and 0
        `by_features`."""
        one, known = F.lit(1), F.col("label").isNotNull().cast("int")
        rows = []
        if not self.by_features:
            # By id first: in every task, all nodes would not fit into the processor's cache.
            rows.append(_marked(self.ends.repartition("id").distinct(), ends=one))
        if self.labels is not None:
            rows.append(_marked(self.labels, labels=one, known=known))
        if self.features is not None:
            rows.append(_marked(self.features, features=one))
        if self.kinds is not None:
            rows.append(_marked(self.kinds, kinds=one, kind=F.col("kind")))
        # Without kinds there is no text to compare, which would need all rows sorted.
        sums = [F.sum(mark).alias(mark) for mark in MARKS[:-1]]
        kind = F.max("kind") if self.kinds is not None else F.lit(None).cast("string")
        every = reduce(DataFrame.unionByName, rows)
        return every.groupBy("id").agg(*sums, kind.alias("kind"))


def check_ids(ids: Ids, names: Names) -> tuple[DataFrame, int]:
    """id of every node, kept on the executors, and how many there are.

    Raises unless each node is labelled once and has features once, and most labelled nodes are in
    the edges.
    """
    nodes = kept(ids.marked())
    ends, labels, known, features, kinds, kind = map(F.col, MARKS)
    kind = F.coalesce(kind, F.lit(OTHER))
    without = (ends + labels + kinds > 0) & (features == 0)
    if ids.features is not None and ids.kinds is not None:  # a kind may have none
        having = nodes.where(features > 0).select(kind.alias("kind")).distinct().collect()
        without = without & kind.isin([row["kind"] for row in having])
    found = nodes.agg(
        F.count(F.lit(1)),
        F.count_if(labels > 1),
        F.count_if(features > 1),
        F.count_if(kinds > 1),
        F.count_if((known > 0) & (ends == 0)),
        F.count_if(known > 0),
        F.count_if(without),
        F.lit(None) if ids.kinds is None else F.collect_set(F.when(known > 0, kind)),
    ).first()
    assert found is not None
    total, *twices, foreign, with_label, featureless, labelled_kinds = found
    for twice, mark, name, must in zip(
        twices,
        ("labels", "features", "kinds"),
        (names.labels, names.features, names.kinds),
        ("be labelled once", "have features once", "have one kind"),
        strict=True,
    ):
        if twice:
            node = nodes.where(F.col(mark) > 1).first()
            assert node is not None
            got = f"{node['id']!r} in {node[mark]} rows"
            raise wrong(name, "Each node", must, got, "Remove all but one.")
    if ids.by_features and with_label:
        speaking = F.broadcast(nodes.where(known > 0).select("id"))
        foreign -= ids.ends.join(speaking, "id", "left_semi").distinct().count()
    if 2 * foreign > with_label:
        got, hint = f"{foreign:,} of {with_label:,} that are not", "Check that the tables match."
        raise wrong(names.labels, "Most ids", f"be in {names.edges}", got, hint)
    if ids.kinds is not None and len(labelled_kinds) > 1:
        got, hint = listed(sorted(labelled_kinds)), "Remove the labels of the other kinds."
        raise wrong(names.labels, "Labels", "sit on one kind of nodes", got, hint)
    if ids.features is not None:
        bare = nodes.where(without).select("id")
        if ids.by_features:
            new = ids.ends.join(F.broadcast(nodes.select("id")), "id", "left_anti").distinct()
            bare, featureless = bare.unionByName(new), featureless + new.count()
        if featureless:
            node = bare.first()
            assert node is not None
            got = f"none for {count(featureless, 'node')} such as {node['id']!r}"
            raise wrong(names.features, "Every node", "have features", got, "Add the rows.")
    return nodes.select("id"), total


def _marked(table: DataFrame, **marks: Column) -> DataFrame:
    none = {"kind": F.lit(None).cast("string")}
    found = {mark: marks.get(mark, none.get(mark, F.lit(0))) for mark in MARKS}
    return table.select("id", *(column.alias(mark) for mark, column in found.items()))


def check_padding(ids: Ids, names: Names) -> None:
    """Ids that differ from others only by spaces around them are a mistake, as on one machine."""
    tables = (ids.ends, ids.labels, ids.features, ids.kinds)
    every = reduce(DataFrame.unionByName, (t.select("id") for t in tables if t is not None))
    padded = every.where(F.col("id").rlike(PADDED))
    bare = padded.select(trimmed(F.col("id")).alias("id")).distinct()
    twin = every.join(bare, "id", "left_semi").first()
    if twin is not None:
        got, hint = f"{twin['id']!r} with and without", "Remove the spaces around the ids."
        raise wrong(names.edges, "Node ids", "differ by more than surrounding spaces", got, hint)
