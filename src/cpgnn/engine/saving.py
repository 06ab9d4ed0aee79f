"""A fitted model as a folder: weights as safetensors, everything else as JSON. No pickle."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
import torch
from pydantic import Field, model_validator
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

import cpgnn
from cpgnn.engine.array_forms import Forms, Numbers, Wholes
from cpgnn.engine.arrays import as_array
from cpgnn.engine.loop import Epoch, InitialSource
from cpgnn.engine.records import (
    Count,
    EpochRecord,
    Number,
    Record,
    Share,
    damaged,
    json_text,
    read_record,
)
from cpgnn.engine.saving_blend import BlendFiles, BlendRecord, blend_record
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.engine.text import listed
from cpgnn.errors import InputError, must_be
from cpgnn.evaluation.calibration import FLATTEST, STARKEST
from cpgnn.evaluation.intervals import EdgeFrequency
from cpgnn.graph import Graph
from cpgnn.io import atomic_folder
from cpgnn.io.files import text_path
from cpgnn.model import CPGNN, MOST_LAYERS, Architecture
from cpgnn.selection.fitting import Honest
from cpgnn.settings import Settings
from cpgnn.splits import PARTS, Split

if TYPE_CHECKING:
    from cpgnn.classifier import CPGNNClassifier

FORMATS = PAPER, BLEND = 2, 3
"""Raised when what is written changes: 2 added the temperature and the intervals, 3 blends."""
MODEL_FILES = CONFIG, WEIGHTS = "model.json", "weights.safetensors"
FREQUENCIES = ("edge_frequency", *(f"edge_frequency.{x}" for x in ("low", "high", "edges")))
SAME = (
    *("architecture", "num_layers", "settings", "validation_score", "temperature", "contrast"),
    *("self_trained", "evidence", "initial_from"),
)
"""Entries of model.json that are attributes of a classifier, which end in an underscore there."""
ARRAYS = ("compatibility", "initial_compatibility", "calibration", "class_shares")
"""The same of weights.safetensors."""
PLAIN = str | int | float | bool | np.generic
Name = str | Annotated[int, Field(ge=-(2**63), lt=2**63)] | float | bool


class FormatRecord(Record, extra="ignore"):
    """The entries of model.json that every version writes."""

    format: int
    cpgnn_version: str = Field(max_length=40)


class ShapeRecord(Record):
    """The sizes a model was built for."""

    num_nodes: Count
    num_features: Count | None
    num_classes: Count = Field(ge=2)


class FrequencyRecord(Record):
    """What `EdgeFrequency` knows beside its matrices."""

    confidence: Share
    method: Literal["known edges and predictions", "beliefs"]
    optimistic: bool


class ModelRecord(Record):
    """model.json."""

    format: int
    cpgnn_version: str
    shape: ShapeRecord
    architecture: Architecture | None = None
    blend: BlendRecord | None = None
    num_layers: Count = Field(le=MOST_LAYERS)
    settings: Settings
    parameters: dict[str, str | int | float | bool | None]
    class_names: tuple[Name, ...]
    feature_names: tuple[str, ...] | None = None
    nodes: str = Field(pattern="^[0-9a-f]{64}$")
    scaling: Literal["rows", "standard", "none"]
    validation_score: Number
    temperature: float = Field(gt=0)
    contrast: float = Field(0.0, ge=FLATTEST, le=STARKEST)
    self_trained: Count = 0
    evidence: dict[str, Share] = Field(default_factory=dict)
    edge_frequency: FrequencyRecord
    initial_from: InitialSource | None = None
    kept: EpochRecord | None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        c, F = self.shape.num_classes, self.shape.num_features
        if not len(set(self.class_names)) == len(self.class_names) == c:
            raise ValueError(f"class_names should name each of {c} classes once")
        names = self.feature_names
        if names is not None and not len(set(names)) == len(names) == (F or 0):
            raise ValueError(f"feature_names should name each of {F} features once")
        if (self.architecture is None) == (self.blend is None):
            raise ValueError("there should be either an architecture or a blend")
        layers = 1 if self.architecture is None else self.architecture.num_layers
        if self.num_layers not in (0, layers):
            raise ValueError(f"num_layers should be 0 or {layers}")
        return self


def save_model(classifier: CPGNNClassifier, folder: Path) -> None:
    """Writes `folder`, whole or not at all."""
    model = classifier.model_
    if classifier.architecture_ is None and isinstance(model, CPGNN):
        hint = "Save its weights yourself: torch.save(classifier.model_.state_dict(), …)."
        raise must_be("The prior", "be a built-in one to be saved", "a custom module", hint)
    if not hasattr(classifier, "graph_"):
        must = "have the graph it was fitted on to be saved again"
        hint = "Try CPGNNClassifier.load(folder, graph), or copy the folder."
        raise must_be("The model", must, "one loaded without", hint)
    graph, found = classifier.graph_, classifier.edge_frequency_interval_
    for name in graph.class_names:
        if not isinstance(name, PLAIN):
            raise must_be("A class name", "be text or a number to be saved", type(name).__name__)
    config = {
        "format": PAPER if isinstance(model, CPGNN) else BLEND,
        "cpgnn_version": cpgnn.__version__,
        "shape": {name: getattr(graph, name) for name in ShapeRecord.model_fields},
        **{name: getattr(classifier, f"{name}_") for name in SAME},
        "parameters": {
            name: value
            for name, value in classifier.get_params(deep=False).items()
            if value is None or isinstance(value, PLAIN)
        },
        "class_names": graph.class_names,
        "feature_names": classifier.feature_names_in_,
        "nodes": classifier.nodes_,
        "scaling": classifier.scaler_.kind,
        "edge_frequency": {name: getattr(found, name) for name in FrequencyRecord.model_fields},
        "kept": classifier.kept_,
    }
    arrays = {
        **{name: getattr(classifier, f"{name}_") for name in ARRAYS},
        **dict(zip(FREQUENCIES, (found.share, found.low, found.high, found.edges), strict=True)),
        "scaler.mean": classifier.scaler_.mean,
        "scaler.std": classifier.scaler_.std,
        **{f"split.{part}": getattr(classifier.split_, part) for part in PARTS},
    }
    honest = getattr(classifier, "honest_", None)
    if honest is not None:
        arrays |= {"honest.nodes": honest.nodes, "honest.logits": honest.logits}
    tensors = {name: torch.tensor(array) for name, array in arrays.items() if array is not None}
    if isinstance(model, CPGNN):
        for name, tensor in model.state_dict().items():
            tensors[f"model.{name}"] = tensor.detach().cpu().contiguous()
    else:
        config["blend"], parts = blend_record(model, classifier.node_ids_, graph.adjacency)
        tensors |= {name: torch.tensor(array) for name, array in parts.items()}
    with atomic_folder(folder) as partial:
        (partial / CONFIG).write_text(json_text(config), encoding="utf-8")
        save_file(tensors, partial / WEIGHTS)
        (partial / WEIGHTS).chmod((partial / CONFIG).stat().st_mode)  # safetensors' own is 0600


def load_model(cls: type[CPGNNClassifier], folder: Path, graph: Graph | None) -> CPGNNClassifier:
    """Reads what `save_model` wrote; every size is checked before anything is built from it."""
    record = _read_record(folder / CONFIG)
    tensors = _read_tensors(folder / WEIGHTS, record)
    weights = {k[6:]: v for k, v in tensors.items() if k.startswith("model.")}
    arrays = {k: v.numpy() for k, v in tensors.items() if not k.startswith("model.")}
    try:
        classifier = cls(**record.parameters)  # type: ignore[arg-type]
        classifier.split_ = Split(*(arrays[f"split.{part}"] for part in PARTS))
    except (TypeError, InputError) as error:
        raise damaged(folder / CONFIG, str(error)) from None
    if record.architecture is not None:
        model = record.architecture.build(record.shape)
        model.load_state_dict(weights)
        model.num_layers = record.num_layers
        classifier.model_ = model.eval()
    else:
        files = _blend_files(record)
        classifier._edges = files.record.edges
        try:
            classifier.model_, classifier.node_ids_ = files.made(arrays), files.ids(arrays)
        except (ValueError, RecursionError) as error:  # also of JSON, and of Unicode
            raise damaged(folder / WEIGHTS, str(error)) from None
    for name in SAME:
        setattr(classifier, f"{name}_", getattr(record, name))
    for name in ARRAYS:  # earlier models lack some
        setattr(classifier, f"{name}_", arrays.get(name))
    classifier.scaler_ = FeatureScaler(
        record.scaling,
        record.shape.num_features,
        arrays.get("scaler.mean"),
        arrays.get("scaler.std"),
    )
    share, low, high, edges = (arrays[name] for name in FREQUENCIES)
    initial = arrays.get("initial_compatibility")
    made = EdgeFrequency(share, low, high, edges, initial, **dict(record.edge_frequency))
    classifier.edge_frequency_interval_, classifier.edge_frequency_ = made, made.share
    if "honest.nodes" in arrays:  # earlier models kept none
        classifier.honest_ = Honest(arrays["honest.nodes"], arrays["honest.logits"])
    classifier.nodes_ = record.nodes
    classifier.kept_ = Epoch(**dict(record.kept)) if record.kept else None
    classifier.n_features_in_ = record.shape.num_features or 0
    classifier.feature_names_in_ = record.feature_names
    classifier.classes_ = as_array(record.class_names)
    if graph is not None:
        classifier.graph_ = _own_graph(folder, record, graph)
    if graph is not None and record.blend:
        if not graph.node_ids.astype(str).equals(classifier.node_ids_.astype(str)):
            raise damaged(folder / WEIGHTS, "'blend.node_ids' are not those of the graph")
        train = classifier.split_.train
        ours, theirs = arrays["blend.labels"][train], classifier.graph_.labels[train]
        if ((ours != theirs) & (theirs >= 0)).any():
            raise damaged(folder / WEIGHTS, "'blend.labels' are not those of the graph")
    return classifier


def _read_record(path: Path) -> ModelRecord:
    if not path.is_file():
        must = f"be a model folder with {CONFIG} and {WEIGHTS}"
        raise must_be(f"{path.parent}", must, "a folder without them")
    written = read_record(FormatRecord, path)
    if written.format not in FORMATS:
        newer = written.format > BLEND
        hint = "Upgrade cpgnn to read it." if newer else "Fit and save the model again."
        got = f"format {written.format}, written by cpgnn {written.cpgnn_version}"
        raise must_be(f"{path}", f"have model format {PAPER} or {BLEND}", got, hint)
    return read_record(ModelRecord, path)


def _read_tensors(path: Path, record: ModelRecord) -> dict[str, torch.Tensor]:
    """Every tensor of the file has the name, shape and type that model.json asks for."""
    if not path.is_file():
        raise damaged(path, "there is no such file")
    try:
        tensors = load_file(text_path(path))
    except (SafetensorError, OSError) as error:
        raise damaged(path, str(error).splitlines()[0]) from None
    forms = _forms(record, tensors)
    if tensors.keys() != forms.keys():
        odd = sorted(tensors.keys() ^ forms.keys())
        raise damaged(path, f"{odd[0]!r} is missing, or is not of this model")
    for name, form in forms.items():
        if fault := form.fault(tensors[name]):
            raise damaged(path, f"{name!r} {fault}")
    if "class_shares" in tensors and not math.isclose(tensors["class_shares"].sum(), 1.0):
        raise damaged(path, "'class_shares' do not add up to 1")
    if record.scaling == "standard" and not (tensors["scaler.std"] > 0).all():
        raise damaged(path, "'scaler.std' holds a number that is not positive")
    judged = torch.cat([tensors["split.train"], tensors["split.val"]])
    for name in {"calibration", "honest.nodes"} & forms.keys():
        if len(set(tensors[name].tolist())) < len(tensors[name]):
            raise damaged(path, f"{name!r} names a node twice")
        if not torch.isin(tensors[name], judged).all():
            raise damaged(path, f"{name!r} names a node that has no label to compare with")
    return tensors


def _forms(record: ModelRecord, there: dict[str, torch.Tensor]) -> Forms:
    """What model.json asks for; some arrays are not `there` in earlier models, or not always."""
    c, F, n = record.shape.num_classes, record.shape.num_features or 0, record.shape.num_nodes
    nodes, matrix = Wholes(0, n - 1), Numbers((c, c))
    if record.architecture is not None:
        shapes = record.architecture.weight_shapes(record.shape)
        forms: Forms = {f"model.{name}": Numbers(shape) for name, shape in shapes.items()}
    else:
        forms = _blend_files(record).forms()
    forms |= {f"split.{part}": nodes for part in PARTS}
    forms |= {"calibration": nodes, "compatibility": matrix}
    forms |= {name: Numbers((c, c), "share", gaps=True) for name in FREQUENCIES}
    forms["edge_frequency.edges"] = Numbers((c, c), "sum", gaps=True)
    if "honest.nodes" in there:
        rows = there["honest.nodes"].numel()
        forms |= {"honest.nodes": nodes, "honest.logits": Numbers((rows, c))}
    optional = {"initial_compatibility": matrix, "class_shares": Numbers((c,), "share")}
    forms |= {name: form for name, form in optional.items() if name in there}
    if record.scaling == "standard":
        forms |= {"scaler.mean": Numbers((F,)), "scaler.std": Numbers((F,))}
    return forms


def _blend_files(record: ModelRecord) -> BlendFiles:
    assert record.blend is not None
    shape = record.shape
    return BlendFiles(record.blend, shape.num_nodes, shape.num_features, shape.num_classes)


def _own_graph(folder: Path, record: ModelRecord, graph: Graph) -> Graph:
    """The graph, if it is the one the model was fitted on, with labels numbered as in the model."""
    if graph.fingerprint() != record.nodes:
        got, hint = f"one with other nodes ({graph.num_nodes:,})", "Use predict(graph) for others."
        raise must_be("The graph", f"be the one that {folder} was fitted on", got, hint)
    shape = record.shape
    if (graph.num_nodes, graph.num_features) != (shape.num_nodes, shape.num_features):
        got = f"{graph.num_nodes:,} nodes and {graph.num_features or 'no'} features"
        must = f"have {shape.num_nodes:,} nodes and {shape.num_features or 'no'} features"
        raise must_be("The graph", f"{must}, as {folder / CONFIG} says", got)
    names = record.class_names
    if graph.class_names == names:
        return graph
    known = [name for name in names if name in graph.class_names]
    if known != list(graph.class_names):
        must = f"be those of {folder / CONFIG}, in the same order: {listed(names)}"
        raise must_be("The classes of the graph", must, listed(graph.class_names))
    code = np.array([*(names.index(name) for name in known), -1])  # labels of fewer classes
    return replace(graph, labels=code[graph.labels], class_names=names)
