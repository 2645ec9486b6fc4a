"""What all layered baselines have in common."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from tests.models.examples import SMALL, batch_with_degrees, event_batch
from tests.nn.examples import SPEC, seeded

from gtea.models.ecconv import ECConv
from gtea.models.egnn import EGNN
from gtea.models.gat import GAT
from gtea.models.gcn import GCN
from gtea.models.graphsage import GraphSAGE
from gtea.models.layered import BaselineClassifier
from gtea.models.tgat import TGAT

LAYERED = [GCN, GraphSAGE, GAT, ECConv, EGNN, TGAT]


@pytest.mark.parametrize("build", LAYERED, ids=lambda build: build.__name__)
def test_every_weight_gets_a_gradient_and_comes_from_the_generator(build: Any) -> None:
    state = torch.get_rng_state()
    first, again, other = (build(SMALL, SPEC, seeded(seed)) for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), state)
    for name, weight in first.named_parameters():
        assert torch.equal(weight, again.get_parameter(name))
    assert any(not torch.equal(weight, other.get_parameter(name)) for name, weight in first.named_parameters())
    batch = event_batch(dtype=torch.float32) if build is TGAT else batch_with_degrees(dtype=torch.float32)
    first(batch).square().sum().backward()
    assert [name for name, weight in first.named_parameters() if weight.grad is None or not weight.grad.any()] == []


@pytest.mark.parametrize("build", LAYERED, ids=lambda build: build.__name__)
def test_a_classifier_answers_for_the_seeds_alone(build: Any) -> None:
    batch = event_batch(dtype=torch.float32) if build is TGAT else batch_with_degrees(dtype=torch.float32)
    network = BaselineClassifier(build, SMALL, SPEC, 5, 0).eval()
    assert network(batch).shape == (batch.num_within[0], 5)
    assert torch.equal(network.embedder(batch), network.embedder(batch))
