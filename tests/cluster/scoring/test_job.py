"""What all tasks share: the job, the plan, the requested accounts; and a job with another model or store is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cluster.conftest import Case
from tests.cluster.made_job import job_of

from gtea.cluster.part_files import write_part_file
from gtea.cluster.scoring.job import REQUESTED, open_job, read_plan, requested_of
from gtea.cluster.tasks import part_path
from gtea.errors import UsageError


def changed(folder: Path, **changes: Any) -> None:
    content = json.loads((folder / "job.json").read_text())
    (folder / "job.json").write_text(json.dumps({**content, **changes}))


def test_the_plan_covers_all_accounts_in_whole_blocks(plain_case: Case) -> None:
    folder = job_of(plain_case, plain_case.model("gtea-he"))
    job, plan = open_job(folder), read_plan(folder)
    assert plan.num_parts == 3
    assert [account for part in range(3) for account in plan.accounts(part)] == list(range(300))
    active = [job.view_of(plan.accounts(p)).has_events(np.arange(*plan.bounds[p : p + 2])).sum() for p in range(3)]
    assert plan.first_rank.tolist() == [0, active[0], active[0] + active[1]]
    assert all(rank % job.grain.accounts == 0 for rank in plan.first_rank)
    assert sum(active) == plan.num_active
    assert [hub.num_slots > job.grain.slots for hub in plan.hubs] == [True] * len(plan.hubs)
    assert sum(len(plan.hubs_of(part)) for part in range(3)) == len(plan.hubs) > 0


def test_another_model_or_store_is_refused(plain_case: Case) -> None:
    folder = job_of(plain_case, plain_case.model("gtea-he"))
    changed(folder, data="0" * 64)
    with pytest.raises(UsageError, match="is not the store that the job began with"):
        open_job(folder).view_of(range(10))
    changed(folder, model_digest="0" * 64)
    with pytest.raises(UsageError, match="is not the model that the job began with"):
        open_job(folder)


def test_requested_accounts_of_a_range(tmp_path: Path) -> None:
    (tmp_path / "job.json").write_text('{"requested": "digest"}')
    write_part_file(part_path(tmp_path, REQUESTED), {"nodes": np.array([2, 3, 5, 8, 13])}, {})
    found = {(a, b): requested_of(tmp_path, range(a, b)) for a, b in ((0, 20), (3, 8), (4, 5), (14, 20))}
    assert {key: each.tolist() for key, each in found.items() if each is not None} == {
        (0, 20): [2, 3, 5, 8, 13], (3, 8): [3, 5], (4, 5): [], (14, 20): [],
    }  # fmt: skip
    (tmp_path / "job.json").write_text('{"requested": null}')
    assert requested_of(tmp_path, range(0, 20)) is None
