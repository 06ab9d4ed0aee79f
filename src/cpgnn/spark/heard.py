"""What is said over relations, as tables: Σ_r P_r B H̄_r, a round of the second stage."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from cpgnn.blend.blend import Hearing
from cpgnn.spark.adjacency import Adjacency
from cpgnn.spark.propagation import product


@dataclass(frozen=True, eq=False)
class Heard:
    """The edges of several relations in one table, so that a round is one join and one sum."""

    A: Adjacency | None
    """Where they are no plain edges, with relation (its number) and, where sums are shuffled,
    degree (the target's in it)."""
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
            found = self.A.times(B.select("id", *named(product(columns, H_bar[0]), columns)))
            scaled = [F.col(name) * _scale(hears[0].gamma, F.col("degree")) for name in columns]
            return found.join(self.degrees, "id").select("id", *named(scaled, columns))
        gathered, gammas = self.A.gathered, self._gammas(hears)

        def part_of(some: list[str]) -> DataFrame:
            said = self._messages(columns, some, gammas, H_bar)
            sums = {name: self._sum(name, gammas) for name in some}
            return gathered(B.select("id", *named(said.values(), said)), sums)

        return self.A.in_parts(part_of, columns, len(hears))

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
        rows = self.A.everything().join(
            F.broadcast(nodes.withColumnRenamed("id", "target")), "target"
        )
        relation = F.lit(0) if self.degrees is not None else F.col("relation")
        rows = rows.select("source", "target", weight_of(rows), relation.alias("relation"))
        ways = ["target", "relation"]
        rows = rows.join(rows.groupBy(*ways).agg(F.sum("weight").alias("degree")), ways)
        gammas = self._gammas(hears)
        said = self._messages(columns, columns, gammas, H_bar)
        values = B.select(F.col("id").alias("source"), *named(said.values(), said))
        terms = [_on_edge(name, gammas) for name in columns]
        return rows.join(values, "source").select("source", *ways, *named(terms, columns))

    def _gammas(self, hears: Sequence[Hearing]) -> dict[int, float]:
        """By the numbers of their relations."""
        return {self.names.index(one.relation): one.gamma for one in hears}

    def _messages(
        self, columns: list[str], some: list[str], relations: Iterable[int], H_bar: np.ndarray
    ) -> dict[str, Column]:
        """What a node says over each relation, of some columns."""
        j = [columns.index(name) for name in some]
        return {
            f"m{r}_{name}": message
            for r, H in zip(relations, H_bar, strict=True)
            for name, message in zip(some, product(columns, H[:, j]), strict=True)
        }

    def _sum(self, name: str, gammas: dict[int, float]) -> Column:
        """Of all that a node hears."""
        assert self.A is not None
        if not self.A.sent:
            return F.sum(_on_edge(name, gammas))
        total: Column = F.lit(0.0)
        for r, gamma in gammas.items():  # all edges of a target are in one place
            here = F.col("relation") == r
            degree = F.sum(F.when(here, F.col("weight")))
            said = F.sum(F.when(here, F.col("weight") * F.col(f"m{r}_{name}")))
            total = total + F.coalesce(_scale(gamma, degree) * said, F.lit(0.0))
        return total


def _on_edge(name: str, gammas: dict[int, float]) -> Column:
    """What goes along an edge."""
    term: Column = F.lit(0.0)
    for r, gamma in gammas.items():
        said = F.col("weight") * _scale(gamma, F.col("degree")) * F.col(f"m{r}_{name}")
        term = F.when(F.col("relation") == r, said).otherwise(term)
    return term


def _scale(gamma: float, degree: Column) -> Column:
    """degree^-γ"""
    return F.pow(degree, F.lit(-gamma)) if gamma else F.lit(1.0)


def named(columns: Iterable[Column], names: Iterable[str]) -> list[Column]:
    """The columns under these names."""
    return [column.alias(name) for column, name in zip(columns, names, strict=True)]


def weight_of(rows: DataFrame) -> Column:
    weight = F.col("weight").cast("double") if "weight" in rows.columns else F.lit(1.0)
    return weight.alias("weight")
