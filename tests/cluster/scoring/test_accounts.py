"""Scores in parts are those of one process, to the byte, whatever the model, the parts and whoever runs them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.cluster.conftest import CPU, CUT, GRAIN, Case, InThisProcess

from gtea.cluster.carriers import Carrier
from gtea.cluster.scoring.accounts import score_accounts_on
from gtea.models.registry import GTEA_VARIANTS


def in_parts(case: Case, model: Path, parts: int, carrier: Carrier | None = None, **options: Any) -> bytes:
    out = case.out / "parts.parquet"
    out.unlink(missing_ok=True)
    made = score_accounts_on(
        carrier or InThisProcess(), model, case.store, out, as_of=CUT, device=CPU, parts=parts, grain=GRAIN, **options
    )
    assert made is not None
    return out.read_bytes()


@pytest.mark.parametrize("name", [*GTEA_VARIANTS, "hybrid"])
def test_every_model_has_the_bytes_of_one_process(case: Case, name: str) -> None:
    model = case.model(name)
    expected = case.expected(model)
    assert [in_parts(case, model, parts) == expected for parts in (1, 2, 3, 7)] == [True] * 4
