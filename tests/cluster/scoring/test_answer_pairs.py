"""Scores of a part of the pairs: those of its rows in the table of one process."""

from __future__ import annotations

import itertools

import pyarrow.parquet as pq
import pytest
from tests.cluster.conftest import Case
from tests.cluster.made_job import pair_job_of

from gtea.cluster.scoring.answer_pairs import answer_pairs
from gtea.cluster.tasks import made_by
from gtea.errors import StoreError
from gtea.store.store import Store


def test_a_part_has_its_pairs_ranked_with_their_ids(plain_case: Case) -> None:
    model = plain_case.link_model("hybrid")
    folder = pair_job_of(plain_case, model)
    plain_case.expected_pairs(model, plain_case.pairs())
    table = pq.read_table(plain_case.out / "one-pairs.parquet").to_pylist()
    expected = {(row["src"], row["dst"]): (row["score"], row["active"]) for row in table}
    seen = 0
    for part in range(3):
        file = made_by(folder, f"answer.{part}")
        columns = [file.read(name).tolist() for name in ("scores", "active")]
        ids = []
        for end in ("src", "dst"):
            text, ends = file.read(f"{end}_bytes").tobytes().decode(), [0, *file.read(f"{end}_ends").tolist()]
            ids.append([text[a:b] for a, b in itertools.pairwise(ends)])
        for pair, score, active in zip(zip(*ids, strict=True), *columns, strict=True):
            assert expected[pair] == (score, bool(active))
        assert columns[0] == sorted(columns[0], reverse=True)
        assert file.facts["inactive"] == columns[1].count(0)
        seen += len(columns[0])
    assert seen == len(table)


def test_a_store_that_points_outside_is_refused_before_compiled_code_reads_it(
    plain_case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = pair_job_of(plain_case, plain_case.link_model("hybrid"))
    real = Store.open

    def damaged(path: str) -> Store:
        store = real(path)
        offset = store.arrays.node_offset.copy()
        offset[len(offset) // 2 :] += 10**9
        return store.with_arrays({"node_offset": offset}, store.manifest.counts)

    monkeypatch.setattr("gtea.cluster.scoring.job.Store.open", damaged)
    grants = [path.stem for path in sorted(folder.glob("grant.*.part"))]
    arguments = {"first": 32, "last": 96, "asked": "ends.0", "grants": grants}
    with pytest.raises(StoreError, match="node_offset must rise"):
        answer_pairs(folder, arguments)
