"""A fitted model on its way to executors: the two files of its folder, loaded there as usual."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from cpgnn.engine.saving import CONFIG, WEIGHTS
from cpgnn.errors import InputError, Message, advise, must_be

if TYPE_CHECKING:
    import pyarrow as pa

    from cpgnn.classifier import CPGNNClassifier
    from cpgnn.model import CPGNN


@dataclass(frozen=True)
class Packed:
    """A model folder as bytes: JSON and safetensors, nothing that runs when it is read."""

    config: bytes
    weights: bytes

    @classmethod
    def of(cls, classifier: CPGNNClassifier) -> Packed:
        with tempfile.TemporaryDirectory() as folder:
            classifier.save(Path(folder, "model"))
            return cls.read(Path(folder, "model"))

    @classmethod
    def read(cls, folder: Path) -> Packed:
        """The model of a model folder, or of a folder that `cpgnn fit` wrote."""
        if not (folder / CONFIG).is_file() and (folder / "model" / CONFIG).is_file():
            folder = folder / "model"
        if not (folder / CONFIG).is_file() or not (folder / WEIGHTS).is_file():
            got = "one without a model" if folder.is_dir() else "nothing there"
            raise must_be(f"{folder}", "be a folder that 'cpgnn fit' wrote", got)
        return cls((folder / CONFIG).read_bytes(), (folder / WEIGHTS).read_bytes())

    def unpacked(self) -> CPGNNClassifier:
        from cpgnn.classifier import CPGNNClassifier

        with tempfile.TemporaryDirectory() as folder:
            Path(folder, CONFIG).write_bytes(self.config)
            Path(folder, WEIGHTS).write_bytes(self.weights)
            return CPGNNClassifier.load(folder)


def check_distributable(prior: str, num_features: int | None) -> None:
    """Raises unless a node's prior can be told from its own features."""
    if prior == "mlp" and num_features:
        return
    why = {
        "cheby": "Its polynomial of the Laplacian needs features from four hops around a node. ",
        "link": "It knows nodes by their position in one graph. ",
        "auto": "A blend of several priors is not distributed. ",
    }
    if not num_features:
        raise InputError(
            "A model on Spark needs features: without them, it only knows the nodes of "
            "the graph it was fitted on. Provide features, with a row for each node."
        )
    raise must_be(
        "The prior on Spark",
        "be 'mlp'",
        repr(prior),
        Message(
            why.get(prior, ""), advise("Try {}, or the same graph on one machine.", prior="mlp")
        ),
    )


def paper_model(classifier: CPGNNClassifier) -> CPGNN:
    """The network of a classifier that `check_distributable` let pass."""
    from cpgnn.model import CPGNN

    assert isinstance(classifier.model_, CPGNN)
    return classifier.model_


def prior_logits(
    batches: Iterator[pa.RecordBatch], packed: Packed, columns: list[str]
) -> Iterator[pa.RecordBatch]:
    """The prior's logits for batches of id and features, by the ordinary library."""
    import pyarrow as pa
    import torch

    from cpgnn.graph import Graph

    torch.set_num_threads(1)
    classifier = packed.unpacked()
    none = np.empty(0, dtype=np.int64)
    for batch in batches:
        X = np.empty((batch.num_rows, batch.num_columns - 1), dtype=np.float32)
        for i in range(batch.num_columns - 1):
            X[:, i] = batch.column(i + 1).to_numpy(zero_copy_only=False)
        graph = Graph.from_edges(none, none, features=X)
        model = paper_model(classifier)
        with torch.no_grad():
            R = model.prior_logits(model.view(classifier.scaler_(graph)))
        logits = R.double().numpy()
        arrays = [batch.column(0), *(pa.array(column) for column in logits.T)]
        yield pa.RecordBatch.from_arrays(arrays, names=["id", *columns])
