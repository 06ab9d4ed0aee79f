"""Our `.npz`: everything comes back, and nothing broken or hostile gets in."""

from __future__ import annotations

import io
import time
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cpgnn.errors import GraphNotice, InputError
from cpgnn.graph import Graph
from cpgnn.io import read_graph, read_graph_npz, read_npz_arrays, write_graph

DENSE = np.array([[1.5, 0], [0, 2], [3, 4], [0, 0]], dtype=np.float32)


def same(a: Graph, b: Graph) -> None:
    assert (a.adjacency != b.adjacency).nnz == 0
    assert a.adjacency.dtype == b.adjacency.dtype
    assert a.node_ids.tolist() == b.node_ids.tolist()
    assert a.class_names == b.class_names
    assert [type(x) for x in a.class_names] == [type(x) for x in b.class_names]
    assert a.labels.tolist() == b.labels.tolist()
    assert a.self_loops.tolist() == b.self_loops.tolist()
    assert sp.issparse(a.features) == sp.issparse(b.features)
    if a.features is None:
        assert b.features is None
    else:
        dense = [x.features.toarray() if sp.issparse(x.features) else x.features for x in (a, b)]
        assert dense[0].tolist() == dense[1].tolist()


@pytest.mark.parametrize("features", [None, DENSE, sp.csr_array(DENSE)])
@pytest.mark.parametrize("weights", [None, [0.1, 2, 3]])
@pytest.mark.parametrize(
    ("ids", "names"),
    [
        (None, [0, 1, 2]),
        (pd.Index([7, 5, 2**40, -1]), [3, 1, 2]),
        (["007", "é", "", "a\nb"], ["ja", "nein", "日本"]),
    ],
)
def test_everything_comes_back(tmp_path, features, weights, ids, names):
    graph = Graph.from_edges(
        [0, 2, 3],
        [1, 1, 2],
        weights=weights,
        features=features,
        labels=[0, -1, 2, 0],
        node_ids=ids,
        class_names=names,
        self_loops=[3],
    )
    write_graph(tmp_path / "g.npz", graph)
    same(graph, read_graph_npz(tmp_path / "g.npz"))
    first = (tmp_path / "g.npz").read_bytes()
    write_graph(tmp_path / "g.npz", graph)
    assert (tmp_path / "g.npz").read_bytes() == first


def test_empty_graphs_come_back(tmp_path):
    for graph in (
        Graph.from_edges(np.empty(0, dtype=int), np.empty(0, dtype=int), num_nodes=3),
        Graph.from_edges([0], [1], node_ids=["", "x"], class_names=[], labels=[-1, -1]),
    ):
        write_graph(tmp_path / "g.npz", graph)
        same(graph, read_graph_npz(tmp_path / "g.npz"))


def test_graphs_as_the_readme_describes_them(tmp_path):
    path = tmp_path / "g.npz"
    np.savez_compressed(
        path,
        edge_index=np.array([[0, 1], [1, 2]], dtype=np.int32),
        labels=np.array([4, -1, 2], dtype=np.int16),
        class_names=np.array(["a", "b", "c", "d", "é"]),
        train_masks=np.ones((10, 3), dtype=bool),
        features=np.asfortranarray([[1, 2], [3, 4], [5, 6]], dtype=">f8"),
    )
    graph = read_graph_npz(path)
    assert graph.class_names == ("a", "b", "c", "d", "é")
    assert graph.labels.tolist() == [4, -1, 2]
    assert graph.features.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert read_npz_arrays(path)["train_masks"].shape == (10, 3)


def test_what_cannot_be_written_is_refused_before_a_file_appears(tmp_path):
    graph = Graph.from_edges([0], [1], node_ids=[("a", 1), ("b", 2)])
    with pytest.raises(InputError, match="'node_ids' must be all text or all integers"):
        write_graph(tmp_path / "g.npz", graph)
    assert list(tmp_path.iterdir()) == []


def test_duplicates_and_loops_are_noticed_not_warned(tmp_path):
    with pytest.warns(GraphNotice):
        Graph.from_edges([0, 0], [1, 1])
    np.savez(tmp_path / "g.npz", edge_index=np.array([[0, 0, 2], [1, 1, 2]]))
    graph = read_graph_npz(tmp_path / "g.npz")
    assert len(graph.notices) == 2
    assert graph.self_loops.tolist() == [2]


