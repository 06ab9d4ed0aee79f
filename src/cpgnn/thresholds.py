"""Kept for imports from before `cpgnn.evaluation`; the names are in `cpgnn` itself."""

from cpgnn.evaluation.thresholds import Goal, choose_threshold, threshold_scores

__all__ = ["Goal", "choose_threshold", "threshold_scores"]
