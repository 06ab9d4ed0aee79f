"""`cpgnn table` and `cpgnn reproduce`: what they say, and what they refuse."""

from __future__ import annotations

import pandas as pd
import pytest

from cpgnn.cli.printing import column_blocks
from cpgnn.experiments.config import load_experiment


def test_without_results_the_published_numbers_stand_alone(cpgnn, tmp_path):
    done = cpgnn("table", "real", "--results", tmp_path)
    assert done.code == 0, done.err
    assert "no results for 'real' in" in done.err
    assert "'cpgnn reproduce real'" in done.err
    published = load_experiment("real").published
    setting, by_dataset = next(iter(published.items()))
    mean, std = next(iter(by_dataset["texas"].values()))
    assert setting in done.out
    assert f"{mean:.2f} ± {std:.2f}" in done.out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("real", "ours | paper | difference"),
        ("synthetic", "ours | paper (ogbn-products features)."),
        ("ablation", "syn-gaussian"),
    ],
)
def test_the_text_says_what_its_numbers_are(name, said, cpgnn):
    done = cpgnn("table", name)
    assert done.code == 0, done.err
    assert said in done.out.splitlines()[0]
    assert ("difference" in done.out) == (name == "real")


def test_a_wide_table_is_folded_between_its_columns():
    frame = pd.DataFrame({"method": ["MLP", "GCN"], "a": ["1" * 20, "2"], "b": ["3"] * 2, "c": ""})
    wide, narrow, narrowest = (column_blocks(frame, width) for width in (200, 36, 1))
    assert [list(block) for block in wide] == [["method", "a", "b", "c"]]
    assert [list(block) for block in narrow] == [["method", "a", "b"], ["method", "c"]]
    assert [list(block) for block in narrowest] == [["method", name] for name in "abc"]
    assert narrow[1]["method"].tolist() == ["MLP", "GCN"]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["reproduce", "nonsense"], "must be one of ablation, compatibility, real, synthetic"),
        (["reproduce", "real", "--methods", "Foo"], "'--methods' must be one of CPGNN-MLP-1"),
        (["reproduce", "real", "--datasets", "ogbn"], "'--datasets' must be one of texas"),
        (["reproduce", "real", "--splits", "10"], "'--splits' must be one of 0, 1"),
        (["reproduce", "synthetic", "--splits", "7"], "must be one of 0, 1, 2. Got '7'"),
        (
            ["reproduce", "real", "--methods", "GAT", "--datasets", "pubmed", "--splits", "7"],
            "must have a run in common",
        ),
        (["table", "nonsense"], "must be one of ablation, compatibility, real, synthetic"),
        (["table", "real", "--format", "xml"], "'text', 'csv', 'markdown'"),
        (["table", "real"], "'--results' must be a folder. Got no such folder"),
    ],
)
def test_what_is_not_there_is_refused(words, said, cpgnn, tmp_path):
    done = cpgnn(*words, "--results", tmp_path / "new")
    assert done.code == 2
    assert said in done.err
    assert "Traceback" not in done.err
    assert not (tmp_path / "new").exists()


def test_results_in_a_file_are_refused(cpgnn, tmp_path):
    (tmp_path / "results").write_text("")
    for command in ("table", "reproduce"):
        done = cpgnn(command, "real", "--results", tmp_path / "results")
        assert done.code == 2
        assert "must be a folder" in done.err
