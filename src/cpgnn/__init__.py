"""cpgnn: classify the nodes of a graph, whether its edges join like with like or opposites.

The public names are those of `__init__.pyi`. Each is imported when first asked for: torch is slow
to start, and `cpgnn --help` does not need it.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
