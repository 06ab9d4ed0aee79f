"""A run folder is somebody else's file: what does not fit is refused, and the file named."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

from cpgnn import load_run
from cpgnn.errors import InputError
from cpgnn.run.manifest import write_manifest

SAVED = Path(__file__).parent.parent / "fixtures" / "v0.1" / "runs"
CONFIG, METRICS, HISTORY, GRAPH = "config.json", "metrics.json", "history.csv", "graph.npz"
MODEL, WEIGHTS = "model/model.json", "model/weights.safetensors"
PREDICTIONS = "predictions.parquet"


def edit(name, place, value=...):
    """A change of one entry of a JSON file: "test.accuracy.n" reaches inside; `...` deletes."""

    def change(folder):
        path = folder / name
        whole = here = json.loads(path.read_text(encoding="utf-8"))
        *outer, last = [int(key) if key.isdigit() else key for key in place.split(".")]
        for key in outer:
            here = here[key]
        if value is ...:
            del here[last]
        else:
            here[last] = value
        path.write_text(json.dumps(whole), encoding="utf-8")

    return change


def write(name, text):
    return lambda folder: (folder / name).write_text(text, encoding="utf-8")


def epochs(row, header="phase,epoch,loss,train_accuracy,score"):
    return write(HISTORY, f"{header}\n1,1,0.9,0.5,0.5\n{row}\n")


def swap_labels(folder):
    """graph.npz with its classes in another order."""
    arrays = dict(np.load(folder / GRAPH))
    names = next(name for name in arrays if name.startswith("class_names"))
    arrays[names] = arrays[names][::-1]
    np.savez(folder / GRAPH, **arrays)


def swap_columns(folder):
    """Columns of later files would be taken for each other."""
    names = json.loads((folder / CONFIG).read_text(encoding="utf-8"))["features"]["names"]
    edit(CONFIG, "features.names", names[::-1])(folder)


def tensors(**changes):
    """Other numbers in the weights, of the same shapes."""

    def change(folder):
        arrays = {"class_shares": np.full(2, 0.5), **load_file(folder / WEIGHTS)}
        changed = {name: np.ascontiguousarray(to(arrays[name])) for name, to in changes.items()}
        save_file(arrays | changed, folder / WEIGHTS)

    return change


def forget_labels(folder):
    arrays = dict(np.load(folder / GRAPH))
    arrays["labels"] = np.full_like(arrays["labels"], -1)
    np.savez(folder / GRAPH, **arrays)


DEEP = "[" * 100_000
PROMISE = {
    "coverage": 0.9,
    "per": "all",
    "thresholds": [0.5, 0.5],
    "strength": 0,
    "nodes": [9, 9],
    "source": "validation",
    "mean_size": 3.0,
}
DAMAGES = {
    "deep config": (CONFIG, write(CONFIG, DEEP)),
    "deep options": (CONFIG, write(CONFIG, '{"cpgnn_version": "0.1.0", "options": ' + DEEP)),
    "config is a list": (CONFIG, write(CONFIG, "[]")),
    "config is empty": (CONFIG, write(CONFIG, "")),
    "config of a folder": (CONFIG, write(CONFIG, '{"cpgnn_version": 3}')),
    "no settings": (CONFIG, edit(CONFIG, "settings")),
    "positive beyond the classes": (CONFIG, edit(CONFIG, "positive", 2)),
    "positive is text": (CONFIG, edit(CONFIG, "positive", "fraud")),
    "positive below": (CONFIG, edit(CONFIG, "positive", -1)),
    "positive of 400 digits": (CONFIG, edit(CONFIG, "positive", 10**400)),
    "refit is text": (CONFIG, edit(CONFIG, "refit", "no")),
    "flag of another class": (CONFIG, edit(CONFIG, "flag.0", "other")),
    "flag beyond 1": (CONFIG, edit(CONFIG, "flag.1", float("inf"))),
    "flag of three": (CONFIG, edit(CONFIG, "flag", ["fraud", 0.5, 1])),
    "features of text": (CONFIG, edit(CONFIG, "features", "x")),
    "features with a median less": (CONFIG, edit(CONFIG, "features.medians", [0.0])),
    "features with text for medians": (CONFIG, edit(CONFIG, "features.medians.0", "NaN?")),
    "features with a median of 400 digits": (CONFIG, edit(CONFIG, "features.medians.0", 10**400)),
    "features with a median without end": (
        CONFIG,
        edit(CONFIG, "features.medians.0", float("inf")),
    ),
    "features of a list": (CONFIG, edit(CONFIG, "features.categories", [[[]]])),
    "deep metrics": (METRICS, write(METRICS, DEEP)),
    "no metrics": (METRICS, lambda folder: (folder / METRICS).unlink()),
    "no accuracy": (METRICS, edit(METRICS, "test.accuracy")),
    "accuracy is text": (METRICS, edit(METRICS, "test.accuracy.value", "0.9")),
    "accuracy without end": (METRICS, edit(METRICS, "test.accuracy.value", float("inf"))),
    "accuracy far beyond 1": (METRICS, edit(METRICS, "test.accuracy.value", 1e308)),
    "an end of an interval below -1": (METRICS, edit(METRICS, "without_graph.gain.low", -7)),
    "n is a fraction": (METRICS, edit(METRICS, "test.accuracy.n", 0.5)),
    "n below 0": (METRICS, edit(METRICS, "test.accuracy.n", -1)),
    "ragged confusion": (METRICS, edit(METRICS, "test.confusion.0", [1])),
    "confusion of one": (METRICS, edit(METRICS, "test.confusion", [[16]])),
    "confusion below 0": (METRICS, edit(METRICS, "test.confusion.0.0", -1)),
    "confusion of 10^308 nodes": (METRICS, edit(METRICS, "test.confusion.0.0", 1e308)),
    "classes of others": (METRICS, edit(METRICS, "test.per_class.fraud")),
    "ranked by nobody": (METRICS, edit(METRICS, "test.positive", "other")),
    "precision at text": (METRICS, edit(METRICS, "test.precision_at", {"ten": None})),
    "ragged shares": (METRICS, edit(METRICS, "edge_frequency.low", [[0.1, 0.9], [0.5]])),
    "shares of one": (METRICS, edit(METRICS, "edge_frequency.evidence", [True])),
    "bins that differ": (METRICS, edit(METRICS, "calibration.before.accuracy", [0.5])),
    "no bins": (METRICS, edit(METRICS, "calibration.after.count", [])),
    "surer than sure": (METRICS, edit(METRICS, "calibration.before.confidence.0", 7)),
    "a flag without its precision": (METRICS, edit(METRICS, "flag.test.precision")),
    "a flag found less than never": (METRICS, edit(METRICS, "flag.validation.recall", -1)),
    "a flag of half a node": (METRICS, edit(METRICS, "flag.validation.positives", 10**400)),
    "sets of more classes than there are": (METRICS, edit(METRICS, "sets", PROMISE)),
    "cold": (METRICS, edit(METRICS, "calibration.temperature", 0)),
    "kept in phase 3": (METRICS, edit(METRICS, "kept_epoch.phase", 3)),
    "trials of text": (METRICS, edit(METRICS, "trials", ["MLP-1"])),
    "flagged class": (METRICS, edit(METRICS, "flag.class", "other")),
    "other nodes": (METRICS, edit(METRICS, "nodes", 121)),
    "other labels": (METRICS, edit(METRICS, "labelled.train", 50)),
    "an entry more": (METRICS, edit(METRICS, "surprise", 1)),
    "no history": (HISTORY, lambda folder: (folder / HISTORY).unlink()),
    "other columns": (HISTORY, write(HISTORY, "a,b\n1,2\n")),
    "columns in another order": (HISTORY, epochs("", "epoch,phase,loss,train_accuracy,score")),
    "text in history": (HISTORY, epochs("1,1,x,1,1")),
    "no end in history": (HISTORY, epochs("1,1,inf,1,1")),
    "half an epoch": (HISTORY, epochs("1,.5,1,1,1")),
    "a number that crashed pandas": (HISTORY, epochs("1,1,1e-99999999999,1,1\nx,,,,")),
    "a name that clears the terminal": (METRICS, edit(METRICS, "model", "\x1b[2J")),
    "classes swapped in the model": ("graph", edit(MODEL, "class_names", ["fraud", "fine"])),
    "classes swapped in the graph": ("graph", swap_labels),
    "other classes": ("graph", edit(MODEL, "class_names", ["good", "bad"])),
    "a class is null": ("model.json", edit(MODEL, "class_names", [None, "fraud"])),
    "other settings": (CONFIG, edit(CONFIG, "settings.epochs", 7)),
    "another architecture": (CONFIG, edit(CONFIG, "architecture.hidden", 7)),
    "features in another order": (CONFIG, swap_columns),
    "other layers": (METRICS, edit(METRICS, "num_layers", 7)),
    "other guesses": (METRICS, edit(METRICS, "self_trained", 7)),
    "another epoch kept": (METRICS, edit(METRICS, "kept_epoch.epoch", 7)),
    "another temperature": (METRICS, edit(METRICS, "calibration.temperature", 7.0)),
    "another share": (METRICS, edit(METRICS, "edge_frequency.share.0.0", 0.125)),
    "another model.json": (METRICS, edit(MODEL, "temperature", 7.0)),
    "weights of another run": (METRICS, tensors(edge_frequency=lambda x: x[::-1])),
    "a share above 1": (WEIGHTS, tensors(edge_frequency=lambda x: 7 * x)),
    "an end of an interval without end": (
        WEIGHTS,
        tensors(**{"edge_frequency.high": lambda x: x + np.inf}),
    ),
    "edges below 0": (WEIGHTS, tensors(**{"edge_frequency.edges": lambda x: x - 1e9})),
    "class shares below 0": (WEIGHTS, tensors(class_shares=lambda x: -x)),
    "class shares of nobody": (WEIGHTS, tensors(class_shares=lambda x: 0 * x)),
    "calibrated on one node": (WEIGHTS, tensors(calibration=lambda x: np.zeros(9, np.int64))),
    "calibrated on test nodes": (
        WEIGHTS,
        lambda folder: tensors(calibration=lambda x: load_file(folder / WEIGHTS)["split.test"])(
            folder
        ),
    ),
    "another threshold": (METRICS, edit(CONFIG, "flag.1", 0.125)),
    "ranked for another class": (METRICS, edit(CONFIG, "positive", 0)),
    "labels gone": (GRAPH, forget_labels),
    "no model": ("model", lambda folder: shutil.rmtree(folder / "model")),
}


@pytest.mark.parametrize("case", DAMAGES)
def test_damage_is_refused_by_name(case, tmp_path):
    folder = shutil.copytree(SAVED / "flagged-mixed", tmp_path / "run")
    named, damage = DAMAGES[case]
    damage(folder)
    with pytest.raises(InputError, match=re.escape(named)) as caught:
        load_run(folder)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 800


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names here")
@pytest.mark.parametrize("kind", ["pipe", "device"])
@pytest.mark.parametrize("name", [CONFIG, METRICS, HISTORY, GRAPH, MODEL, WEIGHTS, PREDICTIONS])
def test_a_pipe_or_a_device_in_place_of_a_file(name, kind, tmp_path):
    folder = shutil.copytree(SAVED / "weighted-refit", tmp_path / "run")
    write_manifest(folder)
    (folder / name).unlink()
    if kind == "pipe":
        os.mkfifo(folder / name)
    else:
        (folder / name).symlink_to("/dev/zero")
    with pytest.raises(InputError):
        load_run(folder)


@pytest.mark.parametrize("case", ["no split", "fewer rows", "text", "gone"])
def test_the_split_of_a_refitted_run_comes_from_its_predictions(case, tmp_path):
    folder = shutil.copytree(SAVED / "weighted-refit", tmp_path / "run")
    path = folder / "predictions.parquet"
    table = pd.read_parquet(path)
    assert len(load_run(folder).split.test)
    if case == "gone":
        path.unlink()
    elif case == "text":
        path.write_text("no table")
    else:
        (table.drop(columns="split") if case == "no split" else table[:5]).to_parquet(path)
    with pytest.raises(InputError, match=r"predictions\.parquet is damaged"):
        load_run(folder)


def test_the_version_of_a_run_cannot_write_to_the_terminal(tmp_path):
    folder = shutil.copytree(SAVED / "mlp2", tmp_path / "run")
    edit(CONFIG, "cpgnn_version", "\x1b[2J")(folder)
    with pytest.raises(InputError, match="it has a control character") as caught:
        load_run(folder)
    assert str(caught.value).isprintable()


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are UTF-8 there")
def test_a_folder_whose_name_is_not_utf8(tmp_path):
    folder = os.fsdecode(os.fsencode(tmp_path) + b"/\xff")
    shutil.copytree(SAVED / "mlp2", folder)
    with pytest.raises(InputError, match="The path must be UTF-8"):
        load_run(folder)
