"""Layers over parts: only the halo crosses, and the embeddings are those of one process."""

from __future__ import annotations

import numpy as np
from tests.cluster.conftest import CPU, Case
from tests.cluster.made_job import job_of

from gtea.cluster.scoring.job import open_job, read_plan
from gtea.cluster.tasks import made_by
from gtea.scoring.exact import ExactEmbedder
from gtea.store.store import Store


def test_embeddings_are_those_of_one_process_and_only_the_halo_crosses(plain_case: Case) -> None:
    folder = job_of(plain_case, plain_case.model("gtea-tx+t"))
    job, plan = open_job(folder), read_plan(folder)
    parts = range(plan.num_parts)
    nodes = np.concatenate([made_by(folder, f"encode.{part}").read("nodes") for part in parts])
    view = Store.open(plain_case.store).as_of(job.cut)
    model = job.model
    whole = ExactEmbedder(model.gtea, view, model.preprocessing, model.config, CPU, grain=job.grain).embed(nodes)
    found = np.concatenate([made_by(folder, f"renew-1.{part}").read("z") for part in parts])
    assert found.tobytes() == whole.numpy().tobytes()
    halo = sum(made_by(folder, path.stem).facts["halo"] for path in folder.glob("e[nm][cb]*.part"))
    for layer in (0, 1):
        shares = [made_by(folder, f"share-{layer}.{part}").facts for part in parts]
        assert sum(each["sent_bytes"] for each in shares) == halo * shares[0]["width"] * 4
