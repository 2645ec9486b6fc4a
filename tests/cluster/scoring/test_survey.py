"""The survey counts what is there, and parts cost about the same."""

from __future__ import annotations

import numpy as np
from tests.cluster.conftest import CUT, Case
from tests.cluster.made_job import job_of

from gtea.cluster.scoring.job import open_job, read_plan
from gtea.cluster.tasks import made_by
from gtea.store.store import Store


def test_active_accounts_hubs_and_labels_are_counted(plain_case: Case) -> None:
    folder = job_of(plain_case, plain_case.model("hybrid"))
    view, survey = Store.open(plain_case.store).as_of(CUT), made_by(folder, "survey.0")
    degrees = np.array([view.degree(node) for node in range(view.store.num_nodes)])
    assert survey.read("active").sum() == np.count_nonzero(degrees)
    grain = open_job(folder).grain
    assert survey.read("hubs")[:, 0].tolist() == np.flatnonzero(degrees > grain.slots).tolist()
    assert survey.read("hubs")[:, 2].tolist() == degrees[degrees > grain.slots].tolist()
    assert len(survey.read("labelled")) == 120
    assert read_plan(folder).num_active == np.count_nonzero(degrees)
