"""cpgnn: classify the nodes of a graph, whether its edges join like with like or opposites."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

_HOME = {
    "Architecture": "architecture",
    "CPGNN": "model",
    "CPGNNClassifier": "classifier",
    "ChebyPrior": "priors",
    "EdgeFrequency": "evaluation.intervals",
    "Explanation": "explanation.explanation",
    "FeatureScaler": "engine.scaling",
    "Graph": "graph",
    "LinkPrior": "priors",
    "MLPPrior": "priors",
    "Settings": "settings",
    "Split": "splits",
    "centering_penalty": "compatibility",
    "compatibility_error": "compatibility",
    "compatibility_matrix": "homophily",
    "edge_frequency": "compatibility",
    "edge_frequency_interval": "evaluation.intervals",
    "enhanced_belief": "compatibility",
    "estimate_compatibility": "compatibility",
    "evaluate": "evaluation.metrics",
    "explain": "explanation.contributions",
    "fit_run": "run.folder",
    "generate_graph": "synthetic",
    "homophily_ratio": "homophily",
    "initial_H_bar": "compatibility",
    "load_dataset": "datasets",
    "load_run": "run.folder",
    "mixhop_compatibility": "synthetic",
    "per_class_split": "splits",
    "preset": "settings",
    "propagate": "propagation",
    "read_graph": "io",
    "recover_compatibility": "compatibility",
    "sinkhorn_knopp": "compatibility",
    "stratified_split": "splits",
    "train": "training",
}
"""Public names and the module each lives in; imported when first asked for, since torch is slow
to start and `cpgnn --help` does not need it."""

__all__ = sorted([*_HOME, "__version__"])


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'cpgnn' has no attribute {name!r}")
    value = getattr(import_module(f"cpgnn.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


if TYPE_CHECKING:
    from cpgnn.architecture import Architecture as Architecture
    from cpgnn.classifier import CPGNNClassifier as CPGNNClassifier
    from cpgnn.compatibility import centering_penalty as centering_penalty
    from cpgnn.compatibility import compatibility_error as compatibility_error
    from cpgnn.compatibility import edge_frequency as edge_frequency
    from cpgnn.compatibility import enhanced_belief as enhanced_belief
    from cpgnn.compatibility import estimate_compatibility as estimate_compatibility
    from cpgnn.compatibility import initial_H_bar as initial_H_bar
    from cpgnn.compatibility import recover_compatibility as recover_compatibility
    from cpgnn.compatibility import sinkhorn_knopp as sinkhorn_knopp
    from cpgnn.datasets import load_dataset as load_dataset
    from cpgnn.engine.scaling import FeatureScaler as FeatureScaler
    from cpgnn.evaluation.intervals import EdgeFrequency as EdgeFrequency
    from cpgnn.evaluation.intervals import edge_frequency_interval as edge_frequency_interval
    from cpgnn.evaluation.metrics import evaluate as evaluate
    from cpgnn.explanation.contributions import explain as explain
    from cpgnn.explanation.explanation import Explanation as Explanation
    from cpgnn.graph import Graph as Graph
    from cpgnn.homophily import compatibility_matrix as compatibility_matrix
    from cpgnn.homophily import homophily_ratio as homophily_ratio
    from cpgnn.io import read_graph as read_graph
    from cpgnn.model import CPGNN as CPGNN
    from cpgnn.priors import ChebyPrior as ChebyPrior
    from cpgnn.priors import LinkPrior as LinkPrior
    from cpgnn.priors import MLPPrior as MLPPrior
    from cpgnn.propagation import propagate as propagate
    from cpgnn.run.folder import fit_run as fit_run
    from cpgnn.run.folder import load_run as load_run
    from cpgnn.settings import Settings as Settings
    from cpgnn.settings import preset as preset
    from cpgnn.splits import Split as Split
    from cpgnn.splits import per_class_split as per_class_split
    from cpgnn.splits import stratified_split as stratified_split
    from cpgnn.synthetic import generate_graph as generate_graph
    from cpgnn.synthetic import mixhop_compatibility as mixhop_compatibility
    from cpgnn.training import train as train
