"""Settings for the whole test set: one thread, and examples that are the same every time."""

from __future__ import annotations

import torch
from hypothesis import settings

from cpgnn.evaluation import cross_validation

settings.register_profile("cpgnn", deadline=None, max_examples=25, derandomize=True)
settings.load_profile("cpgnn")
torch.set_num_threads(1)

# Graphs of tests are small: each fit would take twenty-six times as long.
cross_validation.SECONDS = cross_validation.LONGEST = 0.0
