"""The facts of neighbours, gathered from parts, are those that one process reads."""

from __future__ import annotations

import numpy as np
from tests.cluster.conftest import Case
from tests.cluster.made_job import job_of

from gtea.cluster.scoring.job import open_job, read_plan
from gtea.cluster.scoring.neighbour_facts import NeighbourFacts
from gtea.features.neighbour_labels import NeighbourLabelShares
from gtea.features.partner_statistics import PartnerStatistics
from gtea.store.store import Store


def test_statistics_of_partners_and_labels_of_neighbours(case: Case) -> None:
    folder = job_of(case, case.model("hybrid"))
    job, plan = open_job(folder), read_plan(folder)
    whole = Store.open(case.store).as_of(job.cut)
    labels = job.model.preprocessing.neighbour_labels
    assert labels is not None
    partners, shares = PartnerStatistics(whole), NeighbourLabelShares(whole, labels)
    for part in range(plan.num_parts):
        nodes = np.arange(*plan.bounds[part : part + 2])
        facts = NeighbourFacts(job, plan, job.view_of(plan.accounts(part)), part, ["survey.0"])
        assert facts.partners is not None
        assert facts.shares is not None
        assert facts.partners(nodes).tobytes() == partners.rows(nodes).tobytes()
        assert facts.shares(nodes).tobytes() == shares.rows(nodes).tobytes()
        assert shares.rows(nodes).any()
