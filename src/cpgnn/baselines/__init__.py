"""The paper's baselines, each an `nn.Module` with `forward(graph) -> logits`, and their recipes."""

from cpgnn.baselines.cheby import GCNCheby
from cpgnn.baselines.fitting import train_baseline
from cpgnn.baselines.gat import GAT
from cpgnn.baselines.gcn import GCN
from cpgnn.baselines.h2gcn import H2GCN
from cpgnn.baselines.mixhop import MixHop
from cpgnn.baselines.mlp import MLP
from cpgnn.baselines.recipes import GCN_RECIPES, MODELS, REAL, SYNTHETIC, Recipe, recipes
from cpgnn.baselines.sage import GraphSAGE

__all__ = [
    "GAT",
    "GCN",
    "GCN_RECIPES",
    "H2GCN",
    "MLP",
    "MODELS",
    "REAL",
    "SYNTHETIC",
    "GCNCheby",
    "GraphSAGE",
    "MixHop",
    "Recipe",
    "recipes",
    "train_baseline",
]
