"""EGNN: the published equation."""

from __future__ import annotations

import torch
from tests.models import naive
from tests.models.equations import assert_is_the_equation, every_depth
from tests.paper.agreement import both_precisions

from gtea.models.egnn import EGNN


@both_precisions
@every_depth
def test_it_is_the_published_equation(depth: int, dtype: torch.dtype) -> None:
    assert_is_the_equation(EGNN, lambda model, graph, x, degrees: naive.egnn(model, graph, x), depth, dtype)
