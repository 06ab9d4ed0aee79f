"""Bad input, in one table: one clear message, exit code 2, no traceback, nothing written."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from cpgnn.errors import InputError
from cpgnn.io import read_graph

FIT = "fit edges.csv --labels labels.csv --features features.csv --epochs 10 --prior mlp --layers 1"


def write(name: str, content: str | bytes) -> Callable[[Path], None]:
    data = content.encode() if isinstance(content, str) else content
    return lambda folder: (folder / name).write_bytes(data)


def line(name: str, number: int, content: str) -> Callable[[Path], None]:
    """Replaces a line of a file (the first is 1)."""

    def change(folder: Path) -> None:
        lines = (folder / name).read_text().splitlines()
        lines[number - 1] = content
        (folder / name).write_text("\n".join(lines) + "\n")

    return change


def full_folder(folder: Path) -> None:
    (folder / "run").mkdir()
    (folder / "run" / "precious.txt").write_text("keep me")


def nothing(folder: Path) -> None:
    pass


# What files must be is in tests/io/test_bad_files.py; here, what the command makes of an error.
BAD_FILES = {
    "missing edges": (nothing, FIT.replace("edges.csv", "nowhere.csv"), r"nowhere\.csv"),
    "binary edges": (write("edges.csv", bytes(range(256)) * 20), FIT, r"edges\.csv"),
    "ragged row": (line("edges.csv", 3, "000"), FIT, r"edges\.csv, line 3"),
    "labelled twice": (line("labels.csv", 9, "000,buyer"), FIT, r"labels\.csv.*line 9"),
    "infinite feature": (line("features.csv", 5, "003,inf,1,1,1,1"), FIT, r"features\.csv, line 5"),
    "one class": (write("labels.csv", "id,label\n000,buyer\n001,buyer\n"), FIT, "two classes"),
    "no label at all": (write("labels.csv", "id,label\n000,\n001,\n"), FIT, "two classes"),
    "full output folder": (full_folder, FIT, r"run.*(empty|exist)"),
}

BAD_FLAGS = {
    "prior": ("--prior magic", "auto"),
    "preset": ("--preset best", "'default', 'paper', 'authors'"),
    "layers": ("--layers 0", "layers"),
    "epochs": ("--epochs 0", "epochs"),
    "epochs text": ("--epochs many", "epochs"),
    "seed": ("--seed -1", "seed"),
    "test": ("--test 20", r"Did you mean 0\.2"),
    "negative test": ("--test -0.1", r"\[0, 1\)"),
    "select-by": ("--select-by luck", "accuracy"),
    "class-weight": ("--class-weight heavy", "balanced"),
    "positive": ("--positive ghost", "buyer, seller"),
    "threads": ("--threads 0", "threads"),
    "impute": ("--impute guess", "median"),
    "normalization": ("--normalization all", "'none', 'sym', 'row'"),
    "unknown flag": ("--frobnicate", "frobnicate"),
}


def check(done, files: Path, before: set[str], message: str) -> None:
    assert done.code == 2, done
    assert re.search(message, done.err, re.DOTALL | re.IGNORECASE), done.err
    assert "Traceback" not in done.err
    after = {str(path.relative_to(files)) for path in files.rglob("*")}
    assert after == before, "something was written"


def names(files: Path) -> set[str]:
    return {str(path.relative_to(files)) for path in files.rglob("*")}


@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_file(cpgnn, files, case):
    spoil, command, message = BAD_FILES[case]
    spoil(files)
    before = names(files)
    check(cpgnn(*command.split(), "--out", "run"), files, before, message)


@pytest.mark.parametrize("case", BAD_FLAGS)
def test_bad_flag(cpgnn, files, case):
    flag, message = BAD_FLAGS[case]
    before = names(files)
    check(cpgnn(*FIT.split(), "--out", "run", *flag.split()), files, before, message)


def test_unwritable_output(cpgnn, files):
    (files / "file").write_text("not a folder")
    before = names(files)
    check(cpgnn(*FIT.split(), "--out", "file/run"), files, before, "file")


@pytest.mark.parametrize("case", ["foreign", "no weights", "damaged", "newer", "huge", "not a run"])
def test_bad_model_folder(cpgnn, files, case):
    assert cpgnn(*FIT.split(), "--out", "run").code == 0
    config = files / "run/model/model.json"
    values = json.loads(config.read_text())
    message = "is damaged, or cpgnn did not write it"
    if case == "foreign":
        config.write_text('{"who": "somebody else"}')
    elif case == "no weights":
        (files / "run/model/weights.safetensors").unlink()
    elif case == "damaged":
        weights = files / "run/model/weights.safetensors"
        weights.write_bytes(weights.read_bytes()[:100])
    elif case == "newer":
        config.write_text(json.dumps(values | {"format": 99}))
        message = "Upgrade cpgnn"
    elif case == "huge":
        values["architecture"]["hidden"] = 10**12
        config.write_text(json.dumps(values))
    elif case == "not a run":
        (files / "run/config.json").unlink()
        message = "cpgnn fit"
    before = names(files)
    check(cpgnn("predict", "run", "--out", "p.csv"), files, before, message)


def test_predictions_need_a_known_ending(cpgnn, files):
    before = names(files)
    check(cpgnn("predict", "run", "--out", "p.xlsx"), files, before, r"\.csv.*\.parquet")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ("--select-by luck", "'--select-by' must be accuracy, macro-f1 or"),
        ("--class-weight heavy", "Invalid value for '--class-weight'"),
        ("--positive ghost", "'--positive' must"),
        ("--test 20", "'--test' must"),
    ],
)
def test_messages_name_flags(cpgnn, files, flags, message):
    assert message in cpgnn(*FIT.split(), "--out", "run", *flags.split()).err


def test_advice_is_in_flags_on_the_command_line_and_in_parameters_in_python(cpgnn, files):
    kept = (files / "features.csv").read_text().splitlines()[:5]
    (files / "features.csv").write_text("\n".join(kept) + "\n")
    assert "or use --impute median." in cpgnn(*FIT.split(), "--out", "run").err
    with pytest.raises(InputError, match="or use impute='median'"):
        read_graph("edges.csv", features="features.csv")


def test_a_share_is_guessed_from_whole_percents_only(cpgnn, files):
    for share, hint in (("20", True), ("1.5", False), ("1", False)):
        assert ("Did you mean" in cpgnn(*FIT.split(), "--out", "run", "--test", share).err) == hint


def test_the_demo_needs_a_folder(cpgnn, files):
    before = names(files)
    check(cpgnn("demo", "--out", "edges.csv"), files, before, "'--out' must be a folder")


EXPORT = (
    "no;day;party_a;party_b;amount\n"
    "1;05.01.2024;000;001;1.234,50 €\n2;06.01.2024;002;003;12,00 €\n;;;;\n"
)


def test_columns_of_an_export_are_chosen_by_flags(cpgnn, files):
    (files / "export.csv").write_bytes(EXPORT.encode("utf-16"))
    done = cpgnn("stats", "export.csv")
    assert done.code == 2
    assert "Name them with --source … and --target …" in done.err
    done = cpgnn("stats", "export.csv", "--source", "party_a", "--target", "party_b")
    assert done.code == 0
    assert "columns 'no', 'day', 'amount' not used" in done.err
    assert "use --weight amount" in done.err
    ends = ("--source", "party_a", "--target", "party_b", "--weight", "amount")
    assert "'1.234,50 €' is 1234.5" in cpgnn("stats", "export.csv", *ends).err
    done = cpgnn("stats", "export.csv", *ends[:-1], "pay_day")
    assert done.code == 2
    assert "'--weight' must name a column of export.csv" in done.err


def test_names_among_the_features_are_ignored_or_left_out_by_a_flag(cpgnn, files):
    lines = (files / "features.csv").read_text().splitlines()
    named = [f"{line},{'full_name' if i == 0 else f'Ann {i}'}" for i, line in enumerate(lines)]
    (files / "features.csv").write_text("\n".join(named) + "\n")
    command = ("stats", "edges.csv", "--features", "features.csv")
    done = cpgnn(*command)
    assert done.code == 0
    assert "column 'full_name' is not used" in done.err
    assert "different value" not in cpgnn(*command, "--ignore", "full_name").err
