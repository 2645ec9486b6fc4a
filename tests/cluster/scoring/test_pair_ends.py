"""What parts of the accounts tell parts of the pairs: that of one process, of exactly the accounts asked for."""

from __future__ import annotations

import numpy as np
from tests.cluster.conftest import CPU, GRAIN, Case
from tests.cluster.made_job import pair_job_of

from gtea.cluster.scoring.exchange import asked, received
from gtea.cluster.scoring.job import open_job, read_plan
from gtea.cluster.scoring.pair_ends import requested_pairs
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import LinkModel
from gtea.store.store import Store


def test_embeddings_and_statistics_are_those_of_one_process(plain_case: Case) -> None:
    path = plain_case.link_model("hybrid")
    folder = pair_job_of(plain_case, path)
    job, plan, store = open_job(folder), read_plan(folder), Store.open(plain_case.store)
    model, grants = LinkModel.open(path, CPU), [f"grant.{part}" for part in range(plan.num_parts)]
    everybody = np.unique(np.concatenate(requested_pairs(folder)))
    z = model.embedded(store, job.cut, everybody, ScoringOptions(grain=GRAIN)).z.numpy()
    whole = model.preprocessing.pair_statistics_of(store.as_of(job.cut))
    for part in range(3):
        nodes = asked(folder, f"ends.{part}", plan.num_parts)
        found = received(folder, f"ends.{part}", grants, z.shape[1], z.dtype, kind="z-")
        assert found.tobytes() == z[np.searchsorted(everybody, nodes)].tobytes()
        known = received(folder, f"ends.{part}", grants, 10, np.dtype(np.float64), kind="statistics-")
        assert known.tobytes() == np.ascontiguousarray(whole.rows(nodes, nodes)[:, :10]).tobytes()


def test_pairs_are_in_the_order_of_both_ends(plain_case: Case) -> None:
    folder = pair_job_of(plain_case, plain_case.link_model("gtea-he"))
    src, dst = requested_pairs(folder)
    assert np.lexsort((dst, src)).tolist() == list(range(len(src)))
    assert len({*zip(src.tolist(), dst.tolist(), strict=True)}) == len(src)
    some = requested_pairs(folder, 10, 20)
    assert (some[0].tolist(), some[1].tolist()) == (src[10:20].tolist(), dst[10:20].tolist())
