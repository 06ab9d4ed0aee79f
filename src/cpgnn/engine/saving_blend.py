"""A blend as arrays and a record, for weights.safetensors and model.json."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import numpy as np
import pandas as pd
import scipy.sparse as sp
from pydantic import Field

from cpgnn.blend.blend import Blend, Hearing, edges_hash, unnamed
from cpgnn.blend.second_stage import Stage
from cpgnn.engine.array_forms import Forms, Numbers, Text, Wholes
from cpgnn.engine.records import Count, Record
from cpgnn.engine.saved_ids import ids_as_json, ids_from_json
from cpgnn.priors.columns import STRUCTURE
from cpgnn.priors.inputs import NARROW, ROWS, TREE_COLUMNS, Basis
from cpgnn.priors.members import (
    EstimatorPrior,
    NetworkPrior,
    Prior,
    SpreadPrior,
    TogetherPrior,
    TreesPrior,
)
from cpgnn.priors.network import Network, Together
from cpgnn.priors.saved_estimator import dump_estimator, load_estimator
from cpgnn.priors.trees import Trees
from cpgnn.relations.edge_weights import Weights

Sizes = dict[str, tuple[int, ...]]
Name = Annotated[str, Field(min_length=1, max_length=200)]
LAYERS = ("W", "b", "W_2", "b_2")


Hidden = Annotated[int, Field(ge=1, le=100_000)]


class NetworkRecord(Record):
    """A prior: its kind, what it reads, and its sizes."""

    kind: Literal["network"]
    name: Name
    reads: Literal["own", "personalised", "smoothed", "rows", "weighed_rows", "all_rows", "paths"]
    hidden: Hidden


class TogetherRecord(Record):
    kind: Literal["together"]
    name: Name
    hidden: Hidden
    relations: tuple[Name, ...] = Field(max_length=1_000)


class TreesRecord(Record):
    kind: Literal["trees"]
    name: Name
    reads: Literal["columns", "words"]
    present: tuple[Count, ...]


class OtherRecord(Record):
    kind: Literal["spread", "estimator"]
    name: Name


PriorRecord = NetworkRecord | TogetherRecord | TreesRecord | OtherRecord


class HearingRecord(Record):
    relation: Name
    gamma: float = Field(ge=0, le=2)


class WeightsRecord(Record):
    how: Literal["raw", "log", "none"] = "raw"
    unit: float = Field(default=1.0, gt=0)


class BlendRecord(Record):
    """The `blend` of model.json."""

    priors: tuple[Annotated[PriorRecord, Field(discriminator="kind")], ...] = Field(
        min_length=1, max_length=100
    )
    hears: tuple[HearingRecord, ...] = Field(max_length=1_000)
    rounds: Count = Field(ge=1, le=100)
    norm: float = Field(gt=0)
    coordinate_norm: float = Field(gt=0)
    directions: Count = 0
    words: Count = 0
    places: Count = 0
    table: Count = Field(default=0, le=NARROW)
    named: bool
    edges: str | None = Field(None, pattern="^[0-9a-f]{64}$")
    """The `edges_hash` of the fit, by which nodes without names are known."""
    edge_weights: WeightsRecord = WeightsRecord()


def blend_record(
    blend: Blend, ids: pd.Index, A: sp.csr_array
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The `blend` of model.json, and the arrays that go with it; A and ids are those of the fit."""
    basis, arrays = blend.basis, {"labels": blend.labels.astype(np.int64), "w_0": blend.w_0}
    parts = {name: getattr(basis, name) for name in ("directions", "words", "places", "table")}
    arrays |= {name: part for name, part in parts.items() if part is not None}
    for t, stage in enumerate(blend.stages):
        arrays |= {f"{t}.w": stage.w, f"{t}.b": stage.b, f"{t}.H_bar": stage.H_bar}
    priors = []
    for i, prior in enumerate(blend.priors):
        record, learned = _prior_record(prior)
        priors.append(record)
        arrays |= {f"prior.{i}.{name}": array for name, array in learned.items()}
    named = not unnamed(ids)
    if named:
        arrays["node_ids"] = np.frombuffer(ids_as_json(ids).encode(), dtype=np.uint8)
    record = {
        "priors": priors,
        "hears": blend.hears,
        "rounds": len(blend.stages),
        "norm": basis.norm,
        "coordinate_norm": basis.coordinate_norm,
        **{name: 0 if part is None else part.shape[-1] for name, part in parts.items()},
        "named": named,
        "edges": None if named else edges_hash(A),
        "edge_weights": blend.edge_weights,
    }
    return record, {f"blend.{name}": array for name, array in arrays.items()}


def _prior_record(prior: Prior) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    if isinstance(prior, NetworkPrior):
        sizes = {"reads": prior.reads, "hidden": len(prior.network.b)}
        return {"kind": "network", "name": prior.name, **sizes}, _layers(prior.network)
    if isinstance(prior, TogetherPrior):
        network = prior.made.network
        record = {"hidden": len(network.b), "relations": list(prior.relations)}
        arrays = {**_layers(network), "H_bar": prior.made.H_bar}
        return {"kind": "together", "name": prior.name, **record}, arrays
    if isinstance(prior, TreesPrior):
        record = {"reads": prior.reads, "present": list(prior.trees.present)}
        text = np.frombuffer(prior.trees.text.encode(), dtype=np.uint8)
        return {"kind": "trees", "name": prior.name, **record}, {"text": text}
    if isinstance(prior, SpreadPrior):
        return {"kind": "spread", "name": prior.name}, {}
    assert isinstance(prior, EstimatorPrior)
    return {"kind": "estimator", "name": prior.name}, {
        "skops": np.frombuffer(dump_estimator(prior.estimator), np.uint8)
    }


