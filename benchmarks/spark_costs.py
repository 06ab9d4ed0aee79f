"""What `cpgnn spark predict` costs: bytes shuffled and CPU, told from the model and the graph.

    python spark_costs.py typed 1000000     # the default model; a line
    python spark_costs.py paper 1000000     # the paper's model, K = 1; a line
    python spark_costs.py typed 8000000 unseen    # a line that is not fitted on
    python spark_costs.py                   # the lines so far → results/spark_costs*

Needs the models that `spark.py relations` and `spark.py before` fit.

A prediction lays edge ends out (once for all neighbours, once for the relations that are heard),
and makes products with them: K rounds of the paper's model; of the default model a product for each
hop of neighbourhood columns, for each step of smoothing, and for each round of each relation. Where
sums are shuffled, a product of w columns over m rows sends a partial sum for every different target
in each of P partitions, P·n·(1 - exp(-m / (P·n))) of them. Where values are sent everywhere, none.

    bytes = b·L + Σ_p sums_p · (h + s·w_p)      CPU = start + Σ_p (j + q·m_p·w_p) + e·L

L: rows laid out; b, h, s, start, j (a job's planning), q and e are fitted, none below 0, to the
relative errors.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import nnls

from cpgnn.blend.blend import Blend
from cpgnn.priors.inputs import ROWS
from cpgnn.priors.members import NetworkPrior, TogetherPrior
from cpgnn.priors.rows import SMOOTHED, Plan
from cpgnn.relations.relation import EDGES
from cpgnn.run.load import load_run
from measuring import RESULTS, keep
from spark import MODEL_BEFORE, MODEL_TYPED, paper_prediction, typed_prediction, write_line

LINES = RESULTS / "spark_costs.jsonl"
SHUFFLED = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
"""As where the values of all nodes do not fit into an executor."""
ALL_ENDS = 2.0
TYPED_ENDS = {"knows": 2 / 3, "sees": 2 / 3, "pays (in)": 1 / 3, "pays (out)": 1 / 3, EDGES: 2.0}
"""Rows for each edge: of all neighbours, and of each relation of the generated graph."""
BYTES, SECONDS = "shuffled, GB", "CPU, s"
RANKS, CORES = 30, 20
"""Products of one column for PageRank and core numbers, where the driver does not hold the edges;
how many rounds core numbers take depends on the graph."""


def work(folder: Path) -> dict[str, Any]:
    """Rows laid out, and rows and columns of every product of a model's prediction, per edge."""
    classifier = load_run(folder).classifier
    model = classifier.model_
    if not isinstance(model, Blend):
        c = len(classifier.classes_)
        return {"laid out": ALL_ENDS, "products": [[ALL_ENDS, c]] * model.num_layers}
    plan, made = Plan.of(model, classifier.n_features_in_), list[list[float]]()

    def units(reads: str) -> int:
        priors = [prior for _, prior in plan.having(reads)]
        return sum(len(prior.network.b) for prior in priors if isinstance(prior, NetworkPrior))

    z, link = len(plan.table), units(ROWS[0])
    if z or link:
        made.append([ALL_ENDS, z + link])
    if z:
        made.append([ALL_ENDS, z])
    if units(ROWS[1]) or units(ROWS[2]):
        made.append([ALL_ENDS, units(ROWS[1]) + 2 * units(ROWS[2])])
    steps = [(SMOOTHED[p.reads], plan.projected(p)) for _, p in plan.having(*SMOOTHED)]
    steps += [(SMOOTHED["personalised"], plan.c) for _ in plan.having("spread")]
    for t in range(max((t for t, _ in steps), default=0)):
        made.append([ALL_ENDS, sum(width for most, width in steps if most > t)])
    heard = dict.fromkeys(one.relation for one in model.hears)
    together = [p.relations for _, p in plan.having("together") if isinstance(p, TogetherPrior)]
    heard |= dict.fromkeys(name for names in together for name in names)
    rows = sum(TYPED_ENDS[name] for name in heard)
    rounds = len(together) + (len(model.stages) if model.hears else 0)
    made += [[rows, plan.c]] * rounds
    return {"laid out": ALL_ENDS + rows, "products": made}


def costs(rows: list[dict[str, Any]]) -> list[dict[str, float | str]]:
    """The model fitted on all runs but those marked `unseen`, which it is checked on."""
    lines: list[dict[str, float | str]] = []
    seen = [row for row in rows if not row["unseen"]]
    fitted = {}
    for key, names, terms in (
        (BYTES, ("b, bytes", "h, bytes", "s, bytes"), _bytes),
        (SECONDS, ("start, s", "j, s", "e, µs", "q, µs"), _seconds),
    ):
        M = np.array([terms(row) for row in seen])
        value = np.array([row[key] for row in seen])
        fitted[key], _ = nnls(M / value[:, None], np.ones(len(seen)))
        scale = [1e9 if "bytes" in name else 1.0 for name in names]
        for name, x, by in zip(names, fitted[key], scale, strict=True):
            lines.append({"": f"{name} (fitted)", "value": x * by})
        for row in rows:
            guess = float(np.dot(terms(row), fitted[key]))
            error = guess / row[key] - 1
            known = "not fitted" if row["unseen"] else "fitted"
            what = f"{key}: {row['model']}, {row['edges']:,} edges, {known}"
            lines.append({"": what, "value": guess, "measured": row[key], "error": error})
    largest = max((row for row in rows if row["model"] == "typed"), key=lambda row: row["edges"])
    for edges in (10**9, 10**10):
        paper = largest | {"edges": edges, "nodes": edges // 10, "partitions": 2 * edges // 10**7}
        paper["products"] = largest["products"] + [[ALL_ENDS, 1]] * (RANKS + CORES)
        for key, terms in ((BYTES, _bytes), (SECONDS, _seconds)):
            guess = float(np.dot(terms(paper), fitted[key]))
            lines.append({"": f"{key}: {edges:.0e} edges, on paper", "value": guess})
    return lines


def _bytes(row: dict[str, Any]) -> list[float]:
    E, cells = row["edges"], row["partitions"] * row["nodes"]
    sums = [cells * (1 - np.exp(-m * E / cells)) for m, _ in row["products"]]
    each = [s * w for s, (_, w) in zip(sums, row["products"], strict=True)]
    return [row["laid out"] * E, sum(sums), sum(each)]


def _seconds(row: dict[str, Any]) -> list[float]:
    ends, products = row["edges"] / 1e6, row["products"]  # µs
    return [
        1.0,
        len(products),
        row["laid out"] * ends,
        sum(m * w for m, w in products) * ends,
    ]


def measure(what: str, edges: int, unseen: str = "") -> None:
    """A line of `predict`, where sums are shuffled."""
    row = work(MODEL_TYPED if what == "typed" else MODEL_BEFORE)
    row |= {"model": what, "unseen": bool(unseen)}
    if what == "typed":
        row |= typed_prediction(edges, SHUFFLED)
    else:
        row |= paper_prediction("predict", edges, more=SHUFFLED)
    write_line(row, LINES)


def main(words: list[str]) -> None:
    if words:
        measure(words[0], int(words[1]), *words[2:])
    rows = [json.loads(line) for line in LINES.read_text().splitlines()]
    keep("spark_costs", rows, "predict where all sums are shuffled")
    if any(row["unseen"] for row in rows):
        keep("spark_costs_model", costs(rows), "The cost model of predict: see spark_costs.py")


if __name__ == "__main__":
    main(sys.argv[1:])
