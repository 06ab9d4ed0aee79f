"""Rows that make no sense, counted by one pass over a table; the error shows one of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from cpgnn.engine.text import count
from cpgnn.io.files import wrong
from cpgnn.spark.errors import spark_errors

BLANK, BROKEN, PADDED = r"(?U)^\s*$", r"[\r\n]", r"(?U)^\s|\s$"


@dataclass(frozen=True)
class Rule:
    """Rows where `broken` holds are refused, with one of them as the example."""

    broken: Column
    what: str
    must: str
    hint: str = "Remove or correct the rows."


def check_rows(
    table: DataFrame,
    name: str,
    what: str,
    ids: Sequence[str],
    rules: list[Rule],
    loop: Column | None = None,
) -> dict[str, int]:
    """Counts, in one pass: rows, those that break a rule, padded ids, loops, and what tells
    the table from others (`content`)."""
    padded = F.lit(False)
    for id in map(F.col, reversed(ids)):
        if isinstance(table.schema[ids[0]].dataType, T.LongType):
            rules = [Rule(id.isNull(), "A node id", "not be missing"), *rules]
        else:
            empty = Rule(id.isNull() | id.rlike(BLANK), "A node id", "not be empty")
            rules = [empty, Rule(id.rlike(BROKEN), "A node id", "be on one line"), *rules]
            padded = padded | id.rlike(PADDED)
    counts = [F.count_if(rule.broken).alias(f"rule{i}") for i, rule in enumerate(rules)]
    counts += [F.count_if(padded).alias("padded")]
    draw = F.pmod(F.xxhash64(*table.columns), F.lit(2**31))
    counts.append(F.sum(draw).alias("content"))
    if loop is not None:
        counts.append(F.count_if(loop).alias("loops"))
    with spark_errors(name):
        found = table.agg(F.count(F.lit(1)).alias("rows"), *counts).first()
    assert found is not None
    for i, rule in enumerate(rules):
        if found[f"rule{i}"]:
            row = table.where(rule.broken).first()
            assert row is not None
            got = f"{count(found[f'rule{i}'], 'row')} such as ({_shown(row.asDict())})"
            raise wrong(name, rule.what, rule.must, got, rule.hint)
    if not found["rows"]:
        raise wrong(name, what, "have at least one row", "none")
    return found.asDict()


def trimmed(column: Column) -> Column:
    """Text without spaces around it."""
    return F.regexp_replace(column, r"(?U)^\s+|\s+$", "")


def _shown(row: dict[str, Any]) -> str:
    items = list(row.items())
    text = ", ".join(f"{key} {value!r}" for key, value in items[:4])
    return text + (", …" if len(items) > 4 else "")
