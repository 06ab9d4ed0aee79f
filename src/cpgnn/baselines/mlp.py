"""MLP: the features of each node on their own."""

from __future__ import annotations

from cpgnn.priors import MLPPrior


class MLP(MLPPrior):
    """R = relu(X W₁) W₂: the prior of CPGNN-MLP, without anything after it."""
