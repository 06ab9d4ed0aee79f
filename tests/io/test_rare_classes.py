"""Classes with one label, and small classes as one."""

from __future__ import annotations

import numpy as np
import pytest

from cpgnn.errors import InputError
from cpgnn.io import read_graph

EDGES = "".join(f"{i},{(i + 1) % 12}\n" for i in range(12))
LABELS = "id,label\n" + "".join(f"{i},{'aaaaabbbcdd'[i]}\n" for i in range(11))


def test_a_single_label_is_mentioned(put):
    graph = read_graph(put("e.csv", EDGES), put("l.csv", LABELS)).graph
    (notice,) = graph.notices
    assert notice == (
        "Class 'c' has only one labelled node: it is trained on, not tested. "
        "To merge small classes, use merge_rare=2."
    )


def test_a_named_split_decides_for_itself(put):
    split = "id,label,split\n0,a,train\n1,b,train\n2,a,test\n"
    assert not read_graph(put("e.csv", EDGES), put("l.csv", split)).graph.notices


@pytest.mark.parametrize(
    ("least", "names"), [(2, ("a", "b", "d", "other")), (3, ("a", "b", "other")), (9, ("other",))]
)
def test_small_classes_become_one(put, least, names):
    graph = read_graph(put("e.csv", EDGES), put("l.csv", LABELS), merge_rare=least).graph
    assert graph.class_names == names
    sizes = {"a": 5, "b": 3, "c": 1, "d": 2}
    kept = {name: size for name, size in sizes.items() if size >= least}
    wanted = [name if name in kept else "other" for name in "aaaaabbbcdd"]
    assert [names[i] for i in graph.labels[:11]] == wanted
    assert graph.labels[11] == -1
    assert "merged into 'other': " in graph.notices[0]
    assert "'c' (1)" in graph.notices[0]


def test_other_may_exist_already(put):
    labels = "0,other\n1,x\n2,x\n3,x\n4,y\n"
    graph = read_graph(put("e.csv", EDGES), put("l.csv", labels), merge_rare=2).graph
    assert graph.class_names == ("other", "x")
    np.testing.assert_array_equal(graph.labels[:5], [0, 1, 1, 1, 0])


def test_nothing_to_merge(put):
    labels = "0,x\n1,x\n2,y\n3,y\n"
    assert not read_graph(put("e.csv", EDGES), put("l.csv", labels), merge_rare=2).graph.notices
    with pytest.raises(InputError, match=r"'merge_rare' must be at least 2\. Got 1"):
        read_graph(put("e.csv", EDGES), put("l.csv", labels), merge_rare=1)
