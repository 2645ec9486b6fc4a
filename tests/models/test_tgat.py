"""TGAT: the published equation."""

from __future__ import annotations

import torch
from tests.models import naive
from tests.models.examples import SMALL, event_batch
from tests.nn.examples import SPEC, seeded
from tests.paper.agreement import assert_agrees, both_precisions

from gtea.models.tgat import TGAT


@both_precisions
def test_it_is_the_published_equation(dtype: torch.dtype) -> None:
    batch, exact = event_batch(dtype=dtype), event_batch()

    def one_by_one(model: TGAT) -> torch.Tensor:
        return torch.stack(naive.tgat(model, exact))

    assert_agrees(TGAT(SMALL, SPEC, seeded()), lambda model: model(batch), one_by_one, dtype)
