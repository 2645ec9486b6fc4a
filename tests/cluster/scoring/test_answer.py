"""The answers of a part: ranked among themselves, with their ids."""

from __future__ import annotations

import numpy as np
from tests.cluster.conftest import CUT, Case
from tests.cluster.made_job import job_of

from gtea.cluster.scoring.job import read_plan
from gtea.cluster.tasks import made_by
from gtea.store.store import Store


def test_each_part_answers_for_its_own_accounts(plain_case: Case) -> None:
    folder = job_of(plain_case, plain_case.model("hybrid"))
    store, plan, inactive = Store.open(plain_case.store), read_plan(folder), 0
    for part in range(plan.num_parts):
        file = made_by(folder, f"answer.{part}")
        nodes, scores = file.read("nodes"), file.read("scores")
        assert sorted(nodes.tolist()) == list(plan.accounts(part))
        assert (np.diff(scores) <= 0).all()
        ids = np.split(file.read("id_bytes"), file.read("id_ends")[:-1])
        assert [bytes(each).decode() for each in ids] == [store.account(int(node)) for node in nodes]
        inactive += file.facts["inactive"]
    assert inactive == np.count_nonzero(~store.as_of(CUT).has_events(np.arange(store.num_nodes))) > 0