def _layers(network: Network) -> dict[str, np.ndarray]:
    return {name: getattr(network, name) for name in LAYERS}


class BlendFiles:
    """The arrays that a record asks for, and the blend that they make."""

    def __init__(self, record: BlendRecord, n: int, F: int | None, c: int) -> None:
        self.record, self.n, self.F, self.c = record, n, F, c

    def forms(self) -> Forms:
        """What each array must be, by name."""
        r, c, M, R = self.record, self.c, len(self.record.priors), len(self.record.hears)
        forms: Forms = {"w_0": Numbers((M,)), "labels": Wholes(-1, c - 1, self.n)}
        if r.named:
            forms["node_ids"] = Text()
        if r.directions:
            forms["directions"] = Numbers((self.F or 0, r.directions))
        if r.places:
            forms["places"] = Numbers((self.n, r.places))
        for name, length in (("words", r.words), ("table", r.table)):
            if length:
                forms[name] = Wholes(0, (self.F or 0) - 1, length)
        sizes: Sizes = {"w": (M,), "b": (c,), "H_bar": (R, c, c)}
        for t in range(r.rounds):
            forms |= {f"{t}.{name}": Numbers(size) for name, size in sizes.items()}
        for i, prior in enumerate(r.priors):
            if prior.kind in ("trees", "estimator"):
                forms[f"prior.{i}.{'text' if prior.kind == 'trees' else 'skops'}"] = Text()
            elif isinstance(prior, NetworkRecord | TogetherRecord):
                h, reads = prior.hidden, prior.reads if prior.kind == "network" else "own"
                sizes = {"W": (self._width(reads), h), "b": (h,), "W_2": (h, c), "b_2": (c,)}
                if prior.kind == "together":
                    sizes["H_bar"] = (len(prior.relations), c, c)
                forms |= {f"prior.{i}.{name}": Numbers(size) for name, size in sizes.items()}
        return {f"blend.{name}": form for name, form in forms.items()}

    def _width(self, reads: str) -> int:
        """Columns of an input; 0 where there is no such input."""
        r, F = self.record, self.F or 0
        wide = r.directions or F
        if reads in ROWS:
            return self.n
        if reads == "words":
            return r.words
        if reads == "columns":
            tables = F if F <= NARROW else r.table or min(TREE_COLUMNS, wide)
            own = 3 * tables or r.places
            return len(STRUCTURE) + own if own else 0
        return F if reads == "own" else wide

    def ids(self, arrays: dict[str, np.ndarray]) -> pd.Index:
        """The names of the nodes; raises ValueError where they are not n names."""
        if not self.record.named:
            return pd.RangeIndex(self.n)
        return ids_from_json(arrays["blend.node_ids"].tobytes().decode(), self.n)

    def made(self, arrays: dict[str, np.ndarray]) -> Blend:
        """The blend; raises ValueError where a text is not what it should be."""
        r, a = self.record, {name.removeprefix("blend."): array for name, array in arrays.items()}
        heard = [one.relation for one in r.hears]
        for names in (heard, *(x.relations for x in r.priors if x.kind == "together")):
            if len(set(names)) < len(names):
                raise ValueError("each relation should be named once")
        stages = [Stage(a[f"{t}.w"], a[f"{t}.b"], a[f"{t}.H_bar"]) for t in range(r.rounds)]
        basis = Basis(
            r.norm,
            a.get("directions"),
            r.coordinate_norm,
            a.get("words"),
            a.get("places"),
            a.get("table"),
        )
        return Blend(
            tuple(self._prior(i, record, a) for i, record in enumerate(r.priors)),
            tuple(Hearing(one.relation, one.gamma) for one in r.hears),
            a["w_0"],
            tuple(stages),
            basis,
            a["labels"],
            self.c,
            Weights(r.edge_weights.how, r.edge_weights.unit),
        )

    def _prior(self, i: int, record: PriorRecord, a: dict[str, np.ndarray]) -> Prior:
        if isinstance(record, TreesRecord):
            text = a[f"prior.{i}.text"].tobytes().decode()
            return TreesPrior(record.name, record.reads, self._trees(text, record))
        if isinstance(record, OtherRecord):
            if record.kind == "spread":
                return SpreadPrior(record.name, self.c)
            width = self._width("columns" if self.F is None else "own")
            loaded = load_estimator(a[f"prior.{i}.skops"].tobytes(), width, self.c)
            return EstimatorPrior(record.name, loaded, self.c)
        network = Network(*(a[f"prior.{i}.{name}"] for name in LAYERS))
        if not network.W.size:
            raise ValueError(f"{record.name!r} reads an input that the model lacks")
        if isinstance(record, NetworkRecord):
            return NetworkPrior(record.name, record.reads, network)
        together = Together(network, a[f"prior.{i}.H_bar"])
        return TogetherPrior(record.name, record.relations, together)

    def _trees(self, text: str, record: TreesRecord) -> Trees:
        present, width = record.present, self._width(record.reads)
        if not width:
            raise ValueError(f"{record.name!r} reads an input that the model lacks")
        if sorted(set(present)) != list(present) or not all(i < self.c for i in present):
            raise ValueError("the classes of the trees should be numbered once, in order")
        if text and len(present) < 2:
            raise ValueError("trees should tell at least two classes apart")
        return Trees(text, present, self.c, width)
