"""What is fuzzed: every reader of somebody else's files, with small good files to begin with.

A reader may accept a file or raise `CPGNNError`; anything else is a defect.
"""

from __future__ import annotations

import gzip
import io
import random
import shutil
import tempfile
import zlib
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from mutation import MUTATORS
from stored import (
    duckdb_file,
    mutate_duckdb,
    mutate_sqlite,
    mutate_workbook,
    sqlite_file,
    workbook,
)

MUTATORS |= {".xlsx": mutate_workbook, ".db": mutate_sqlite, ".duckdb": mutate_duckdb}
BLENDS = Path(__file__).parents[2] / "build/fuzz-seeds"
"""Runs of the default model, which `fit_blends` makes; too slow to make in tests."""
EXPORTED = "exported.graphml"
"""What is written, beside the folder that is read."""
RUNS = Path(__file__).parents[2] / "tests/fixtures/v0.1/runs"
EDGES = b"source,target,weight\na,b,1\nb,c,2\nc,a,1\nc,d,0.5\nd,e,1\ne,a,3\n"
LABELS = b"id,label,split\na,x,train\nb,y,train\nc,x,val\nd,y,\ne,,\n"
FEATURES = b'id,f,g,h\na,1,2,red\nb,3,4,"blue, dark"\nc,5,6,red\nd,0,0,red\ne,1.5,1e3,blue\n'
GRAPHML = b"""<?xml version="1.0" encoding="UTF-8"?>
<graphml xmlns="http://graphml.graphdrawing.org/xmlns">
<key id="w" for="edge" attr.name="weight" attr.type="double"><default>1</default></key>
<key id="l" for="node" attr.name="label" attr.type="string"/>
<key id="s" for="node" attr.name="split" attr.type="string"/>
<key id="f" for="node" attr.name="f" attr.type="double"><default>0</default></key>
<graph edgedefault="undirected">
<node id="a"><data key="l">x</data><data key="f">1</data><data key="s">train</data></node>
<node id="b"><data key="l">y</data><data key="f">2.5</data></node>
<node id="c"/><node id="d"><data key="l">x</data></node>
<edge source="a" target="b"><data key="w">2</data></edge>
<edge source="b" target="c"/><edge source="c" target="d"/>
</graph></graphml>
"""
Files = dict[str, bytes]


@dataclass(frozen=True)
class Reader:
    """Good files to begin with, which of them are changed, and what is done with the result."""

    seeds: tuple[Files, ...]
    changed: Callable[[str], bool]
    read: Callable[[Path], None]

    def mutated(self, rng: random.Random, files: Files) -> Files:
        names = [name for name in files if self.changed(name)]
        name = rng.choice(names)
        if len(files) > 3 and rng.random() < 0.02:  # a folder that lacks a file
            return {other: data for other, data in files.items() if other != name}
        return {**files, name: MUTATORS[Path(name).suffix](rng, files[name])}


