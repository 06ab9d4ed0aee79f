"""A fitted model as a folder: weights as safetensors, everything else as JSON. No pickle."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file

import cpgnn
from cpgnn.architecture import Architecture
from cpgnn.engine.arrays import as_array
from cpgnn.engine.loop import Epoch
from cpgnn.engine.scaling import FeatureScaler
from cpgnn.errors import InputError, must_be
from cpgnn.evaluation.intervals import EdgeFrequency
from cpgnn.graph import Graph
from cpgnn.io import atomic_folder
from cpgnn.settings import Settings
from cpgnn.splits import Split

if TYPE_CHECKING:
    from cpgnn.classifier import CPGNNClassifier

FORMAT = 2
"""Raised when what is written changes: 2 added the temperature and the intervals."""
CONFIG, WEIGHTS = "model.json", "weights.safetensors"
LARGEST_CONFIG = 64 * 2**20


@dataclass(frozen=True)
class Shape:
    """The sizes a model was built for."""

    num_nodes: int
    num_features: int | None
    num_classes: int


def save_model(classifier: CPGNNClassifier, folder: Path) -> None:
    """Writes `folder`, whole or not at all."""
    if classifier.architecture_ is None:
        raise must_be(
            "The prior",
            "be a built-in one to be saved",
            "a custom module",
            "Save its weights yourself: torch.save(classifier.model_.state_dict(), …).",
        )
    if not hasattr(classifier, "graph_"):
        raise must_be(
            "The model",
            "have the graph it was fitted on to be saved again",
            "one loaded without",
            "Try CPGNNClassifier.load(folder, graph), or copy the folder.",
        )
    names = [_json_name(name) for name in classifier.graph_.class_names]
    graph, scaler = classifier.graph_, classifier.scaler_
    kept = classifier.kept_
    config = {
        "format": FORMAT,
        "cpgnn_version": cpgnn.__version__,
        "shape": asdict(Shape(graph.num_nodes, graph.num_features, graph.num_classes)),
        "architecture": asdict(classifier.architecture_),
        "num_layers": classifier.num_layers_,
        "settings": asdict(classifier.settings_),
        "parameters": {k: v for k, v in classifier.get_params().items() if not callable(v)},
        "class_names": names,
        "feature_names": classifier.feature_names_in_,
        "nodes": classifier.nodes_,
        "scaling": scaler.kind,
        "validation_score": classifier.validation_score_,
        "temperature": classifier.temperature_,
        "self_trained": classifier.self_trained_,
        "edge_frequency": {
            "confidence": classifier.edge_frequency_interval_.confidence,
            "method": classifier.edge_frequency_interval_.method,
            "optimistic": classifier.edge_frequency_interval_.optimistic,
        },
        "kept": None if kept is None else asdict(kept),
    }
    tensors = {
        f"model.{name}": tensor.detach().cpu().contiguous()
        for name, tensor in classifier.model_.state_dict().items()
    }
    for name, array in _arrays(classifier).items():
        tensors[name] = torch.tensor(array)
    with atomic_folder(folder) as partial:
        text = json.dumps(config, indent=2, ensure_ascii=False, default=_plain)
        (partial / CONFIG).write_text(text + "\n", encoding="utf-8")
        save_file(tensors, partial / WEIGHTS)
        (partial / WEIGHTS).chmod((partial / CONFIG).stat().st_mode)  # safetensors' own is 0600


def _arrays(classifier: CPGNNClassifier) -> dict[str, np.ndarray]:
    arrays = {
        "compatibility": classifier.compatibility_,
        "initial_compatibility": classifier.initial_compatibility_,
        "edge_frequency": classifier.edge_frequency_interval_.share,
        "edge_frequency.low": classifier.edge_frequency_interval_.low,
        "edge_frequency.high": classifier.edge_frequency_interval_.high,
        "edge_frequency.edges": classifier.edge_frequency_interval_.edges,
        "calibration": classifier.calibration_,
        "scaler.mean": classifier.scaler_.mean,
        "scaler.std": classifier.scaler_.std,
        "split.train": classifier.split_.train,
        "split.val": classifier.split_.val,
        "split.test": classifier.split_.test,
    }
    return {name: array for name, array in arrays.items() if array is not None}


def load_model(cls: type[CPGNNClassifier], folder: Path, graph: Graph | None) -> CPGNNClassifier:
    """Reads what `save_model` wrote; every size is checked before anything is built from it."""
    config = _read_config(folder)
    tensors = _read_weights(folder / WEIGHTS)
    try:
        shape = Shape(**config["shape"])
        architecture = Architecture(**config["architecture"])
        _check_shapes(shape, architecture, tensors)
        classifier = cls(**config["parameters"])
        model = architecture.build(shape)
        weights = {
            k.removeprefix("model."): v for k, v in tensors.items() if k.startswith("model.")
        }
        model.load_state_dict(weights)
        model.num_layers = int(config["num_layers"])
        classifier.model_ = model.eval()
        classifier.architecture_, classifier.num_layers_ = architecture, model.num_layers
        classifier.settings_ = Settings(**config["settings"])
        arrays = {k: v.numpy() for k, v in tensors.items() if not k.startswith("model.")}
        _check_contents(config, shape, architecture, arrays)
        classifier.scaler_ = FeatureScaler(
            config["scaling"],
            shape.num_features,
            arrays.get("scaler.mean"),
            arrays.get("scaler.std"),
        )
        classifier.compatibility_ = arrays["compatibility"]
        classifier.initial_compatibility_ = arrays.get("initial_compatibility")
        classifier.edge_frequency_interval_ = EdgeFrequency(
            arrays["edge_frequency"],
            arrays["edge_frequency.low"],
            arrays["edge_frequency.high"],
            arrays["edge_frequency.edges"],
            classifier.initial_compatibility_,
            **config["edge_frequency"],
        )
        classifier.edge_frequency_ = classifier.edge_frequency_interval_.share
        classifier.temperature_ = float(config["temperature"])
        classifier.self_trained_ = int(config.get("self_trained", 0))
        classifier.calibration_ = arrays["calibration"]
        classifier.split_ = Split(*(arrays[f"split.{part}"] for part in ("train", "val", "test")))
        classifier.nodes_ = str(config["nodes"])
        classifier.kept_ = Epoch(**config["kept"]) if config["kept"] else None
        classifier.n_features_in_ = shape.num_features or 0
        features = config.get("feature_names")
        classifier.feature_names_in_ = None if features is None else tuple(map(str, features))
        classifier.validation_score_ = float(config["validation_score"])
        names = tuple(config["class_names"])
    except (KeyError, TypeError, ValueError, RuntimeError) as error:
        why = f"{error} is missing" if isinstance(error, KeyError) else str(error).splitlines()[0]
        raise _foreign(folder, why) from None
    classifier.classes_ = as_array(names)
    if graph is not None:
        if graph.fingerprint() != classifier.nodes_:
            raise must_be(
                "The graph",
                f"be the one that {folder} was fitted on",
                f"one with other nodes ({graph.num_nodes:,})",
                "Other graphs go into predict(graph).",
            )
        classifier.graph_ = graph
    return classifier


def _read_config(folder: Path) -> dict[str, Any]:
    path = folder / CONFIG
    if not path.is_file():
        raise must_be(
            f"{folder}", f"be a model folder with {CONFIG} and {WEIGHTS}", "a folder without them"
        )
    if path.stat().st_size > LARGEST_CONFIG:
        raise must_be(f"{path}", f"be at most {LARGEST_CONFIG} bytes", path.stat().st_size)
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
        written = int(config["format"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise _foreign(folder, f"{CONFIG} is not the JSON that cpgnn writes") from None
    if written != FORMAT:
        raise must_be(
            f"{path}",
            f"have model format {FORMAT}",
            f"format {written}, written by cpgnn {config.get('cpgnn_version')}",
            "Upgrade cpgnn to read it." if written > FORMAT else "Fit and save the model again.",
        )
    return dict(config)


def _read_weights(path: Path) -> dict[str, torch.Tensor]:
    try:
        return load_file(path)
    except (SafetensorError, OSError) as error:
        raise _foreign(path.parent, f"{path.name}: {error}") from None


def _weights(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The tensors that are the model's, under its own names for them."""
    names = [name for name in tensors if name.startswith("model.")]
    return {name.removeprefix("model."): tensors[name] for name in names}


