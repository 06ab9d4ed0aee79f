"""Prior belief estimators: what each node looks like before its neighbours are heard.

A prior is any `nn.Module` with `forward(graph) -> logits` [n, c]; `contract` says what those here
promise beyond that.
"""

from cpgnn.priors.cheby import ChebyPrior, chebyshev
from cpgnn.priors.contract import Estimator, Sizes
from cpgnn.priors.link import LinkPrior
from cpgnn.priors.mlp import MLPPrior

__all__ = ["ChebyPrior", "Estimator", "LinkPrior", "MLPPrior", "Sizes", "chebyshev"]
