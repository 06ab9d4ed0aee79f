"""Synthetic graphs with a given compatibility matrix, or one for every type of edge."""

from cpgnn.synthetic.generate import generate_graph, mixhop_compatibility, uniform_compatibility
from cpgnn.synthetic.typed import Drawn, generate_typed_graph

__all__ = [
    "Drawn",
    "generate_graph",
    "generate_typed_graph",
    "mixhop_compatibility",
    "uniform_compatibility",
]
