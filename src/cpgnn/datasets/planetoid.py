"""Cora, CiteSeer and PubMed: Planetoid's pickles, read by PyG once they are found harmless."""

from __future__ import annotations

import pickle
import pickletools
import warnings
from pathlib import Path

import numpy as np

from cpgnn.datasets.parsing import as_arrays, split_masks
from cpgnn.engine.text import first_line
from cpgnn.errors import InputError
from cpgnn.io.files import wrong
from cpgnn.io.npz import Arrays

SUFFIXES = ("x", "tx", "allx", "y", "ty", "ally", "graph", "test.index")
_HARMLESS = {
    "numpy dtype",
    "numpy ndarray",
    "numpy.core.multiarray _reconstruct",
    "numpy._core.multiarray _reconstruct",
    "scipy.sparse.csr csr_matrix",
    "scipy.sparse._csr csr_matrix",
    "collections defaultdict",
    "__builtin__ list",
    "builtins list",
}
"""What the eight files of a data set name, in Python 2's words and today's; nothing else runs."""
_BY_OTHER_MEANS = {"INST", "STACK_GLOBAL", "EXT1", "EXT2", "EXT4", "PERSID", "BINPERSID"}


def parse_planetoid(folder: Path) -> Arrays:
    """The files ind.<name>.*, and geom-gcn's splits.

    Nodes without a label (CiteSeer has 15) get a zero row of features and class 0, as in
    geom-gcn. PyG drops self-loops; they are counted here from the same file.
    """
    graph_file = next(folder.glob("ind.*.graph"))
    name = graph_file.name.split(".")[1]
    for suffix in SUFFIXES[:-1]:
        check_pickle(folder / f"ind.{name}.{suffix}")
    from torch_geometric.io import read_planetoid_data

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the pickles name modules that have moved since
            data = read_planetoid_data(str(folder), name)
            with graph_file.open("rb") as file:
                neighbours = pickle.load(file, encoding="latin1")
        loops = np.array([node for node, others in neighbours.items() if node in others], dtype=int)
    except Exception as error:  # whatever a damaged pickle makes of itself
        raise wrong(folder, "Planetoid's files", "be readable", first_line(error)) from None
    edges = np.concatenate([data.edge_index.numpy().T, np.stack([loops, loops], axis=1)])
    labels = data.y.numpy()
    return as_arrays(edges, labels, data.x.numpy(), split_masks(folder, len(labels)))


def check_pickle(path: Path) -> None:
    """Refuse a pickle that names anything but arrays, sparse matrices, dicts and lists."""
    try:
        for code, argument, _ in pickletools.genops(path.read_bytes()):
            named = str(argument) if code.name == "GLOBAL" else ""
            if (named and named not in _HARMLESS) or code.name in _BY_OTHER_MEANS:
                must = "name nothing but arrays and lists"
                raise wrong(path, "A pickle", must, named or code.name, "Nothing of it was run.")
    except InputError:
        raise
    except Exception as error:
        raise wrong(path, "A pickle", "be whole", first_line(error)) from None