def _check_shapes(
    shape: Shape, architecture: Architecture, tensors: dict[str, torch.Tensor]
) -> None:
    """The weights that the configuration asks for are those in the file, before any is made."""
    wanted = architecture.weight_shapes(shape)
    found = {name: tuple(tensor.shape) for name, tensor in _weights(tensors).items()}
    if wanted != found:
        raise ValueError(f"{CONFIG} describes weights {wanted}, {WEIGHTS} holds {found}")


def _check_contents(
    config: dict[str, Any], shape: Shape, architecture: Architecture, arrays: dict[str, Any]
) -> None:
    """Everything beside the weights has the size that the model says."""
    c, F = shape.num_classes, shape.num_features
    wanted: dict[str, tuple[int | None, ...]]
    frequencies = ("edge_frequency", *(f"edge_frequency.{x}" for x in ("low", "high", "edges")))
    wanted = dict.fromkeys(("compatibility", *frequencies), (c, c))
    if config["scaling"] == "standard":
        wanted |= {"scaler.mean": (F,), "scaler.std": (F,)}
    for name, size in wanted.items():
        if arrays[name].shape != size:
            raise ValueError(f"{name} must have shape {size}, not {arrays[name].shape}")
    if config["scaling"] not in ("rows", "standard", "none"):
        raise ValueError(f"there is no scaling {config['scaling']!r}")
    features = config.get("feature_names")
    if features is not None and len(set(features)) != F:
        raise ValueError(f"{len(set(features))} names for {F} features")
    if not 0 < config["temperature"] < float("inf"):
        raise ValueError(f"temperature must be positive, not {config['temperature']!r}")
    if len(config["class_names"]) != c:
        raise ValueError(f"{len(config['class_names'])} names for {c} classes")
    if config["num_layers"] not in (0, architecture.num_layers):
        raise ValueError(f"num_layers must be 0 or {architecture.num_layers}")


def _foreign(folder: Path, why: str) -> InputError:
    return InputError(
        f"{folder} must be a model folder written by cpgnn. Got one that is damaged or foreign: "
        f"{why}. Fit and save the model again."
    )


def _plain(value: Any) -> Any:
    """NumPy's numbers as Python's; anything else is not for JSON."""
    if isinstance(value, np.generic):
        return value.item()
    raise must_be("A parameter", "be text or a number to be saved", type(value).__name__)


def _json_name(name: Any) -> Any:
    value = name.item() if isinstance(name, np.generic) else name
    if not isinstance(value, str | int | float | bool):
        raise must_be("A class name", "be text or a number to be saved", type(name).__name__)
    return value
