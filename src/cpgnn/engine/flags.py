"""Parameters in messages as a user of the command line writes them."""

from __future__ import annotations

import re
import shlex

from cpgnn.errors import Mention, either

FLAGS = {
    "num_layers": "--layers",
    "h": "--homophily",
    "num_classes": "--classes",
    "num_bootstrap": "--bootstrap-nodes",
    "reference": "--features",
    "class_sizes": "--class-size",
    "k": "--budget",
    "directed": "--directed-types",
}
"""Parameters whose flag has another name; the others, and those that are on, have the same."""

OFF = {"directed": "--undirected"}
"""Flags that say no."""

COLUMNS = (
    "source",
    "target",
    "weight",
    "id",
    "label",
    "feature",
    "ignore",
    "relation_column",
    "kind_column",
    "unlabelled",
    "positive",
)
"""Parameters whose values are a user's own words, spelt as they are."""


def flag_of(parameter: str) -> str:
    return FLAGS.get(parameter, "--" + parameter.replace("_", "-"))


def as_flag(mention: Mention) -> str:
    """ "'--layers'", "--impute median", "--one-hot"."""
    name, values = mention.parameter, mention.values
    if not values:
        return f"'{flag_of(name)}'"
    if values == (True,):
        return "--" + name.replace("_", "-")
    if values == (False,):
        return OFF[name]
    spelt = [str(value) for value in values if value is not None]
    own = name in COLUMNS
    words = either([_for_shells(word) if own else word.replace("_", "-") for word in spelt])
    return f"{flag_of(name)} {words}" if name else words


def _for_shells(word: str) -> str:
    """A user's own word as a shell takes it: `"Betrag (EUR)"`."""
    if word == "…" or re.fullmatch(r"[\w.,:+/-]+", word):
        return word
    return shlex.quote(word) if re.search(r'["$`\\!]', word) or not word else f'"{word}"'
