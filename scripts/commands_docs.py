"""docs/commands.md from the commands themselves: every command with every option.

With `-` the page goes to standard output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import typer

from cpgnn.cli.app import app

PAGE = Path(__file__).parent.parent / "docs/commands.md"

HEAD = """# Commands

Every command and option, generated from `cpgnn --help` by `make commands-docs`.
"""


def page() -> str:
    """The page as it should be."""
    return "\n".join([HEAD, *_sections(typer.main.get_command(app), "cpgnn")])


def _sections(command: Any, name: str) -> Iterator[str]:
    parts = getattr(command, "commands", {})
    if not parts:
        usage = " ".join(filter(None, map(_usage, command.params)))
        yield f"## {name}\n\n{' '.join(command.help.split())}\n\n```text\n{name} {usage}\n```\n"
        yield "| | |\n|---|---|"
        hints = get_type_hints(command.callback)
        for parameter in command.params:
            if parameter.name in hints:
                yield _row(parameter, hints[parameter.name])
        yield ""
    for part in parts.values():
        yield from _sections(part, f"{name} {part.name}")


def _usage(parameter: Any) -> str:
    """How a parameter stands in a command; options that may be left out are not shown."""
    if parameter.param_type_name == "argument":
        name = parameter.name.upper() + ("..." if parameter.nargs == -1 else "")
        return name if parameter.required else f"[{name}]"
    return f"{parameter.opts[0]} {parameter.name.upper()}" if parameter.required else ""


def _row(parameter: Any, hint: Any) -> str:
    if parameter.param_type_name == "argument":
        flag = f"`{parameter.name.upper()}`"
    else:
        flag = " / ".join(f"`{name}`" for name in (*parameter.opts, *parameter.secondary_opts))
    about = parameter.help
    kinds = [kind for kind in (hint, *get_args(hint)) if get_origin(kind) is Literal]
    if kinds:
        about += f" One of: {', '.join(f'`{choice}`' for choice in get_args(kinds[0]))}."
    bare = parameter.required or isinstance(parameter.default, bool)
    if not bare and parameter.default not in (None, ""):
        about += f" Default: `{parameter.default}`."
    return f"| {flag} | {about} |".replace("train|val|test", "train, val or test")


if __name__ == "__main__":
    if sys.argv[1:] == ["-"]:
        print(page(), end="")
    else:
        PAGE.write_text(page(), encoding="utf-8")
