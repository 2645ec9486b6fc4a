"""What scoring jobs have in common."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.cluster.conftest import CPU, CUT, GRAIN, Case

from gtea.cluster.scoring.job import PAIRS, PartPlan
from gtea.cluster.scoring.score_tasks import ScoreRequest, file_for_scores
from gtea.errors import UsageError
from gtea.scoring.scorer import LinkModel
from gtea.store.store import Store


def request_of(case: Case, **changes: Any) -> ScoreRequest:
    model = case.link_model("gtea-he")
    given: dict[str, Any] = {
        "kind": PAIRS, "model": model, "as_of": CUT, "prevalence": None, "requested": None, "for_spreadsheets": False,
        "device": CPU, "parts": None, "work": None, "grain": GRAIN, "num_workers": 3,
    }  # fmt: skip
    out = case.out / "scores.parquet"
    return ScoreRequest(LinkModel.open(model, CPU), Store.open(case.store), out, **{**given, **changes})


def test_there_are_as_many_parts_as_workers_or_as_the_folder_has(plain_case: Case) -> None:
    assert request_of(plain_case).parts == 3
    begun = request_of(plain_case, parts=2)
    begun.begin()
    assert request_of(plain_case).parts == 2
    assert request_of(plain_case, work=plain_case.out / "other").parts == 3


def test_only_accounts_that_are_active_decide_whether_they_are_few(plain_case: Case) -> None:
    """As in one process: of ten that are named and nine that are active, all are embedded only if nine are most."""
    store = Store.open(plain_case.store)
    active = np.flatnonzero(store.as_of(CUT).has_events(np.arange(store.num_nodes)))
    inactive = np.setdiff1d(np.arange(store.num_nodes), active)[:5]
    plan = PartPlan(np.array([0, store.num_nodes]), np.array([0]), (), len(active))
    half = active[: len(active) // 2]
    request = request_of(plain_case)
    assert request.are_few(half, plan)
    assert request.are_few(np.concatenate([half, inactive]), plan)
    assert not request.are_few(active[: len(active) // 2 + 1], plan)


@pytest.mark.parametrize("out", ["s3://bucket/scores.parquet", "memory://a/scores.csv"])
def test_an_address_is_refused_before_any_work(out: str) -> None:
    with pytest.raises(UsageError, match=r"--on: writes scores to a file .got an address.. Send it with gtea copy"):
        file_for_scores(out, False)
