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


def test_nodes_without_the_date_are_not_called_newer(tmp_path):
    """Devices have no day of joining: what stands in for it says nothing of them."""
    rows = [f"a{i},d{i % 9},2024-01-{1 + i % 28:02d}" for i in range(60)]
    (tmp_path / "e.csv").write_text("source,target,when\n" + "\n".join(rows))
    (tmp_path / "l.csv").write_text("id,label\n" + "".join(f"a{i},{i % 2}\n" for i in range(60)))
    joined = "".join(f"a{i},2025-01-01,{i}\n" for i in range(60))
    (tmp_path / "accounts.csv").write_text("id,joined,x\n" + joined)
    ram = "".join(f"d{i},{i}\n" for i in range(9))
    (tmp_path / "devices.csv").write_text("id,ram\n" + ram)
    features = tmp_path / "accounts.csv", tmp_path / "devices.csv"
    loaded = read_graph(tmp_path / "e.csv", tmp_path / "l.csv", features, split_time="when")
    (newer,) = [one for one in one_sided(loaded) if one.code == "features-newer-than-edges"]
    assert newer.count == 60
