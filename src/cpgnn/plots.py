"""Plots for notebooks and papers: each takes matplotlib axes, or makes them, and returns them."""

from cpgnn.report.explanation_picture import plot_explanation
from cpgnn.report.neighbourhood import plot_neighbourhood
from cpgnn.report.plots import plot_history, plot_matrix, plot_reliability

__all__ = [
    "plot_explanation",
    "plot_history",
    "plot_matrix",
    "plot_neighbourhood",
    "plot_reliability",
]
