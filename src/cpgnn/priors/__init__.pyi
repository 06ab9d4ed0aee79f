from .cheby import ChebyPrior as ChebyPrior
from .cheby import chebyshev as chebyshev
from .contract import Estimator as Estimator
from .contract import Sizes as Sizes
from .link import LinkPrior as LinkPrior
from .mlp import MLPPrior as MLPPrior
