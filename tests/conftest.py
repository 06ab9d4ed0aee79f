"""Settings for the whole test set: one thread, and examples that are the same every time."""

from __future__ import annotations

import torch
from hypothesis import settings

settings.register_profile("cpgnn", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("cpgnn")
torch.set_num_threads(1)
