"""Classes with very few labels: merged on request, and mentioned where one label is all."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from cpgnn.engine.arrays import class_sizes
from cpgnn.engine.text import count, listed, some
from cpgnn.errors import Message, advise, check_count
from cpgnn.graph import Graph
from cpgnn.io.labels import in_order

OTHER = "other"


def merge_rare(graph: Graph, least: int) -> tuple[Graph, list[str]]:
    """The graph with all classes of fewer than `least` labels as one, "other"; and what to say."""
    check_count("merge_rare", least, least=2)
    sizes = class_sizes(graph.labels, graph.num_classes)
    rare = np.flatnonzero(sizes < least)
    if not len(rare):
        return graph, []
    old = [str(name) for name in graph.class_names]
    new = [OTHER if i in rare else name for i, name in enumerate(old)]
    names = in_order(set(new))
    places = np.array([names.index(name) for name in new])
    labels = np.where(graph.labels >= 0, places[graph.labels], -1)
    shown = some([f"{old[i]!r} ({sizes[i]:,})" for i in rare])
    classes = count(len(rare), "class", "classes")
    was = "was" if len(rare) == 1 else "were"
    notice = f"{classes} with fewer than {least:,} labels {was} merged into {OTHER!r}: {shown}."
    return replace(graph, labels=labels, class_names=tuple(names)), [notice]


def single_labels(graph: Graph) -> list[str]:
    """What to say about classes with one label, where a split is going to be drawn."""
    alone = np.flatnonzero(class_sizes(graph.labels, graph.num_classes) == 1)
    if not len(alone):
        return []
    names = listed([graph.class_names[i] for i in alone])
    text = f"Class {names} has only one labelled node: it is trained on, not tested. "
    if len(alone) > 1:
        text = f"The classes {names} have only one labelled node each, trained on and not tested. "
    return [Message(text, advise("To merge small classes, use {}.", merge_rare=2))]
