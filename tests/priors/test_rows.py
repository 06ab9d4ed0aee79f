"""Batches of rows say what the whole graph says: no Java is needed to see that."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pyarrow as pa
import pytest

from cpgnn.blend.blend import Blend
from cpgnn.priors import columns as col
from cpgnn.priors.rows import FromColumns, FromFeatures, Plan, column_names, light, part
from spark_blends import loud, random_world


def batches(columns, size=17):
    table = pa.table(columns)
    return table.to_batches(max_chunksize=size)


def as_columns(names, values):
    return dict(zip(names, np.asarray(values, dtype=np.float64).T.copy(), strict=True))


@pytest.mark.parametrize("width", [0, 4, 140])
def test_own_parts_of_every_round(width):
    graph = random_world(4, width=width, weighted=True).graph()
    classifier = loud(graph)
    blend = classifier.model_
    assert isinstance(blend, Blend)
    x, c, n = blend.inputs(classifier.scaler_(graph)), blend.num_classes, graph.num_nodes
    plan = Plan(tuple(map(light, blend.priors)), width, c, Plan.of(blend, width).coordinates)
    row = {"id": np.arange(n), "asked": np.ones(n, dtype=bool)}
    if width:
        makes = FromFeatures(plan, classifier.scaler_, blend.basis)
        given = {"id": row["id"], "bare": np.zeros(n, dtype=bool)}
        given |= as_columns([f"x{i}" for i in range(width)], graph.features)
        out = pa.Table.from_batches(list(makes.rows(batches(given))))
        assert not np.asarray(out.column("empty")).any()
        row |= {name: out.column(name).to_numpy() for name in plan.own}
    for m, prior in enumerate(blend.priors):  # what Spark gathers, by the code of one machine
        if prior.name == "link":
            row |= as_columns(part("s", m, 5), x.rows @ prior.network.W)
        if prior.name in ("ppr", "sgc"):
            Z = np.stack([row[name] for name in part("s", m, plan.projected(prior))], axis=1)
            Z = col.personalised(x.A, Z) if prior.name == "ppr" else col.powered(x.A, Z, 2)
            row |= as_columns(part("s", m, Z.shape[1]), Z)
        if prior.name == "spread":
            Y = (x.labels[:, None] == np.arange(c)).astype(np.float32)
            row |= as_columns(part("s", m, c), col.personalised(x.A, Y))
        if prior.name == "together":
            R = np.stack([row[name] for name in part("r", m, c)], axis=1)
            B = np.exp(R) / np.exp(R).sum(axis=1, keepdims=True) - 1 / c
            heard = (
                x.relations[name].propagator(0.5) @ B @ H
                for name, H in zip(prior.relations, prior.made.H_bar, strict=True)
            )
            row |= as_columns(part("t", m, c), sum(heard))
    names = column_names(plan, 0 if blend.basis.places is None else blend.basis.places.shape[1])
    row |= as_columns(names, x.columns)
    weights = np.stack([stage.w for stage in blend.stages])
    makes = FromColumns(plan, weights, np.stack([stage.b for stage in blend.stages]), names)
    out = pa.Table.from_batches(list(makes.rows(batches(row))))
    logs = [prior.log_beliefs(x) for prior in blend.priors]
    for t, stage in enumerate(blend.stages):
        found = np.stack([out.column(name).to_numpy() for name in part("o", t, c)], axis=1)
        np.testing.assert_allclose(found, stage.own(logs), atol=2e-4)


def test_workers_start_without_torch():
    """A worker of Spark imports this module alone; torch would cost it seconds."""
    code = "import sys, cpgnn.priors.rows; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"torch", "pyspark", "sklearn", "lightgbm", "cpgnn.spark", "cpgnn.classifier"}
    assert not heavy & {*done.stdout.split()}
