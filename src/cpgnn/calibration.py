"""Kept for imports from before `cpgnn.evaluation`; `from cpgnn import reliability` is shorter."""

from cpgnn.evaluation.calibration import reliability as reliability
