"""The edge encoder: what is shared, what is not, and what is refused."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from tests.nn.examples import SPEC, histories_of, seeded

from gtea.config import InputSpec, ModelConfig
from gtea.errors import UsageError
from gtea.models.registry import model_config
from gtea.nn.edge_encoder import EdgeEncoder


def test_time_and_features_side_by_side() -> None:
    encoder = EdgeEncoder(ModelConfig(d_time=5), SPEC, seeded())
    histories = histories_of([2, 1], dtype=torch.float32)
    e_hat = encoder.e_hat(histories)
    assert encoder.time2vec is not None
    torch.testing.assert_close(e_hat[:, :5], encoder.time2vec(histories.time), atol=1e-6, rtol=0)
    assert torch.equal(e_hat[:, 5:], histories.features)


def test_without_time_encoding_the_time_is_not_read() -> None:
    encoder = EdgeEncoder(model_config("gtea-l"), SPEC, seeded())
    histories = histories_of([2, 1], dtype=torch.float32)
    elsewhen = dataclasses.replace(histories, time=histories.time + 50)
    assert torch.equal(encoder.embed(histories), encoder.embed(elsewhen))
    assert encoder.time2vec is None


def test_both_encoders_have_one_build_one_time_encoding_and_parameters_of_their_own() -> None:
    encoder = EdgeEncoder(model_config("gtea-tx+t"), SPEC, seeded())
    mine, theirs = (dict(part.named_parameters()) for part in (encoder.enc_i, encoder.enc_a))
    assert {name: p.shape for name, p in mine.items()} == {name: p.shape for name, p in theirs.items()}
    assert not any(torch.equal(mine[name], theirs[name]) for name in mine)
    assert sum("omega" in name for name, _ in encoder.named_parameters()) == 1


def test_embedding_alone_is_the_same_embedding() -> None:
    encoder = EdgeEncoder(model_config("gtea-l+t"), SPEC, seeded())
    histories = histories_of([2, 0, 3], dtype=torch.float32)
    e_tilde, alpha_tilde = encoder(histories)
    assert torch.equal(encoder.embed(histories), e_tilde)
    assert e_tilde.shape == (3, 64)
    assert alpha_tilde.shape == (3,)


def test_statistics_have_their_own_size() -> None:
    encoder = EdgeEncoder(model_config("gtea-he"), SPEC, seeded())
    assert encoder.d_edge == 4 * SPEC.d_event_features
    assert encoder.a.shape == (encoder.d_edge,)


def test_statistics_with_time_reach_the_time_encoding() -> None:
    config = dataclasses.replace(model_config("gtea-he"), time_encoding=True, d_time=3)
    encoder = EdgeEncoder(config, SPEC, seeded())
    assert encoder.d_edge == 4 * (SPEC.d_event_features + 3)
    e_tilde, _ = encoder(histories_of([4, 1, 0], dtype=torch.float32))
    e_tilde.square().sum().backward()
    assert encoder.time2vec is not None
    assert encoder.time2vec.omega.grad is not None
    assert encoder.time2vec.omega.grad.isfinite().all()


def test_events_with_neither_features_nor_time_are_refused() -> None:
    with pytest.raises(UsageError) as refusal:
        EdgeEncoder(model_config("gtea-l"), InputSpec(3, 0, 1.0, 2.0), seeded())
    assert str(refusal.value) == (
        "model.time_encoding must be true if events have no features (got false and 0 features). "
        "Set model.time_encoding = true or name a feature column."
    )


def test_events_without_features_have_their_times() -> None:
    encoder = EdgeEncoder(model_config("gtea-l+t"), InputSpec(3, 0, 1.0, 2.0), seeded())
    assert encoder.embed(histories_of([2, 1], d_event=0)).shape == (2, 64)
