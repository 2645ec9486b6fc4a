"""Eq. 2: one linear part, the rest cosines."""

from __future__ import annotations

import torch
from tests.nn.examples import seeded
from tests.paper import naive
from tests.paper.agreement import assert_agrees, both_precisions

from gtea.nn.time2vec import Time2Vec


@both_precisions
def test_time2vec(dtype: torch.dtype) -> None:
    moments = torch.tensor([0.0, 0.25, 3.0, 99.5, 1000.0, -4.0], dtype=torch.float64)
    module = Time2Vec(7, 0.01, 1000.0, seeded())

    def one_by_one(twin: Time2Vec) -> torch.Tensor:
        return torch.stack([naive.time2vec(twin, t) for t in moments])

    assert_agrees(module, lambda quick: quick(moments), one_by_one, dtype)
