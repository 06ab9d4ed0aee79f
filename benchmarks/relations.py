"""Graphs with types, kinds and directions.

python relations.py export acm|freebase OUT     # files for `cpgnn fit`
python relations.py directed chameleon|squirrel # ten splits, directed and not: a line each
python relations.py generated SEED              # 10,000 nodes with known matrices: a line each
python relations.py cost                        # the same edges as 1, 2, 4, 8 types: a line each
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp

from cpgnn import CPGNNClassifier, Graph, Split, relation_matrices
from cpgnn.blend.second_stage import fit_second_stage, in_every_world
from cpgnn.engine.cross_fitting import Worlds
from cpgnn.evaluation.relation_frequencies import relation_frequencies
from cpgnn.splits import stratified_split
from cpgnn.synthetic.generate import uniform_compatibility
from cpgnn.synthetic.typed import Drawn, generate_typed_graph, moved

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


def generated(seed: int) -> None:
    """Relations apart and merged; the matrices found and their 90 % intervals against the truth."""
    cases = []
    for h in (0.8, 0.65):
        like, unlike = uniform_compatibility(3, h), uniform_compatibility(3, 0.1)
        circle = moved(like, 1, directed=True)
        cases += [
            (f"direction, {h}", {"pays": Drawn(circle, 4, directed=True)}),
            (f"types, {h}", {"shares": Drawn(like, 3), "pays": Drawn(unlike, 3)}),
            (f"both, {h}", {"pays": Drawn(circle, 3, directed=True), "shares": Drawn(like, 3)}),
            (f"the same, {h}", {"shares": Drawn(like, 3), "likes": Drawn(like, 3)}),
        ]
    for case, types in cases:
        graph = generate_typed_graph([3334, 3333, 3333], types, seed=seed)
        split = stratified_split(graph.labels, validation=0.1, test=0.8, seed=seed)
        plain = {"labels": graph.labels, "class_names": graph.class_names}
        line: dict[str, object] = {"generated": case, "seed": seed}
        for name, one in ("apart", graph), ("merged", Graph.from_scipy(graph.adjacency, **plain)):
            start = time.process_time()
            model = CPGNNClassifier(seed=seed).fit(one, split=split)
            right = model.predict() == graph.labels
            line[name] = round(float(right[split.test].mean()), 4)
            line[f"{name} cpu_seconds"] = round(time.process_time() - start, 1)
            if name == "apart":
                truth, found = (
                    relation_matrices(graph),
                    relation_frequencies(graph, *model.unseen()),
                )
                errors = [np.abs(f.share - truth[r]).mean() for r, f in found.items()]
                inside = [(f.low <= truth[r]) & (truth[r] <= f.high) for r, f in found.items()]
                line["H error"] = round(float(np.max(errors)), 4)
                line["covered"], line["cells"] = int(np.sum(inside)), int(np.size(inside))
        print(json.dumps(line), flush=True)


def cost(turns: int = 5) -> None:
    """CPU of a second stage and of what a fitted one says, for the same edges as 1 to 8 types."""
    n, c = 50_000, 3
    rng = np.random.default_rng(0)
    y = rng.integers(0, c, n)
    worlds = Worlds.of(y, c, np.arange(2_000), np.arange(2_000, 3_000))
    logs = [np.log(rng.dirichlet(np.ones(c), (worlds.num_worlds, n)).astype(np.float32))]
    for m, R in itertools.product((400_000, 1_600_000), (0, 1, 2, 4, 8)):
        u, v = np.random.default_rng(m).integers(0, n, (2, m))
        types = pd.Categorical([f"t{i}" for i in range(R)])[np.arange(m) % R] if R else None
        plain = Graph.from_edges(u, v, num_nodes=n)
        graph = Graph.from_edges(u, v, num_nodes=n, relation=types)
        pairs = [[], []]
        for _ in range(turns):
            for of, one in zip(pairs, (plain, graph), strict=True):
                P = [relation.propagator(0.5) for relation in one.relations]
                start = time.process_time()
                made = fit_second_stage(logs, P, worlds)
                fitted = time.process_time()
                in_every_world(made, logs, P, worlds)
                of.append((fitted - start, time.process_time() - fitted))
        plainly, typed = (np.median(of, axis=0) for of in pairs)
        line = {"cost": f"{R} types" if R else "no types", "entries": int(sum(p.nnz for p in P))}
        line |= {"second stage": round(float(typed[0] / plainly[0]), 2)}
        line |= {"prediction": round(float(typed[1] / plainly[1]), 2)}
        line |= {"cpu_ms": [round(1_000 * t) for t in typed.tolist()]}
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, *rest = sys.argv[1:]
    if what == "export":
        export(rest[0], Path(rest[1]))
    elif what == "directed":
        directed(rest[0])
    elif what == "generated":
        generated(int(rest[0]))
    else:
        cost()
