"""The same model written the usual ways with PyG, for comparison."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch_geometric.nn import ChebConv, SimpleConv

from cpgnn import Graph, Split


class EdgeIndexCPGNN(nn.Module):
    """CPGNN on PyG's `edge_index`: linear layers or ChebConv on dense features, SimpleConv."""

    def __init__(self, graph: Graph, prior: str, num_layers: int = 1) -> None:
        super().__init__()
        data = graph.to_pyg()
        self.edge_index = data.edge_index
        X = graph.features
        self.X = torch.eye(graph.num_nodes) if X is None else torch.from_numpy(_dense(X))
        F, c = self.X.shape[1], graph.num_classes
        if prior == "mlp":
            layers = (nn.Linear(F, 64, bias=False), nn.Linear(64, c, bias=False))
        else:
            layers = (ChebConv(F, 64, 3, bias=False), ChebConv(64, c, 3, bias=False))
        self.first, self.second = layers
        self.cheby = prior == "cheby"
        self.spread = SimpleConv(aggr="sum")
        self.H_bar = nn.Parameter(torch.randn(c, c) * 0.1)
        self.num_layers = num_layers

    def forward(self) -> Tensor:
        if self.cheby:
            hidden = torch.relu(self.first(self.X, self.edge_index, lambda_max=2.0))
            logits = self.second(hidden, self.edge_index, lambda_max=2.0)
        else:
            logits = self.second(torch.relu(self.first(self.X)))
        c = logits.shape[1]
        B = B_0 = torch.softmax(logits, dim=1) - 1 / c
        for _ in range(self.num_layers):
            B = B_0 + self.spread(B @ self.H_bar, self.edge_index)
        return B + 1 / c


class SparseTensorCPGNN(nn.Module):
    """CPGNN with torch's own sparse CSR matrices for A, L and X (autograd transposes them)."""

    def __init__(self, graph: Graph, prior: str, num_layers: int = 1) -> None:
        super().__init__()
        self.A = _csr(graph.adjacency)
        self.L = _csr(-graph.matrix("sym"))
        X = graph.features
        if X is None:
            X = sp.eye_array(graph.num_nodes, dtype=np.float32)
        self.X = _csr(X) if sp.issparse(X) else torch.from_numpy(X)
        F, c = self.X.shape[1], graph.num_classes
        orders = 3 if prior == "cheby" else 1
        self.W_1 = nn.ParameterList([_weight(F, 64) for _ in range(orders)])
        self.W_2 = nn.ParameterList([_weight(64, c) for _ in range(orders)])
        self.H_bar = nn.Parameter(torch.randn(c, c) * 0.1)
        self.num_layers = num_layers

    def _sum(self, terms: list[Tensor]) -> Tensor:
        if len(terms) == 1:
            return terms[0]
        second = 2 * torch.sparse.mm(self.L, torch.sparse.mm(self.L, terms[2])) - terms[2]
        return terms[0] + torch.sparse.mm(self.L, terms[1]) + second

    def forward(self) -> Tensor:
        hidden = torch.relu(self._sum([self.X @ W for W in self.W_1]))
        logits = self._sum([hidden @ W for W in self.W_2])
        c = logits.shape[1]
        B = B_0 = torch.softmax(logits, dim=1) - 1 / c
        for _ in range(self.num_layers):
            B = B_0 + torch.sparse.mm(self.A, B @ self.H_bar)
        return B + 1 / c


def usual_epoch(model: nn.Module, graph: Graph, split: Split):
    """An epoch as it is usually written: a training step, then a pass for the validation score."""
    labels = torch.from_numpy(graph.labels)
    train, val = torch.from_numpy(split.train), torch.from_numpy(split.val)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=1e-3)

    def epoch() -> float:
        model.train()
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model()[train], labels[train])
        loss = loss + model.H_bar.sum(dim=1).abs().sum()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.no_grad():
            predicted = model()[val].argmax(dim=1)
        return float((predicted == labels[val]).float().mean())

    return epoch


def _dense(X) -> np.ndarray:
    return X.toarray() if sp.issparse(X) else X


def _csr(matrix: sp.csr_array) -> Tensor:
    M = sp.csr_array(matrix)
    parts = (M.indptr.astype(np.int64), M.indices.astype(np.int64), M.data.astype(np.float32))
    return torch.sparse_csr_tensor(*map(torch.from_numpy, parts), M.shape)


def _weight(rows: int, columns: int) -> nn.Parameter:
    return nn.Parameter(nn.init.xavier_uniform_(torch.empty(rows, columns)))
