"""The benchmark graphs by name: from a local folder, a cache or the net, and always verified."""

from cpgnn.datasets.dataset import Dataset, Statistics, read_dataset
from cpgnn.datasets.export import write_tables
from cpgnn.datasets.load import DownloadError, at_hand, load_dataset
from cpgnn.datasets.references import as_reference
from cpgnn.datasets.registry import SPECS, Expected, Spec, spec_of

__all__ = [
    "SPECS",
    "Dataset",
    "DownloadError",
    "Expected",
    "Spec",
    "Statistics",
    "as_reference",
    "at_hand",
    "load_dataset",
    "read_dataset",
    "spec_of",
    "write_tables",
]
