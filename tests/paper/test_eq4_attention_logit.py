"""Eq. 4: alpha_tilde = a . Enc_a(history), with Enc_a's own parameters and nothing in between."""

from __future__ import annotations

import pytest
import torch
from tests.nn.examples import SPEC, histories_of, seeded
from tests.paper import naive
from tests.paper.agreement import assert_agrees, both_precisions

from gtea.config import ModelConfig
from gtea.nn.edge_encoder import EdgeEncoder

LENGTHS = [3, 0, 1, 5]


def logits_one_by_one(encoder: EdgeEncoder) -> torch.Tensor:
    histories = histories_of(LENGTHS)
    logits = []
    for start, stop in zip(histories.offset[:-1].tolist(), histories.offset[1:].tolist(), strict=True):
        events = [(histories.time[row], histories.features[row]) for row in range(start, stop)]
        logits.append(naive.attention_logit(encoder, events))
    return torch.stack(logits)


@both_precisions
@pytest.mark.parametrize("encoder", ["lstm", "transformer", "statistics"])
def test_attention_logit(encoder: str, dtype: torch.dtype) -> None:
    module = EdgeEncoder(ModelConfig(encoder=encoder, d_edge=8), SPEC, seeded(2))  # type: ignore[arg-type]
    assert_agrees(module, lambda quick: quick(histories_of(LENGTHS))[1], logits_one_by_one, dtype)
    assert (logits_one_by_one(module.double()) < 0).any(), "a leaky ReLU would go unnoticed"
