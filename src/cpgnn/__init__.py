"""cpgnn: classify the nodes of a graph, whether its edges join like with like or opposites."""

__version__ = "0.1.0"