def readers() -> dict[str, Reader]:
    from cpgnn.doubt.labels import review_labels
    from cpgnn.doubt.suggest import suggest
    from cpgnn.errors import CPGNNError
    from cpgnn.explanation.contributions import explain
    from cpgnn.io import read_graph
    from cpgnn.report.contents import gather
    from cpgnn.report.page import render
    from cpgnn.run.difference import Difference
    from cpgnn.run.export import export_run
    from cpgnn.run.load import load_run
    from cpgnn.run.manifest import verify_run
    from cpgnn.run.predictions import run_predictions

    def table(edges: str, labels: str | None, features: str | None) -> Callable[[Path], None]:
        def read(folder: Path) -> None:
            given = [None if name is None else folder / name for name in (edges, labels, features)]
            read_graph(*given, one_hot=True, impute="median", keep_rows=True)

        return read

    warm: list[bool] = []

    def open_run(folder: Path) -> None:
        if (folder / "manifest.json").exists():
            verify_run(folder)
        run = load_run(folder)
        if not run.has_graph:
            return
        run_predictions(run)
        work: tuple[Callable[[], object], ...] = (
            lambda: render(gather(run, "run")),
            lambda: explain(run.classifier, run.graph, run.graph.node_ids[:2]),
            lambda: export_run(run, folder.parent / EXPORTED, "graphml"),
            lambda: suggest(run.classifier, 3),
            lambda: Difference.of(run, load_run(folder)).sentences(),
            lambda: review_labels(run.classifier),
        )
        read = b"".join(path.read_bytes() for path in sorted(folder.rglob("*.json")))
        kind = zlib.crc32(read) % 40  # holding labels out in turn takes a fit
        done = [work[-1 if kind == 0 else kind % 5]] if warm else work
        warm.append(True)  # the first time all of it, which is when libraries import and compile
        for one in done:
            with suppress(CPGNNError) if len(done) > 1 else nullcontext():
                one()

    def stored(name: str, option: str) -> Callable[[Path], None]:
        def read(folder: Path) -> None:
            places = (f"{folder / name}?{option}={part}" for part in parts)
            read_graph(*places, one_hot=True, impute="median", keep_rows=True)

        return read

    every: Callable[[str], bool] = lambda name: True  # noqa: E731
    csv = {"e.csv": EDGES, "l.csv": LABELS, "f.csv": FEATURES}
    packed = {"e.csv.gz": gzip.compress(EDGES, mtime=0)}
    tables = {
        f"{name[0]}.parquet": pd.read_csv(io.BytesIO(data)).to_parquet()
        for name, data in csv.items()
    }
    parts = {
        name: pd.read_csv(io.BytesIO(csv[f"{name[0]}.csv"]))
        for name in ("edges", "labels", "features")
    }
    sparse = {
        "features_data": np.ones(4, dtype=np.float32),
        "features_indices": np.array([0, 1, 2, 0]),
        "features_indptr": np.array([0, 1, 2, 3, 4]),
        "features_shape": np.array([4, 3]),
    }
    dense = {"features": np.arange(8.0).reshape(4, 2), "feature_names": np.array(["f", "g"])}
    ids = {"node_ids_bytes": np.frombuffer(b"abcd", np.uint8), "node_ids_offsets": np.arange(5)}
    graph = {"edge_index": np.array([[0, 1, 2], [1, 2, 3]]), "labels": np.array([0, 1, 0, -1])}
    npz = (
        {"g.npz": packed_npz({**graph, **sparse, **ids})},
        {"g.npz": packed_npz({**graph, **dense, "class_names": np.array(["x", "é"])})},
    )
    matrix = {"f.npz": packed_npz({**dense, "node_ids": np.array(list("abcd"))})}
    short = {"e.csv": b"a,b\nb,c\nc,d\n"}
    saved = tuple(_folder(RUNS / name) for name in ("flagged-mixed", "weighted-refit", "mlp2"))
    found = {
        "edges": Reader((csv,), lambda name: name == "e.csv", table("e.csv", "l.csv", "f.csv")),
        "labels": Reader((csv,), lambda name: name == "l.csv", table("e.csv", "l.csv", "f.csv")),
        "features": Reader((csv,), lambda name: name == "f.csv", table("e.csv", "l.csv", "f.csv")),
        "gzip": Reader((packed,), every, table("e.csv.gz", None, None)),
        "parquet": Reader((tables,), every, table("e.parquet", "l.parquet", "f.parquet")),
        "graphml": Reader(({"g.graphml": GRAPHML},), every, table("g.graphml", None, None)),
        "npz": Reader(npz, every, table("g.npz", None, None)),
        "npz features": Reader(
            ({**short, **matrix},), lambda name: name == "f.npz", table("e.csv", None, "f.npz")
        ),
        "workbook": Reader(({"x.xlsx": workbook(parts)},), every, stored("x.xlsx", "sheet")),
        "sqlite": Reader(({"x.db": sqlite_file(parts)},), every, stored("x.db", "table")),
        "duckdb": Reader(({"x.duckdb": duckdb_file(parts)},), every, stored("x.duckdb", "table")),
        "run": Reader(saved, lambda name: Path(name).suffix in MUTATORS, open_run),
    }
    for name in ("blend", "typed"):
        if (BLENDS / name).exists():
            found[name] = Reader((_folder(BLENDS / name),), found["run"].changed, open_run)
    return found


def fit_blends() -> None:
    """Small runs of the default model, without a manifest, so that changes are not noticed: a plain
    one, and one with types of edges, kinds of nodes, text, gaps, a threshold and sets."""
    from cpgnn.classifier import CPGNNClassifier
    from cpgnn.evaluation import cross_validation
    from cpgnn.evaluation.thresholds import Goal
    from cpgnn.io import read_graph
    from cpgnn.run.folder import fit_run

    cross_validation.SECONDS = 0.0
    shutil.rmtree(BLENDS, ignore_errors=True)
    rng = np.random.default_rng(0)
    y = np.arange(60) % 2
    ends = {"source": np.arange(60).repeat(3), "target": rng.permutation(np.arange(180) % 60)}
    labels = {"id": np.arange(60), "label": np.array(["a", "b"])[y]}
    features = {"id": np.arange(60), "x": rng.normal(size=60) + y, "z": rng.normal(size=60)}
    typed = {
        "edges": {**ends, "type": np.tile(["knows", "pays"], 90), "weight": rng.random(180) + 0.1},
        "labels": {
            "id": np.arange(80),
            "label": np.append(labels["label"], [""] * 20),
            "kind": np.repeat(["person", "firm"], [60, 20]),
        },
        "features": {**features, "colour": rng.choice(["red", "blue", ""], 60)},
    }
    typed["edges"]["target"] = np.where(
        np.arange(180) % 9, ends["target"], 60 + np.arange(180) % 20
    )
    with tempfile.TemporaryDirectory() as name:
        for run, tables in (
            ("blend", {"edges": ends, "labels": labels, "features": features}),
            ("typed", typed),
        ):
            for part, table in tables.items():
                pd.DataFrame(table).to_csv(Path(name, f"{part}.csv"), index=False)
            files = [Path(name, f"{part}.csv") for part in tables]
            more = {"positive": "a", "goal": Goal("f1"), "coverage": 0.8} if run == "typed" else {}
            graph = read_graph(*files, directed=True if run == "typed" else None)
            fit_run(graph, CPGNNClassifier(), BLENDS / run, **more)
            (BLENDS / run / "manifest.json").unlink()
            for unread in (*(BLENDS / run).glob("*.csv"), BLENDS / run / "report.html"):
                if unread.name != "history.csv":
                    unread.unlink()


def packed_npz(arrays: dict[str, np.ndarray]) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)  # type: ignore[arg-type]
    return file.getvalue()


def _folder(path: Path) -> Files:
    files = (file for file in sorted(path.rglob("*")) if file.is_file())
    return {file.relative_to(path).as_posix(): file.read_bytes() for file in files}


def put(folder: Path, files: Files) -> None:
    """The files, and nothing else, in `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, data in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
