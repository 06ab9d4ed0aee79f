"""Prior belief estimators: what each node looks like before its neighbours are heard.

A prior is any `nn.Module` with `forward(graph) -> logits` [n, c]; `contract` says what those here
promise beyond that.

The public names are those of `__init__.pyi`. Each is imported when first asked for: these need
torch, and fitted priors (`network`, `members`) do not.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
