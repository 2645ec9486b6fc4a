from __future__ import annotations

from typing import Any

import pandas as pd
import pytest

from gtea.errors import DataError
from gtea.live.event_rows import EventReader
from gtea.runtime.frames import frame_reader
from gtea.store.schema import EventColumns, Schema
from gtea.tasks.tables import read_table


def frame_with(*values: Any) -> pd.DataFrame:
    return pd.DataFrame({"x": pd.Series(values, dtype=object)})


def test_a_frame_is_read() -> None:
    assert frame_reader(frame_with(1, 2), "accounts").read_all().column("x").to_pylist() == [1, 2]


@pytest.mark.parametrize("values", [(10**30, 1), (1, "a"), ({1}, 2), ("\ud800",)])
def test_what_arrow_has_no_type_for_is_refused(values: tuple[Any, ...]) -> None:
    with pytest.raises(
        DataError, match=r"^accounts: can't be converted to Arrow \(.+\)\. Give each column a single type"
    ):
        frame_reader(frame_with(*values), "accounts")


def test_everybody_who_reads_frames_refuses_it() -> None:
    frame = frame_with(10**30)
    with pytest.raises(DataError, match="events: can't be converted to Arrow"):
        EventReader(Schema(EventColumns("x", "y", "t"))).frame(frame, "s")
    with pytest.raises(DataError, match="labels frame: can't be converted to Arrow"):
        read_table(frame, (), "labels")