GOOD = {
    "edge_index": np.array([[0, 1], [1, 2]]),
    "labels": np.array([0, 1, -1]),
    "features_data": np.ones(3),
    "features_indices": np.array([0, 1, 0]),
    "features_indptr": np.array([0, 1, 2, 3]),
    "features_shape": np.array([3, 2]),
    "node_ids_bytes": np.frombuffer(b"abc", dtype=np.uint8),
    "node_ids_offsets": np.arange(4),
}
CHANGES = {
    "no edges": ("edge_index", None, "have an array 'edge_index'"),
    "flat edges": ("edge_index", np.array([0, 1]), "'edge_index' must be a matrix of integers"),
    "three rows": ("edge_index", np.zeros((3, 2), int), "have the shape"),
    "float edges": ("edge_index", np.zeros((2, 2)), "'edge_index' must be a matrix of integers"),
    "edge too far": ("edge_index", np.array([[0], [3]]), r"be from 0 to 2\. Got 3"),
    "edge below 0": ("edge_index", np.array([[0], [-1]]), r"be from 0 to 2\. Got -1"),
    "edge far below 0": ("edge_index", np.array([[0], [-(2**63)]]), "be from 0 to 2. Got -9,"),
    "edge beyond 2^63": ("edge_index", np.array([[0], [2**63]], np.uint64), "hold numbers below"),
    "label beyond 2^63": ("labels", np.array([0, 1, 2**64 - 1], np.uint64), "hold numbers below"),
    "offset beyond 2^63": (
        "node_ids_offsets",
        np.array([0, 1, 2, 2**64 - 1], np.uint64),
        "hold numbers below",
    ),
    "far loop": ("self_loops", np.array([9]), r"be from 0 to 2\. Got 9"),
    "loop below 0": ("self_loops", np.array([-9]), r"be from 0 to 2\. Got -9"),
    "labels too short": ("labels", np.array([0, 1]), "must be equally long"),
    "labels of floats": ("labels", np.array([0.0, 1, 1]), "'labels' must be a list of integers"),
    "labels below -1": ("labels", np.array([0, -2, 1]), "'labels' must be -1 .* Got -2"),
    "labels above": (
        "class_names",
        np.array(["only"]),
        "'labels' must lie between -1 .* and 0. Got -1 to 1",
    ),
    "weights too few": (
        "edge_weight",
        np.array([1.0]),
        "'weights' must have one entry for each of 2 edges",
    ),
    "weights NaN": ("edge_weight", np.array([1.0, np.nan]), "must be finite.* Got nan in row 1"),
    "weights below 0": (
        "edge_weight",
        np.array([1.0, -1]),
        "must be finite and not negative. Got -1",
    ),
    "column too far": ("features_indices", np.array([0, 2, 0]), "well-formed CSR"),
    "column below 0": ("features_indices", np.array([0, -1, 0]), "well-formed CSR"),
    "pointer falls": ("features_indptr", np.array([0, 2, 1, 3]), "well-formed CSR"),
    "pointer past end": ("features_indptr", np.array([0, 1, 2, 4]), "well-formed CSR"),
    "pointer below 0": ("features_indptr", np.array([0, 1, 2, -1]), "well-formed CSR"),
    "pointer short": ("features_indptr", np.array([0, 3]), "well-formed CSR"),
    "data short": ("features_data", np.ones(2), "well-formed CSR"),
    "data NaN": ("features_data", np.array([1, np.nan, 1]), "must be finite"),
    "shape missing": ("features_shape", None, "have an array 'features_shape'"),
    "flat features": ("features", np.ones(3), r"'features' must be numbers \[n, F\]"),
    "text features": ("features", np.array([["a"]] * 3), r"'features' must be numbers \[n, F\]"),
    "ids twice": ("node_ids_bytes", np.frombuffer(b"aba", dtype=np.uint8), "be unique. Got 'a'"),
    "ids not UTF-8": ("node_ids_bytes", np.frombuffer(b"ab\xff", dtype=np.uint8), "be UTF-8"),
    "offsets past end": (
        "node_ids_offsets",
        np.array([0, 1, 2, 9]),
        "'node_ids_offsets' cuts into names",
    ),
    "offsets fall": (
        "node_ids_offsets",
        np.array([0, 2, 1, 3]),
        "'node_ids_offsets' cuts into names",
    ),
    "float ids": ("node_ids", np.ones(3), "must be a list of integers or text"),
}


