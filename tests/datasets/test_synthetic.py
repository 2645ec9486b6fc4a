from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gtea.datasets.synthetic import (
    Events,
    require,
    share_out,
    shuffled_ids,
    stream,
    transaction_tables,
    write_files,
)
from gtea.errors import UsageError


@pytest.mark.parametrize(("total", "size"), [(0, 3), (7, 1), (1_000, 37), (5, 400)])
def test_shares_add_up_and_are_within_one_of_their_proportion(total: int, size: int) -> None:
    weights = np.random.default_rng(size).pareto(1.6, size)
    shares = share_out(total, weights)
    assert shares.sum() == total
    assert (np.abs(shares - total * weights / weights.sum()) < 1 + 1e-9).all()


def test_streams_depend_on_seed_and_purpose() -> None:
    def draw(seed: int, purpose: str) -> float:
        return stream(seed, purpose).random()

    assert draw(1, "ids") == draw(1, "ids")
    assert len({draw(1, "ids"), draw(2, "ids"), draw(1, "hubs")}) == 3


def test_ids_are_a_permutation() -> None:
    ids = shuffled_ids(1_000, seed=0).to_pylist()
    assert sorted(ids) == [f"A{number:07d}" for number in range(1_000)]
    assert ids != sorted(ids)


def test_transactions_are_in_time_order_and_in_whole_cents() -> None:
    ints = np.int32
    events = Events(
        payer=np.array([0, 1, 2], ints),
        payee=np.array([1, 2, 0], ints),
        second=np.array([30, 10, 30], ints),
        amount=np.array([1.238, 0.001, 2.5], np.float32),
    )
    (table,) = transaction_tables(events, pa.array(["x", "y", "z"]))
    assert table.to_pydict() == {
        "payer": ["y", "x", "z"],
        "payee": ["z", "y", "x"],
        "timestamp": [1_704_067_210, 1_704_067_230, 1_704_067_230],
        "amount": [0.01, 1.24, 2.5],
    }


def test_a_rule_that_does_not_hold_is_an_error_with_a_remedy() -> None:
    require(True, "days: must not be negative", 1, "30")
    with pytest.raises(UsageError, match=r"^days: must not be negative \(got -1\)\. Try 30\.$"):
        require(False, "days: must not be negative", -1, "30")


def test_a_file_above_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(UsageError, match=r"deeper: must be a folder \(got a file\)\. Choose another\."):
        write_files(iter(()), pa.table({}), tmp_path / "out" / "deeper")
