"""A fitted model as the two files of its folder, and whether Spark can use it."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from cpgnn.engine.saving import CONFIG, WEIGHTS
from cpgnn.errors import Message, advise, must_be

if TYPE_CHECKING:
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


def check_distributable(classifier: CPGNNClassifier) -> None:
    """Raises unless the model can speak about tables: a blend, or the paper's with an MLP."""
    from cpgnn.blend.blend import Blend

    if isinstance(classifier.model_, Blend):
        return
    made = classifier.architecture_
    check_paper_prior("a function" if made is None else made.prior, classifier.n_features_in_)


def check_paper_prior(prior: str, num_features: int) -> None:
    """Raises unless a node's prior in the paper's model can be told from its own features."""
    if prior == "mlp" and num_features:
        return
    why = {
        "cheby": "Its polynomial of the Laplacian needs features from four hops around a node. ",
        "link": "It knows nodes by their position in one graph. ",
        "auto": "With layers, epochs or another preset it chooses among the paper's models. ",
    }
    if not num_features:
        why["mlp"] = "Without features, it knows nodes by their position in one graph. "
    hint = advise("Try {}, or the same graph on one machine.", prior="auto")
    got = repr(prior) if num_features else f"{prior!r} without features"
    must = "be 'auto', or 'mlp' with features"
    raise must_be("The prior on Spark", must, got, Message(why.get(prior, ""), hint))


def paper_model(classifier: CPGNNClassifier) -> CPGNN:
    """The network of a classifier that `check_distributable` let pass."""
    from cpgnn.model import CPGNN

    assert isinstance(classifier.model_, CPGNN)
    return classifier.model_