@pytest.mark.parametrize("case", CHANGES)
def test_malformed_arrays(tmp_path, case):
    key, value, words = CHANGES[case]
    path = tmp_path / "g.npz"
    arrays = {**GOOD, key: value}
    np.savez(path, **{key: value for key, value in arrays.items() if value is not None})
    for read in (read_graph_npz, read_graph):
        with pytest.raises(InputError, match=words) as caught:
            read(path)
        assert str(caught.value).startswith(str(path))


def npy(header: str, data: bytes = b"") -> bytes:
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + data


def zipped(member: bytes, name: str = "labels.npy", packing: int = zipfile.ZIP_STORED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", packing) as archive:
        archive.writestr(name, member)
    return file.getvalue()


def lying(size: int) -> bytes:
    """A zip whose directory claims `size` bytes for its one deflated member."""
    shape = (size - 80,)
    header = f"{{'descr': '|u1', 'fortran_order': False, 'shape': {shape}, }}"
    header = header.ljust(69)  # 80 bytes in all
    data = bytearray(zipped(npy(header, b"\0" * 64), packing=zipfile.ZIP_DEFLATED))
    real = (80 + 64).to_bytes(4, "little")
    assert data.count(real) == 2
    return bytes(data.replace(real, size.to_bytes(4, "little")))


def pickled() -> bytes:
    file = io.BytesIO()
    np.savez(file, labels=np.array([{"a": 1}], dtype=object))
    return file.getvalue()


def flipped() -> bytes:
    file = io.BytesIO()
    np.savez(file, labels=np.arange(1000))
    data = bytearray(file.getvalue())
    data[2000] ^= 255
    return bytes(data)


HUGE = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"
HOSTILE = {
    "header claims 10^12 numbers": (zipped(npy(HUGE)), "be as large as its header says"),
    "negative shape": (zipped(npy(HUGE.replace("1000000000000", "-1"))), "as large as its header"),
    "zip claims 3 GB": (lying(3 << 30), "have a possible size"),
    "zip claims 20 kB": (lying(20_000), "be a whole zip archive|be whole"),
    "python objects": (pickled(), "hold numbers or text.* Python objects are never loaded"),
    "code in the header": (zipped(npy("__import__('os').abort()")), "start like a NumPy array"),
    "no header": (zipped(b"hello"), "start like a NumPy array"),
    "other version": (zipped(b"\x93NUMPY\x02\x00" + b"\xff" * 9), "start like a NumPy array"),
    "a stranger": (zipped(b"hello", "readme.txt"), "hold arrays only. Got a member 'readme.txt'"),
    "flipped bit": (flipped(), "be a whole zip archive"),
    "truncated": (flipped()[:-200], "be a whole zip archive"),
    "no zip": (b"not a zip at all", "be a whole zip archive"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_hostile_files_are_refused_quickly_and_without_memory(tmp_path, case):
    content, words = HOSTILE[case]
    path = tmp_path / "g.npz"
    path.write_bytes(content)
    tracemalloc.start()
    start = time.perf_counter()
    try:
        with pytest.raises(InputError, match=words) as caught:
            read_graph_npz(path)
        assert time.perf_counter() - start < 2
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()
    assert str(caught.value).startswith(str(path))


def test_the_declared_sizes_are_summed_before_anything_is_read(tmp_path):
    np.savez(tmp_path / "g.npz", a=np.zeros(1000), b=np.zeros(1000))
    with pytest.raises(InputError, match=r"must fit into 10,000 bytes\. Got 16,256"):
        read_npz_arrays(tmp_path / "g.npz", limit=10_000)


def test_one_edge_cannot_claim_a_billion_nodes(tmp_path):
    for far in (2**62, 30_000_000, 2_000_000):
        np.savez(tmp_path / "g.npz", edge_index=np.array([[0], [far]]))
        with pytest.raises(InputError, match="must be a row number"):
            read_graph_npz(tmp_path / "g.npz")


def test_features_without_columns(tmp_path):
    for features in ({"features": np.zeros((3, 0))}, {"features": np.zeros((0, 0))}):
        np.savez(tmp_path / "g.npz", edge_index=np.array([[0, 1], [1, 2]]), **features)
        with pytest.raises(InputError, match=r"g\.npz"):
            read_graph(tmp_path / "g.npz")
