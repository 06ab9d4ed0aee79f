"""The benchmark graphs by name: from a local folder, a cache or the net, and always verified."""

from cpgnn.datasets.dataset import Dataset, Statistics, read_dataset
from cpgnn.datasets.download import DownloadError
from cpgnn.datasets.expected import Expected
from cpgnn.datasets.exporting import write_tables
from cpgnn.datasets.loading import at_hand, load_dataset
from cpgnn.datasets.references import as_reference
from cpgnn.datasets.specs import SPECS, Spec, spec_of

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
