"""What people hand in by mistake gets an answer in our words."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import torch

from cpgnn import CPGNN, Architecture, CPGNNClassifier, train
from cpgnn.errors import InputError
from cpgnn.splits import stratified_split
from toys import planted

GRAPH = planted(n=40)
MODEL = Architecture("mlp", 1).build(GRAPH)
SPLIT = stratified_split(GRAPH.labels)
NO_CUDA = pytest.mark.skipif(torch.cuda.is_available(), reason="there is CUDA")


@pytest.mark.parametrize("device", [pytest.param("cuda", marks=NO_CUDA), "abacus", "meta:7x"])
def test_a_device_that_is_not_there(device):
    message = rf"'device' must be one that torch can use here\. Got '{device}'\. Try device='cpu'"
    for attempt in (
        lambda: CPGNNClassifier(device=device).fit(GRAPH),
        lambda: Architecture("mlp", 1).build(GRAPH, device=device),
    ):
        with pytest.raises(InputError, match=message) as caught:
            attempt()
        assert caught.value.parameter == "device"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (GRAPH.to_pyg(), r"Got Data\. Try Graph\.from_pyg\."),
        (nx.path_graph(3), r"Got Graph\. Try Graph\.from_networkx\."),
        (pd.DataFrame({"source": [0], "target": [1]}), r"Got DataFrame\. Try Graph\.from_pandas\."),
        (sp.csr_array(np.eye(3)), r"Got csr_array\. Try Graph\.from_scipy\."),
        (np.eye(3), r"Got ndarray\. Build one with Graph\.from_edges, from_pandas"),
    ],
)
def test_anything_but_a_graph(given, message):
    for attempt in (
        lambda: MODEL(given),
        lambda: MODEL.prior(given),
        lambda: train(MODEL, given, SPLIT),
    ):
        with pytest.raises(InputError, match=r"The input must be a cpgnn\.Graph\. " + message):
            attempt()


def test_anything_but_a_split():
    masks = (GRAPH.labels == 0, GRAPH.labels == 1, GRAPH.labels == 2)
    with pytest.raises(InputError, match=r"'split' must be a cpgnn\.Split\. Got tuple\. Try Split"):
        train(MODEL, GRAPH, masks)


def test_the_name_of_a_prior_is_not_a_prior():
    with pytest.raises(InputError, match=r"'prior' must be a torch module\. Got 'mlp'\. Try Arch"):
        CPGNN("mlp", num_classes=3)
