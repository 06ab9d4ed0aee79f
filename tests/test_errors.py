"""Errors know what they are about, and each surface spells parameters in its own way."""

import copy
import pickle

import pytest

from cpgnn import read_graph
from cpgnn.cli.app import in_flags
from cpgnn.errors import InputError, Message, advise, check_choice, check_count, wrong_value


def test_a_parameter_is_spelt_for_python_and_for_the_command_line():
    error = wrong_value("num_layers", "be at least 1", 0, advise("Use {}.", one_hot=True))
    assert error.parameter == "num_layers"
    assert str(error) == "'num_layers' must be at least 1. Got 0. Use one_hot=True."
    assert error.spelt(in_flags) == "'--layers' must be at least 1. Got 0. Use --one-hot."


def test_what_the_command_line_does_not_have_stays_as_in_python():
    assert wrong_value("centering_weight", "be", 1).spelt(in_flags).startswith("'centering_weight'")


def test_choices_are_spelt_as_they_are_typed():
    with pytest.raises(InputError) as caught:
        check_choice("select_by", "luck", ("accuracy", "macro_f1"))
    assert str(caught.value) == "'select_by' must be 'accuracy' or 'macro_f1'. Got 'luck'."
    there = caught.value.spelt(in_flags)
    assert there == "'--select-by' must be accuracy or macro-f1. Got 'luck'."


def test_columns_are_spelt_as_a_shell_takes_them():
    assert advise("{}", kind_column="").spelt(in_flags) == "--kind-column ''"
    assert advise("{}", relation_column="my_type").spelt(in_flags) == "--relation-column my_type"


def test_words_of_the_user_are_left_alone():
    got = "--one_hot={} impute='median'"
    said = wrong_value("test", "be", got, Message("Try ", advise("{}.", impute=("a", "b"))))
    assert said.spelt(in_flags) == f"'--test' must be. Got {got}. Try --impute a or b."


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda e: pickle.loads(pickle.dumps(e))])
def test_an_error_survives_the_way_to_another_process(copied):
    error = wrong_value("test", "be", 1, advise("Use {}.", impute="median"))
    other = copied(error)
    assert (str(other), other.parameter) == (str(error), "test")
    assert other.spelt(in_flags) == error.spelt(in_flags)


def test_an_error_about_a_file_knows_file_and_line(tmp_path):
    path = tmp_path / "edges.csv"
    path.write_text("source,target,weight\na,b,1\na,c,heavy\n")
    with pytest.raises(InputError) as caught:
        read_graph(path)
    assert (caught.value.file, caught.value.line) == (str(path), 3)


@pytest.mark.parametrize(("count", "said"), [(1.5, "a whole number"), (0, "at least 1")])
def test_counts(count, said):
    check_count("epochs", 1, least=1)
    with pytest.raises(InputError, match=f"'epochs' must be {said}"):
        check_count("epochs", count, least=1)
