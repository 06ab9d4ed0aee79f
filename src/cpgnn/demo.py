"""The built-in example: a graph whose edges join opposites, and three ways to classify it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from cpgnn.baselines import GCN, GCN_RECIPES, train_baseline
from cpgnn.classifier import CPGNNClassifier
from cpgnn.engine.inputs import logits_of
from cpgnn.engine.loop import Begin
from cpgnn.evaluation.metrics import Scored, share
from cpgnn.graph import Graph
from cpgnn.homophily import compatibility_matrix, homophily_ratio
from cpgnn.io import LoadedGraph
from cpgnn.reference import gaussian_reference
from cpgnn.run.fit import train_run
from cpgnn.run.run import Run
from cpgnn.splits import per_class_split
from cpgnn.synthetic.generate import generate_graph, mixhop_compatibility

NUM_CLASSES, CLASS_SIZE, HOMOPHILY = 5, 600, 0.1


@dataclass(frozen=True, eq=False)
class Demo:
    """What the example showed: test accuracies, and which classes connect, before and after."""

    run: Run
    homophily: float
    accuracy: dict[str, Scored]
    true: np.ndarray
    initial: np.ndarray
    found: np.ndarray

    @property
    def graph(self) -> Graph:
        return self.run.graph


def example_graph(seed: int = 0) -> Graph:
    """3,000 nodes in five classes on a circle: one edge in ten stays within a class, most of the
    others lead to the classes next to it; weak features."""
    sizes = [CLASS_SIZE] * NUM_CLASSES
    return generate_graph(
        sizes,
        # base 4 sets the classes next to each other clearly apart from the rest
        mixhop_compatibility(NUM_CLASSES, HOMOPHILY, base=4.0),
        seed=seed,
        bootstrap="authors",
        reference=gaussian_reference(sizes, seed=seed),
    )


def run_demo(seed: int = 0, begin: Begin | None = None) -> Demo:
    """Trains CPGNN, a graph-blind MLP and a GCN on 10 % of the labels of `example_graph`."""
    begin = begin or (lambda name, epochs: None)
    graph = example_graph(seed)
    split = per_class_split(graph.labels, seed=seed)
    classifier = CPGNNClassifier("mlp", 1, seed=seed)
    run = train_run(LoadedGraph(graph, split.used_for(graph.num_nodes)), classifier, begin=begin)
    fitted = run.classifier
    assert run.evaluation is not None
    assert run.without_graph is not None
    assert fitted.initial_compatibility_ is not None

    recipe = GCN_RECIPES[-1]
    scaled = fitted.prediction().scaled
    gcn = GCN(scaled, seed=seed)
    train_baseline(gcn, scaled, split, recipe, seed=seed, observe=begin("GCN", recipe.epochs))
    hits = (logits_of(gcn, scaled).argmax(axis=1) == graph.labels)[split.test]
    accuracy = {
        "CPGNN": run.evaluation.accuracy,
        "MLP, graph-blind": run.without_graph.accuracy,
        "GCN": share(int(hits.sum()), len(hits)),
    }
    return Demo(
        run,
        homophily_ratio(graph),
        accuracy,
        compatibility_matrix(graph),
        fitted.initial_compatibility_,
        fitted.edge_frequency_,
    )


def draw_demo(demo: Demo, path: Path) -> None:
    """One picture: who is how good, and what CPGNN learned about who connects."""
    from cpgnn.report.plots import figure, plot_matrix, save, score_bars

    picture = figure(11, 5.4)
    grid = picture.add_gridspec(2, 3, height_ratios=(1, 2))
    score_bars(picture.add_subplot(grid[0, :]), demo.accuracy, "Test accuracy, 95 % interval")
    names = [str(name) for name in demo.graph.class_names]
    panels = {
        "Truth (needs every label)": demo.true,
        "Initial estimate": demo.initial,
        "Found by CPGNN": demo.found,
    }
    top = max(float(matrix.max()) for matrix in panels.values())
    for column, (title, matrix) in enumerate(panels.items()):
        plot_matrix(matrix, names, title=title, top=top, axes=picture.add_subplot(grid[1, column]))
    save(picture, path)
