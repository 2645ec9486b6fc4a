"""Encoding a part reads the part alone, and asks for exactly what attention has left beyond it."""

from __future__ import annotations

import numpy as np
from tests.cluster.conftest import Case
from tests.cluster.made_job import job_of

from gtea.cluster.scoring.exchange import asked
from gtea.cluster.scoring.job import open_job, read_plan
from gtea.cluster.tasks import made_by


def test_the_halo_is_what_attention_has_left_beyond_the_part(plain_case: Case) -> None:
    folder = job_of(plain_case, plain_case.model("gtea-l+t"))
    plan = read_plan(folder)
    for part in range(plan.num_parts):
        file, accounts = made_by(folder, f"encode.{part}"), plan.accounts(part)
        halo = asked(folder, f"encode.{part}", plan.num_parts)
        neighbours = np.unique(np.sort(np.concatenate([halo, file.read("nodes")]))[file.read("neighbour")])
        beyond = neighbours[(neighbours < accounts.start) | (neighbours >= accounts.stop)]
        assert halo.tolist() == beyond.tolist()
        assert file.facts["halo"] == len(beyond) > 0


def test_the_pieces_of_a_hub_share_weights_that_sum_to_one(plain_case: Case) -> None:
    folder = job_of(plain_case, plain_case.model("gtea-l+t"))
    grain = open_job(folder).grain
    for number, hub in enumerate(read_plan(folder).hubs):
        pieces = [made_by(folder, f"embed.{number}.{k}") for k in range(-(-hub.num_slots // grain.slots))]
        assert len(pieces) > 1
        np.testing.assert_allclose(sum(piece.read("alpha").sum() for piece in pieces), 1, atol=1e-6)
