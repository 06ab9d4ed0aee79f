"""The library's messages in the words of the command line: flags instead of parameters."""

from __future__ import annotations

import re

FLAGS = {
    "num_layers": "--layers",
    "h": "--homophily",
    "num_bootstrap": "--bootstrap-nodes",
    "reference": "--features",
    "class_sizes": "--class-size",
}
"""Parameters whose flag has another name; the others are spelt alike."""
_PARAMETER = (
    "prior|num_layers|preset|epochs|seed|test|select_by|class_weight|positive|normalization|"
    "impute|one_hot|unlabelled|strict_ids|labels|features|h|base|bootstrap|num_bootstrap|"
    "edges_per_node|reference|class_sizes"
)
_NAME = re.compile(rf"'({_PARAMETER})' must (be|lie|have|come)\b")
_VALUE = re.compile(rf"\b({_PARAMETER})=('[^' ]*'(?: or '[^' ]*')?|True)")


def in_flags(message: str) -> str:
    """ "'num_layers' must be …" → "'--layers' must be …"; "impute='median'" → "--impute median".

    >>> in_flags("Every node must have features. Got none. Use impute='median' or one_hot=True.")
    'Every node must have features. Got none. Use --impute median or --one-hot.'
    """
    if message.startswith("'select_by'"):  # its values are written with a dash as well
        message = message.replace("macro_f1", "macro-f1").replace(
            "average_precision", "average-precision"
        )
    message = _NAME.sub(lambda found: f"'{_flag(found[1])}' must {found[2]}", message)
    return _VALUE.sub(lambda found: _flag(found[1]) + _value(found[2]), message)


def _flag(parameter: str) -> str:
    return FLAGS.get(parameter, "--" + parameter.replace("_", "-"))


def _value(text: str) -> str:
    return "" if text == "True" else " " + text.replace("'", "")
