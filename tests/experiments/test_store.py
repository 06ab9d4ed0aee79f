"""Result lines survive kills and repeats."""

from __future__ import annotations

import json

import pytest

from cpgnn.errors import InputError
from cpgnn.experiments.store import ResultStore, results_of


def line(key, test=1.5):
    return {"key": key, "validation": 50.0, "test": test}


def test_lines_are_read_back(tmp_path):
    store = ResultStore(tmp_path / "new" / "r.jsonl")
    assert store.read() == {}
    store.append(line("a"))
    store.append(line("b"))
    assert store.read() == {"a": line("a"), "b": line("b")}


def test_a_line_cut_short_is_passed_over_and_does_not_spoil_the_next(tmp_path):
    store = ResultStore(tmp_path / "r.jsonl")
    store.append(line("a"))
    with store.path.open("a") as file:
        file.write('{"key": "b", "te')
    store.append(line("c"))
    assert set(store.read()) == {"a", "c"}


@pytest.mark.parametrize(
    "wrong",
    [
        b"\xff\xfe\x00",
        b'{"key": "b", "validation": 50.0, "test": 1.5, "note": "\xff"}',
        b'{"key": "b"}',
        b'{"key": "b", "validation": 50.0, "test": "high"}',
        b'{"key": "b", "validation": 50.0, "test": NaN}',
        b'{"key": "b", "validation": 50.0, "test": 1e999}',
        b'{"key": "b", "validation": 50.0, "test": 1' + b"0" * 400 + b"}",
        b'{"key": "b", "validation": 50.0, "test": 1' + b"0" * 5000 + b"}",
        b'{"key": ["b"], "validation": 50.0, "test": 1.5}',
        b"[1, 2]",
        b"[" * 100_000,
    ],
)
def test_what_is_no_result_is_passed_over(wrong, tmp_path):
    store = results_of("r", tmp_path)
    store.path.write_bytes(json.dumps(line("a")).encode() + b"\n" + wrong + b"\n")
    store.append(line("c"))
    assert set(store.read()) == {"a", "c"}


def test_a_place_that_takes_no_results_is_noticed_at_once(tmp_path):
    store = results_of("r", tmp_path / "new")
    store.check_writable()
    assert store.read() == {}
    (tmp_path / "new" / "other.jsonl").mkdir()
    with pytest.raises(OSError, match="directory"):
        results_of("other", tmp_path / "new").check_writable()


def test_other_lines_need_a_key_alone(tmp_path):
    store = ResultStore(tmp_path / "r.jsonl")
    store.append({"key": "a", "gain": 1.5})
    assert store.read() == {"a": {"key": "a", "gain": 1.5}}


def test_of_two_lines_with_one_key_the_later_counts(tmp_path):
    store = ResultStore(tmp_path / "r.jsonl")
    store.append(line("a", 1.5))
    store.append(line("a", 9.5))
    assert store.read()["a"]["test"] == 9.5


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "results").write_text("")
    with pytest.raises(InputError, match=r"must be a folder\. Got the file"):
        ResultStore(tmp_path / "results" / "real.jsonl")
