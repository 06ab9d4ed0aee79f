"""Times of labels and features beside those of edges."""

from __future__ import annotations

import pytest

from cpgnn.check.times import one_sided
from cpgnn.io import read_graph


@pytest.fixture
def found(tmp_path):
    def codes(labelled: range, updated: str) -> list[str]:
        rows = [f"n{i},n{i - 1},2024-{1 + i // 20:02d}-{1 + i % 20:02d}" for i in range(1, 100)]
        (tmp_path / "e.csv").write_text("source,target,when\n" + "\n".join(rows))
        labels = "".join(f"n{i},{i % 2}\n" for i in labelled)
        (tmp_path / "l.csv").write_text("id,label\n" + labels)
        features = "".join(f"n{i},{updated},{i}\n" for i in range(100))
        (tmp_path / "f.csv").write_text("id,updated,x\n" + features)
        paths = (tmp_path / name for name in ("e.csv", "l.csv", "f.csv"))
        return [one.code for one in one_sided(read_graph(*paths, split_time="when"))]

    return codes


def test_labels_at_one_end(found):
    assert found(range(80, 100), "2023-01-01") == ["labels-at-one-end"]
    assert found(range(15), "2023-01-01") == ["labels-at-one-end"]
    assert found(range(0, 100, 5), "2023-01-01") == []


def test_features_of_the_future(found):
    assert found(range(0, 100, 5), "2025-01-01") == ["features-newer-than-edges"]
