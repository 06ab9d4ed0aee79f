"""Result lines survive kills and repeats."""

from __future__ import annotations

from cpgnn.experiments.store import ResultStore


def test_lines_are_read_back(tmp_path):
    store = ResultStore(tmp_path / "new" / "r.jsonl")
    assert store.read() == {}
    store.append({"key": "a", "test": 1.5})
    store.append({"key": "b", "test": 2.5})
    assert store.read() == {"a": {"key": "a", "test": 1.5}, "b": {"key": "b", "test": 2.5}}


def test_a_line_cut_short_is_passed_over_and_does_not_spoil_the_next(tmp_path):
    store = ResultStore(tmp_path / "r.jsonl")
    store.append({"key": "a", "test": 1.5})
    with store.path.open("a") as file:
        file.write('{"key": "b", "te')
    store.append({"key": "c", "test": 3.5})
    assert set(store.read()) == {"a", "c"}


def test_of_two_lines_with_one_key_the_later_counts(tmp_path):
    store = ResultStore(tmp_path / "r.jsonl")
    store.append({"key": "a", "test": 1.5})
    store.append({"key": "a", "test": 9.5})
    assert store.read()["a"]["test"] == 9.5
