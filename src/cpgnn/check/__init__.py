"""What is wrong or risky in a graph before anything is trained, and whether it helps.

`report` looks at everything; each other module finds one kind of thing.

Imported when first asked for: a run needs no more of it than what a finding is.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
