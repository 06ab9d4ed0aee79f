"""A model folder: there and back to the bit; damaged, foreign and newer ones are refused."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

import cpgnn
from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine import records
from cpgnn.engine.saving import BLEND, CONFIG, PAPER, WEIGHTS
from cpgnn.errors import InputError, NotInductiveError
from cpgnn.model import Architecture
from cpgnn.priors import MLPPrior
from toys import planted

FAST = {"hidden": 8, "epochs": 6, "pretrain_epochs": 6}


@pytest.fixture(scope="module")
def graph():
    return planted(n=60, signal=0.5).with_labels(
        np.where(np.arange(60) < 40, planted(n=60, signal=0.5).labels, -1), ["è", 2, 3.5]
    )


@pytest.fixture
def folder(graph, tmp_path):
    """A good folder, to be damaged."""
    path = tmp_path / "model"
    CPGNNClassifier("mlp", 1, **FAST).fit(graph.with_features(None)).save(path)
    return path


def edited(folder, **changes):
    """The folder with some entries of its configuration changed; "a.b" reaches inside."""
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    for name, value in changes.items():
        *outer, last = name.split("__")
        place = config
        for key in outer:
            place = place[key]
        if value is ...:
            del place[last]
        else:
            place[last] = value
    (folder / CONFIG).write_text(json.dumps(config), encoding="utf-8")
    return folder


@pytest.mark.parametrize("features", [True, False])
@pytest.mark.parametrize("prior", ["mlp", "cheby", "link", "auto"])
def test_there_and_back_to_the_bit(prior, features, graph, tmp_path):
    graph = graph if features else graph.with_features(None)
    fitted = CPGNNClassifier(prior, select_by="macro_f1", seed=4, **FAST).fit(graph)
    fitted.save(tmp_path / "model")
    loaded = CPGNNClassifier.load(tmp_path / "model", graph)
    np.testing.assert_array_equal(loaded.predict_proba(), fitted.predict_proba())
    np.testing.assert_array_equal(loaded.predict_proba(graph), fitted.predict_proba())
    assert loaded.predict().tolist() == fitted.predict().tolist()
    assert loaded.get_params() == fitted.get_params()
    assert loaded.classes_.tolist() == ["è", 2, 3.5]
    for name in (
        "architecture_",
        "settings_",
        "kept_",
        "num_layers_",
        "validation_score_",
        "initial_from_",
        "n_features_in_",
        "nodes_",
    ):
        assert getattr(loaded, name) == getattr(fitted, name)
    for name in ("compatibility_", "initial_compatibility_", "edge_frequency_"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(fitted, name))
    for name in ("low", "high", "edges", "method", "optimistic", "confidence"):
        one, two = (getattr(c.edge_frequency_interval_, name) for c in (loaded, fitted))
        np.testing.assert_array_equal(one, two)
    for part in ("train", "val", "test"):
        np.testing.assert_array_equal(getattr(loaded.split_, part), getattr(fitted.split_, part))
    assert not loaded.model_.training


def test_the_folder_holds_json_and_safetensors_and_its_version(folder):
    assert sorted(path.name for path in folder.iterdir()) == [CONFIG, WEIGHTS]
    config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
    assert config["format"] == PAPER
    assert config["cpgnn_version"] == cpgnn.__version__
    assert load_file(folder / WEIGHTS)["model.H_bar"].shape == (3, 3)


def test_a_model_whose_prior_won_stays_a_prior(tmp_path):
    easy = planted(n=60, signal=8.0)
    fitted = CPGNNClassifier("mlp", 2, hidden=8, pretrain_epochs=80, epochs=3).fit(easy)
    assert fitted.num_layers_ == 0
    fitted.save(tmp_path / "model")
    loaded = CPGNNClassifier.load(tmp_path / "model", easy)
    assert loaded.num_layers_ == loaded.model_.num_layers == 0
    np.testing.assert_array_equal(loaded.predict_proba(), fitted.predict_proba())


def test_without_the_graph_a_graph_must_be_given(graph, folder, tmp_path):
    loaded = CPGNNClassifier.load(folder)
    with pytest.raises(InputError, match="'graph' must be given to a model loaded without"):
        loaded.predict()
    assert loaded.predict(graph.with_features(None)).shape == (60,)
    with pytest.raises(InputError, match="must have the graph it was fitted on to be saved"):
        loaded.save(tmp_path / "again")


def test_another_graph_is_not_the_one_it_was_fitted_on(folder):
    with pytest.raises(InputError, match=r"The graph must be the one that .* was fitted on"):
        CPGNNClassifier.load(folder, planted(n=61, num_features=None))
    with pytest.raises(NotInductiveError):
        CPGNNClassifier.load(folder).predict(planted(n=61, num_features=None))


def test_numbers_of_numpy_can_be_saved(graph, tmp_path):
    fast = {name: np.int64(value) for name, value in FAST.items()}
    CPGNNClassifier("mlp", np.int64(1), **fast).fit(graph).save(tmp_path / "model")
    assert CPGNNClassifier.load(tmp_path / "model").get_params()["epochs"] == 6


def test_saving_does_not_overwrite(graph, folder):
    before = (folder / WEIGHTS).read_bytes()
    with pytest.raises(InputError, match="must be new or empty"):
        CPGNNClassifier("mlp", 1, **FAST).fit(graph).save(folder)
    assert (folder / WEIGHTS).read_bytes() == before


def test_a_custom_prior_is_not_saved(graph, tmp_path):
    classifier = CPGNNClassifier(lambda g, seed: MLPPrior(g, seed=seed), **FAST).fit(graph)
    with pytest.raises(InputError, match="The prior must be a built-in one to be saved"):
        classifier.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_class_names_must_be_text_or_numbers(graph, tmp_path):
    odd = graph.with_labels(graph.labels, [("a", 1), "b", "c"])
    classifier = CPGNNClassifier("mlp", 1, **FAST).fit(odd)
    with pytest.raises(InputError, match=r"A class name must be text or a number .* Got tuple"):
        classifier.save(tmp_path / "model")


# -- damage --------------------------------------------------------------------------------------


def damaged_weights(folder, **changes):
    tensors = load_file(folder / WEIGHTS)
    for name, value in changes.items():
        tensors[name.replace("__", ".")] = value
    save_file(tensors, folder / WEIGHTS)


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


DAMAGES = {
    "no configuration": lambda f: (f / CONFIG).unlink(),
    "no weights": lambda f: (f / WEIGHTS).unlink(),
    "truncated configuration": lambda f: truncate(f / CONFIG),
    "truncated weights": lambda f: truncate(f / WEIGHTS),
    "empty weights": lambda f: (f / WEIGHTS).write_bytes(b""),
    "random weights": lambda f: (f / WEIGHTS).write_bytes(bytes(range(256)) * 9),
    "a pickle": lambda f: torch.save({"H_bar": torch.ones(2)}, f / WEIGHTS),
    "binary configuration": lambda f: (f / CONFIG).write_bytes(b"\xff\xfe\x00"),
    "a list": lambda f: (f / CONFIG).write_text("[1, 2]"),
    "deep nesting": lambda f: (f / CONFIG).write_text("[" * 100_000),
    "foreign JSON": lambda f: (f / CONFIG).write_text('{"model_type": "bert"}'),
    "format is text": lambda f: edited(f, format="one"),
    "missing shape": lambda f: edited(f, shape=...),
    "shape with more": lambda f: edited(f, shape__depth=3),
    "shape is text": lambda f: edited(f, shape="large"),
    "other prior": lambda f: edited(f, architecture__prior="cheby"),
    "unknown prior": lambda f: edited(f, architecture__prior="gcn"),
    "wider": lambda f: edited(f, architecture__hidden=9),
    "hidden is text": lambda f: edited(f, architecture__hidden="8"),
    "one class more": lambda f: edited(f, shape__num_classes=4),
    "one name less": lambda f: edited(f, class_names=["a", "b"]),
    "names are a number": lambda f: edited(f, class_names=3),
    "layers": lambda f: edited(f, num_layers=10**9),
    "layers are text": lambda f: edited(f, num_layers="one"),
    "scaling": lambda f: edited(f, scaling="max"),
    "scaling without numbers": lambda f: edited(f, scaling="standard"),
    "kept epoch": lambda f: edited(f, kept={"phase": 1}),
    "no validation score": lambda f: edited(f, validation_score=...),
    "unknown parameter": lambda f: edited(f, parameters__depth=3),
    "unknown setting": lambda f: edited(f, settings__momentum=0.9),
    "senseless setting": lambda f: edited(f, settings__epochs=-1),
    "other compatibility": lambda f: damaged_weights(f, compatibility=torch.ones(2, 2)),
    "one weight more": lambda f: damaged_weights(f, model__prior__W_9=torch.ones(2)),
    "other shape of H": lambda f: damaged_weights(f, model__H_bar=torch.ones(2, 3)),
    "numbers beyond all numbers": lambda f: (f / CONFIG).write_text(
        (f / CONFIG)
        .read_text(encoding="utf-8")
        .replace('"temperature": 1.0', '"temperature": 1e999'),
        encoding="utf-8",
    ),
    "400 digits": lambda f: edited(f, shape__num_nodes=10**400),
    "10⁹ layers everywhere": lambda f: edited(f, num_layers=10**9, architecture__num_layers=10**9),
    "text for a number": lambda f: edited(f, validation_score="0.5"),
    "true for a number": lambda f: edited(f, self_trained=True),
    "a name is null": lambda f: edited(f, class_names=["è", None, 3.5]),
    "a name is a list": lambda f: edited(f, class_names=["è", ["2"], 3.5]),
    "a name twice": lambda f: edited(f, class_names=["è", "è", 3.5]),
    "a hash that is none": lambda f: edited(f, nodes="zz"),
    "NaN among the weights": lambda f: damaged_weights(f, model__H_bar=torch.full((3, 3), np.nan)),
    "weights as integers": lambda f: damaged_weights(f, model__H_bar=torch.ones(3, 3).long()),
    "weights as bfloat16": lambda f: damaged_weights(f, compatibility=torch.ones(3, 3).bfloat16()),
    "a split beyond the nodes": lambda f: damaged_weights(f, split__test=torch.tensor([60])),
    "a split below them": lambda f: damaged_weights(f, split__test=torch.tensor([-1])),
    "a split of fractions": lambda f: damaged_weights(f, split__test=torch.tensor([50.5])),
    "a split in two rows": lambda f: damaged_weights(f, split__test=torch.tensor([[50], [51]])),
    "a matrix of one number": lambda f: damaged_weights(f, edge_frequency=torch.ones(1, 1)),
    "overlapping split": lambda f: damaged_weights(f, split__val=torch.arange(40)),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damaged_and_foreign_folders_are_refused_by_name(name, folder):
    DAMAGES[name](folder)
    with pytest.raises(InputError, match=re.escape(str(folder))) as caught:
        CPGNNClassifier.load(folder)
    assert "\n" not in str(caught.value)


def test_the_refusals_do_not_hit_a_good_folder(folder):
    CPGNNClassifier.load(edited(folder))


@pytest.mark.parametrize("contrast", [-1, 2.1, float("nan"), "much"])
def test_a_contrast_that_is_none_is_refused(folder, contrast):
    edited(folder, contrast=contrast)
    with pytest.raises(InputError, match=r"model\.json is damaged.*contrast: Input"):
        CPGNNClassifier.load(folder)


def test_a_temperature_that_is_none_is_refused(folder):
    for temperature in (0.0, -1.0, float("nan")):
        edited(folder, temperature=temperature)
        with pytest.raises(InputError, match=r"model\.json is damaged.*temperature: Input"):
            CPGNNClassifier.load(folder)


def test_an_older_format_is_refused_with_what_to_do(folder):
    edited(folder, format=PAPER - 1)
    with pytest.raises(InputError, match=rf"Got format {PAPER - 1}.* Fit and save the model again"):
        CPGNNClassifier.load(folder)


def test_a_newer_format_is_refused_with_what_to_do(folder):
    edited(folder, format=BLEND + 1, cpgnn_version="9.9")
    message = rf"format 2 or 3\. Got format {BLEND + 1}, written by cpgnn 9\.9\. Upgrade cpgnn"
    with pytest.raises(InputError, match=message):
        CPGNNClassifier.load(folder)


def test_nothing_is_allocated_for_sizes_that_the_weights_do_not_have(folder, monkeypatch):
    """8 hidden units for 10¹² nodes would be 32 TB."""
    monkeypatch.setattr(Architecture, "build", lambda *_, **__: pytest.fail("allocated"))
    edited(folder, shape__num_nodes=10**12)
    with pytest.raises(InputError, match="asks for"):
        CPGNNClassifier.load(folder)


def test_a_huge_configuration_is_not_read(folder, monkeypatch):
    monkeypatch.setattr(records, "LARGEST", 10)
    with pytest.raises(InputError, match=r"model\.json is damaged.*bytes, more than 10"):
        CPGNNClassifier.load(folder)


def test_the_classes_of_the_graph_are_those_of_the_model(folder, graph):
    graph = graph.with_features(None)
    swapped = edited(folder, class_names=[2, "è", 3.5])
    with pytest.raises(InputError, match=r"classes of the graph must be those of .*model\.json"):
        CPGNNClassifier.load(swapped, graph)
    foreign = edited(folder, class_names=["è", 2, "other"])
    with pytest.raises(InputError, match=r"same order: 'è', '2', 'other'\. Got 'è', '2', '3\.5'"):
        CPGNNClassifier.load(foreign, graph)


def test_a_graph_with_labels_of_fewer_classes_counts_them_as_the_model_does(folder, graph):
    few = np.where(graph.labels == 0, -1, graph.labels)
    given = graph.with_features(None).with_labels(np.where(few < 0, -1, few - 1), [2, 3.5])
    loaded = CPGNNClassifier.load(folder, given)
    np.testing.assert_array_equal(loaded.graph_.labels, few)
    assert loaded.graph_.class_names == ("è", 2, 3.5)
    unlabelled = CPGNNClassifier.load(folder, given.with_labels(np.full(60, -1)))
    assert (unlabelled.graph_.labels == -1).all()


def test_a_missing_folder(tmp_path):
    with pytest.raises(InputError, match=r"must be a model folder with model\.json"):
        CPGNNClassifier.load(tmp_path / "nowhere")
