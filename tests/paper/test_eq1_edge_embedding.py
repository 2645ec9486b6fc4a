"""Eq. 1 and 3: a history becomes an edge embedding, by each of the three encoders."""

from __future__ import annotations

import pytest
import torch
from tests.nn.examples import SPEC, histories_of, seeded
from tests.paper import naive
from tests.paper.agreement import assert_agrees, both_precisions

from gtea.config import ModelConfig
from gtea.nn.edge_encoder import EdgeEncoder

LENGTHS = [1, 4, 0, 2, 9, 3, 4]


def encode_one_by_one(encoder: EdgeEncoder) -> torch.Tensor:
    histories = histories_of(LENGTHS)
    embeddings = []
    for start, stop in zip(histories.offset[:-1].tolist(), histories.offset[1:].tolist(), strict=True):
        events = [(histories.time[row], histories.features[row]) for row in range(start, stop)]
        embeddings.append(naive.edge_embedding(encoder, events))
    return torch.stack(embeddings)


@both_precisions
@pytest.mark.parametrize("time_encoding", [False, True], ids=["events", "events with time"])
@pytest.mark.parametrize("num_encoder_layers", [1, 2, 3])
@pytest.mark.parametrize("encoder", ["lstm", "transformer", "statistics"])
def test_edge_embedding(encoder: str, num_encoder_layers: int, time_encoding: bool, dtype: torch.dtype) -> None:
    config = ModelConfig(
        encoder=encoder,  # type: ignore[arg-type]
        time_encoding=time_encoding,
        num_encoder_layers=num_encoder_layers,
        d_edge=8,
        d_time=4,
    )
    module = EdgeEncoder(config, SPEC, seeded(1))
    assert_agrees(module, lambda quick: quick.embed(histories_of(LENGTHS)), encode_one_by_one, dtype)
