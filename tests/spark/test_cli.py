"""`cpgnn spark`: the three commands, models that are used either way, errors as messages."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
import typer

from cpgnn.cli.app import app
from cpgnn.errors import CPGNNError, InputError
from spark_files import random_files

pytestmark = pytest.mark.slow


def cpgnn(*words):
    app([str(word) for word in words], standalone_mode=False)


def test_the_three_commands(spark, tmp_path, capsys):
    files = random_files(tmp_path, 4, text=True)
    tables = (files.edges, "--labels", files.labels, "--features", files.features)
    cpgnn("spark", "stats", *tables)
    assert "homophily ratio h" in capsys.readouterr().out
    run, out, one = tmp_path / "run", tmp_path / "out.parquet", tmp_path / "one.parquet"
    cpgnn("spark", "fit", *tables, "--out", run, "--epochs", 20, "--prior", "mlp", "--layers", 1)
    assert "accuracy" in capsys.readouterr().out
    assert json.loads((run / "metrics.json").read_text())["labelled"]["test"] > 0
    inputs = (files.edges, "--features", files.features)
    cpgnn("spark", "predict", run, *inputs, "--out", out)
    cpgnn("predict", run, *inputs, "--out", one)
    many, few = (pd.read_parquet(path).set_index("id") for path in (out, one))
    assert list(many.columns) == list(few.columns)
    p = [name for name in few.columns if name.startswith("p_")]
    np.testing.assert_allclose(many.loc[few.index, p], few[p], atol=1e-5)
    with pytest.raises(InputError, match="The output must be new"):
        cpgnn("spark", "predict", run, *inputs, "--out", out)
    with pytest.raises(InputError, match="The run must have the graph"):
        cpgnn("predict", run, "--out", tmp_path / "p.csv")


def test_what_does_not_work_is_said_before_any_job(spark, tmp_path):
    files = random_files(tmp_path, 4)
    tables = (files.edges, "--labels", files.labels, "--features", files.features)
    with pytest.raises(
        InputError, match=r"The prior on Spark must be 'auto', or 'mlp'.*Got 'cheby'"
    ):
        cpgnn("spark", "fit", *tables, "--out", tmp_path / "run", "--prior", "cheby")
    with pytest.raises(InputError, match=r"at most 'max_edges' = 5 can be .*Try sample=True"):
        cpgnn("spark", "fit", *tables, "--out", tmp_path / "run", "--max-edges", 5)
    with pytest.raises(typer.BadParameter, match="less than or equal to 9223372036854775807"):
        cpgnn("spark", "fit", *tables, "--out", tmp_path / "run", "--seed", 2**64)
    with pytest.raises(InputError, match="'conf' must be a Spark setting"):
        cpgnn("spark", "stats", files.edges, "--conf", "memory")
    inputs = (files.edges, "--features", files.features)
    with pytest.raises(CPGNNError, match="must be a folder that 'cpgnn fit' wrote"):
        cpgnn("spark", "predict", tmp_path / "none", *inputs, "--out", tmp_path / "p")
    assert not (tmp_path / "run").exists()
