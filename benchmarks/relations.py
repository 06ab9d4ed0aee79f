"""Graphs with types, kinds and directions.

python relations.py export acm|freebase OUT     # files for `cpgnn fit`
python relations.py directed chameleon|squirrel # ten splits, directed and not: a line each
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn import CPGNNClassifier, Graph, Split

DATA = Path(os.environ.get("CPGNN_DATA", "."))


def export(name: str, out: Path) -> None:
    """edges.csv with types, labels_K.csv with the published splits, features.npz of one kind."""
    out.mkdir(parents=True, exist_ok=True)
    z = np.load(DATA / "relations" / f"{name}.npz")
    kind = z["node_kind"]
    number = np.concatenate([np.arange((kind == k).sum()) for k in range(len(z["kind_names"]))])
    names = zip(z["kind_names"][kind], number, strict=True)
    ids = np.array([f"{name} {i}" for name, i in names])
    u, v = z["edge_index"]
    types = z["relation_names"][z["edge_type"]]
    edges = pd.DataFrame({"source": ids[u], "target": ids[v], "type": types})
    edges.to_csv(out / "edges.csv", index=False)
    for k in (20, 40, 60):
        at = {part: z[f"{part}_{k}"] for part in ("train", "val", "test")}
        rows = [
            pd.DataFrame({"id": ids[nodes], "label": z["labels"][nodes], "split": part})
            for part, nodes in at.items()
        ]
        pd.concat(rows).to_csv(out / f"labels_{k}.csv", index=False)
    if "features_data" in z.files:
        arrays = {key: z[key] for key in z.files if key.startswith("features_")}
        np.savez(out / "features.npz", node_ids=ids[kind == 0], **arrays)


def directed(name: str) -> None:
    z = np.load(DATA / "beyond" / f"{name}_filtered_directed.npz")
    y = z["labels"].astype(int)
    parts = (z[f"features_{part}"] for part in ("data", "indices", "indptr"))
    X = sp.csr_array(tuple(parts), shape=tuple(z["features_shape"]))
    for s in range(10):
        split = Split.from_masks(*(z[f"{part}_masks"][s] for part in ("train", "val", "test")))
        for is_directed in (True, False):
            ends = z["edge_index"]
            graph = Graph.from_edges(
                *ends, num_nodes=len(y), labels=y, features=X, directed=is_directed
            )
            start = time.process_time()
            P = CPGNNClassifier().fit(graph, split=split).predict_proba()[split.test]
            accuracy = float((P.argmax(axis=1) == y[split.test]).mean())
            line = {"graph": f"{name}_filtered_directed", "split": s, "directed": is_directed}
            line |= {"accuracy": accuracy, "cpu_seconds": time.process_time() - start}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, name, *rest = sys.argv[1:]
    export(name, Path(*rest)) if what == "export" else directed(name)
