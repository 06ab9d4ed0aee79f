"""Data sets written the way others publish them, and a server on loopback that hands them out."""

from __future__ import annotations

import pickle
import threading
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import scipy.sparse as sp

Arrays = dict[str, np.ndarray]
PARTS = ("train", "val", "test")


# -- a small data set, arrays as in our .npz -----------------------------------------------------


def toy_arrays(n: int = 30, width: int = 80, classes: int = 3, splits: int = 10) -> Arrays:
    """A ring with chords, two self-loops, sparse 0/1 features, ten random splits."""
    rng = np.random.default_rng(7)
    nodes = np.arange(n)
    ring = np.stack([nodes, (nodes + 1) % n], axis=1)
    chords = np.stack([nodes[: n // 2], nodes[: n // 2] + n // 2], axis=1)
    edges = np.unique(np.sort(np.concatenate([ring, chords]), axis=1), axis=0)
    X = sp.csr_array((rng.random((n, width)) < 0.1).astype(np.float32))
    labels = (nodes % classes).astype(np.int16)
    parts = np.stack([rng.permutation(n) % 3 for _ in range(splits)])
    masks = {f"{part}_masks": parts == i for i, part in enumerate(PARTS)}
    return {
        "edge_index": edges.T.astype(np.int32),
        "self_loops": np.array([1, 4], dtype=np.int32),
        "labels": labels,
        "features_data": X.data,
        "features_indices": X.indices,
        "features_indptr": X.indptr,
        "features_shape": np.array(X.shape),
    } | masks


def features_of(arrays: Arrays) -> np.ndarray:
    parts = (arrays[f"features_{part}"] for part in ("data", "indices", "indptr"))
    return sp.csr_array(tuple(parts), shape=tuple(arrays["features_shape"])).toarray()


# -- their files ---------------------------------------------------------------------------------


def write_splits(folder: Path, name: str, arrays: Arrays) -> list[str]:
    names = []
    for i in range(len(arrays["train_masks"])):
        masks = {f"{part}_mask": arrays[f"{part}_masks"][i] for part in PARTS}
        names.append(f"{name}_split_0.6_0.2_{i}.npz")
        np.savez(folder / names[-1], **masks)
    return names


def write_edges(folder: Path, arrays: Arrays) -> list[str]:
    """geom-gcn: directed rows in any order, some edges twice, self-loops among them."""
    edges = arrays["edge_index"].T.tolist()
    loops = [[node, node] for node in arrays["self_loops"].tolist()]
    rows = [edge[::-1] for edge in edges[::2]] + loops + edges[1::2] + edges[:5]
    text = "node_id\tnode_id\n" + "".join(f"{u}\t{v}\n" for u, v in rows)
    (folder / "out1_graph_edges.txt").write_text(text)
    return ["out1_graph_edges.txt"]


def write_geom_gcn(folder: Path, name: str, arrays: Arrays, *, film: bool = False) -> list[str]:
    X, labels = features_of(arrays).astype(int), arrays["labels"].tolist()
    lines = []
    for node in np.random.default_rng(0).permutation(len(labels)):
        ones = np.flatnonzero(X[node]).tolist()
        cells = [*ones, *ones[:1]] if film else X[node].tolist()  # film names some ones twice
        lines.append(f"{node}\t{','.join(map(str, cells))}\t{labels[node]}\n")
    text = "node_id\tfeature\tlabel\n" + "".join(lines)
    (folder / "out1_node_feature_label.txt").write_text(text)
    made = [*write_edges(folder, arrays), "out1_node_feature_label.txt"]
    return made + write_splits(folder, name, arrays)


def write_platonov(folder: Path, name: str, arrays: Arrays) -> list[str]:
    loops = np.stack([arrays["self_loops"]] * 2, axis=1)
    theirs = {
        "node_features": features_of(arrays),
        "node_labels": arrays["labels"].astype(np.int64),
        "edges": np.concatenate([arrays["edge_index"].T, loops]).astype(np.int64),
    }
    masks = {f"{part}_masks": arrays[f"{part}_masks"] for part in PARTS}
    np.savez(folder / f"{name}.npz", **theirs, **masks)
    return [f"{name}.npz"]


def write_wikipedia(folder: Path, name: str, arrays: Arrays) -> list[str]:
    made = write_platonov(folder, name, arrays) + write_edges(folder, arrays)
    return made + write_splits(folder, name, arrays)


def write_planetoid(folder: Path, name: str, arrays: Arrays, missing: int = 0) -> list[str]:
    """The last tenth of the nodes are test nodes, in any order; some of them `missing` (0 rows)."""
    X, n = sp.csr_matrix(features_of(arrays)), len(arrays["labels"])
    Y = np.eye(int(arrays["labels"].max()) + 1, dtype=np.int32)[arrays["labels"]]
    first = n - n // 10
    there = np.r_[first, np.arange(first + 1 + missing, n)]
    there = np.random.default_rng(1).permutation(there)
    neighbours: dict[int, list[int]] = defaultdict(list)
    loops = np.stack([arrays["self_loops"]] * 2)
    for u, v in np.concatenate([arrays["edge_index"], loops], axis=1).T.tolist():
        neighbours[u].append(v)
        neighbours[v].append(u)
    parts = {"x": X[:10], "allx": X[:first], "tx": X[there]}
    parts |= {"y": Y[:10], "ally": Y[:first], "ty": Y[there], "graph": neighbours}
    for part, value in parts.items():
        (folder / f"ind.{name}.{part}").write_bytes(pickle.dumps(value, protocol=3))
    (folder / f"ind.{name}.test.index").write_text("".join(f"{node}\n" for node in there))
    names = [f"ind.{name}.{part}" for part in (*parts, "test.index")]
    return names + write_splits(folder, name, arrays)


# -- the server ----------------------------------------------------------------------------------


class _Handler(SimpleHTTPRequestHandler):
    """Serves a folder; of a file called like `short_of` the last bytes never come."""

    short_of: str | None = None

    def log_message(self, *args: object) -> None:
        pass

    def copyfile(self, source, outputfile) -> None:
        content = source.read()
        short = self.short_of is not None and self.path.endswith(self.short_of)
        outputfile.write(content[: len(content) // 2] if short else content)


@contextmanager
def serving(folder: Path, short_of: str | None = None) -> Iterator[str]:
    """The address at which the files of `folder` are."""
    handler = type("Handler", (_Handler,), {"short_of": short_of})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
