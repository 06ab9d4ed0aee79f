"""Numbers that no machine takes are refused by the option itself, on every command."""

from __future__ import annotations

import pytest
import typer

from cpgnn.cli.app import app, main


def numbers(command, *words):
    """(words of the command, option) for every option that is a whole number."""
    for name, one in getattr(command, "commands", {}).items():
        yield from numbers(one, *words, name)
    for option in command.params:
        if option.type_descriptor.annotation is int:
            yield words, option


FOUND = list(numbers(typer.main.get_command(app)))


def test_options_are_found():
    assert len(FOUND) >= 35
    assert {words[0] for words, _ in FOUND} >= {"fit", "predict", "check", "generate", "spark"}


@pytest.mark.parametrize(("words", "option"), FOUND, ids=str)
@pytest.mark.parametrize("value", [-1, 2**64])
def test_out_of_range(words, option, value, monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["cpgnn", *words, option.opts[0], str(value)])
    with pytest.raises(SystemExit) as stop:
        main()
    assert stop.value.code == 2
    assert f"Invalid value for '{option.opts[0]}'" in capsys.readouterr().err
