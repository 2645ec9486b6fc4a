"""GTEA with its heads: one answer for each seed or pair, and weights from the seed alone."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from tests.models.examples import SMALL
from tests.nn.examples import SPEC, histories_of, random_batch

from gtea.models.gtea import GTEALinkNetwork, GTEANodeClassifier
from gtea.nn.batch import PairBatch


def test_accounts() -> None:
    batch = random_batch(dtype=torch.float32)
    network = GTEANodeClassifier(SMALL, SPEC, 5, 0).eval()
    logits = network(batch)
    assert logits.shape == (batch.num_within[0], 5)
    assert network.embedder is network.gtea
    answered = network.answer(network.embedder(batch), batch.node_features[: batch.num_within[0]], None)
    assert torch.equal(answered, logits)


@pytest.mark.parametrize("head", ["dot", "pair", "ordered_pair"])
def test_pairs(head: str) -> None:
    batch = random_batch(dtype=torch.float32)
    network = GTEALinkNetwork(dataclasses.replace(SMALL, link_head=head), SPEC, 0).eval()  # type: ignore[arg-type]
    assert network.reads_history == (head != "dot")
    histories = histories_of([2, 0], dtype=torch.float32) if network.reads_history else None
    pairs = PairBatch(batch, torch.tensor([0, 1]), torch.tensor([2, 2]), histories, None)
    logits = network(pairs)
    assert logits.shape == (2,)
    assert torch.equal(network.answer(*network.embed(pairs), None), logits)


def test_weights_come_from_the_seed_alone() -> None:
    first, again, other = (GTEANodeClassifier(SMALL, SPEC, 3, seed) for seed in (0, 0, 1))
    for name, weight in first.named_parameters():
        assert torch.equal(weight, again.get_parameter(name))
    assert any(not torch.equal(weight, other.get_parameter(name)) for name, weight in first.named_parameters())
