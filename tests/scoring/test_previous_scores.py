"""Scores that were written before are read exactly, or refused with a reason."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from gtea.errors import DataError, UsageError
from gtea.scoring.previous_scores import ScoresOrigin, read_previous
from gtea.store.store import Store

ORIGIN = ScoresOrigin(100, "s", "d" * 64, True)


def table(rows: int = 300) -> pa.Table:
    draw = np.random.default_rng(0)
    return pa.table(
        {
            "account": [f"0{number}" for number in range(rows)],
            "score": draw.random(rows) ** 9,
            "rank": np.arange(1, rows + 1),
            "alert": draw.random(rows) < 0.5,
            "active": draw.random(rows) < 0.9,
            "events": draw.integers(0, 9, rows),
        }
    )


def test_both_formats_are_read_exactly(make_store: Callable[..., Store], tmp_path: Path) -> None:
    store, content = make_store(), table()
    pq.write_table(ORIGIN.attach(content), tmp_path / "a.parquet")
    pacsv.write_csv(content, tmp_path / "a.csv")
    found = read_previous(tmp_path / "a.parquet", store, None), read_previous(tmp_path / "a.csv", store, "100")
    for each in found:
        assert (each.cut, each.all_accounts) == (100, True)
        assert each.accounts.to_pylist() == content["account"].to_pylist()
        for mine, name in ((each.scores, "score"), (each.ranks, "rank"), (each.alerts, "alert")):
            np.testing.assert_array_equal(mine, np.asarray(content[name]))
        np.testing.assert_array_equal(each.active, np.asarray(content["active"]))
        assert each.events is not None
        np.testing.assert_array_equal(each.events, np.asarray(content["events"]))
        assert each.rows_of(["07", "7", "00"]).tolist() == [7, -1, 0]
    assert (found[0].model_digest, found[1].model_digest) == ("d" * 64, None)


def test_a_finer_store_reads_the_time_of_a_coarser_one(store_of: Callable[..., Store], tmp_path: Path) -> None:
    store = store_of([("a", "b", 1_700_000_000_000_001, 1.0)], time_unit="us")
    pq.write_table(ORIGIN.attach(table()), tmp_path / "a.parquet")
    assert read_previous(tmp_path / "a.parquet", store, None).cut == 100_000_000


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop_columns(["score"]), "has no column 'score'"),
        (lambda t: t.slice(0, 0), "must have at least one account"),
        (lambda t: pa.concat_tables([t, t]), "an account must have one row"),
        (lambda t: t.set_column(1, "score", pa.array(["high"] * len(t))), "column 'score': must be numbers"),
        (lambda t: t.set_column(3, "alert", pa.array(["yes"] * len(t))), "column 'alert': must be true or false"),
        (lambda t: t.replace_schema_metadata({b"gtea": b"{"}), "can't be read"),
        (lambda t: t.replace_schema_metadata({b"gtea": b'{"as_of": "1"}'}), "is damaged"),
        (lambda t: t.replace_schema_metadata(None), "doesn't say as of when it was made"),
        (lambda t: ScoresOrigin(1, "step", "", True).attach(t), "earlier state of this store"),
    ],
)
def test_what_can_not_be_compared_is_refused(
    make_store: Callable[..., Store], tmp_path: Path, change: Callable[[pa.Table], pa.Table], message: str
) -> None:
    pq.write_table(change(ORIGIN.attach(table())), tmp_path / "a.parquet")
    with pytest.raises((DataError, UsageError), match=message):
        read_previous(tmp_path / "a.parquet", make_store(), None)


def test_a_file_that_says_when_it_was_made_is_believed(make_store: Callable[..., Store], tmp_path: Path) -> None:
    pq.write_table(ORIGIN.attach(table()), tmp_path / "a.parquet")
    with pytest.raises(UsageError, match="--since-as-of: is for files that don't say it themselves"):
        read_previous(tmp_path / "a.parquet", make_store(), "100")
    (tmp_path / "b.parquet").write_bytes(b"PAR1 rubbish")
    with pytest.raises(DataError, match=r"b\.parquet"):
        read_previous(tmp_path / "b.parquet", make_store(), None)
