from __future__ import annotations

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.conftest import array_bytes
from tests.live.streams import NAMES, NEW, frame_of, rows_at, store_on_disk

from gtea.ingestion.append import append
from gtea.ingestion.ingest import ingest
from gtea.live.event_rows import EventReader, EventRow
from gtea.service.event_log import Entry, EventLog
from gtea.service.log_checkpoint_worker import answer, events_table, fold
from gtea.store.schema import Schema
from gtea.store.store import Store


def read(store: Store, records: Sequence[dict[str, Any]]) -> list[EventRow]:
    reader = EventReader(Schema.from_json(store.manifest.schema))
    return [reader.record(record) for record in records]


def test_folding_is_appending(tmp_path: Path) -> None:
    """Byte for byte, and as often as one likes."""
    generator = np.random.default_rng(1)
    rows = rows_at(generator, 40, NAMES, 100, 130, 2)
    store = store_on_disk(rows, tmp_path / "store")
    store_on_disk(rows, tmp_path / "other")
    stream = frame_of(rows_at(generator, 30, [*NAMES, *NEW], 95, 160, 4))
    schema = Schema.from_json(store.manifest.schema)
    (tmp_path / "log").mkdir()
    log = EventLog(tmp_path / "log", schema)
    records = stream.to_pylist()
    log.accept([Entry("x", b"", read(store, records[:10])), Entry("y", b"", read(store, records[10:]))])
    assert fold(str(tmp_path / "store"), str(tmp_path / "log"), 12, "1GB") == 12
    assert fold(str(tmp_path / "store"), str(tmp_path / "log"), 12, "1GB") == 12
    told = io.StringIO()
    request = {"store": str(tmp_path / "store"), "log": str(tmp_path / "log"), "through": 99, "memory": "1GB"}
    answer(json.dumps(request), told)
    assert json.loads(told.getvalue()) == {"held": 30}
    append(tmp_path / "other", stream, on_duplicate="keep", allow_any_date=True)
    assert array_bytes(Store.open(tmp_path / "store")) == array_bytes(Store.open(tmp_path / "other"))


@pytest.mark.parametrize("times", [["1970-01-02T00:00:00.5Z"], ["1970-01-02T00:00:00.123456789Z", "1970-01-02"]])
def test_times_stay_what_they_were(tmp_path: Path, times: list[str]) -> None:
    columns: dict[str, Any] = {"src": "src", "dst": "dst", "time": "time", "timezone": "Europe/Paris"}
    base = pa.table({"src": ["a"], "dst": ["b"], "time": ["1970-01-01T12:00"]})
    for name in ("one", "two"):
        ingest(base, **columns, out=tmp_path / name)
    store = Store.open(tmp_path / "one")
    stream = pa.table({"src": ["a"] * len(times), "dst": ["c"] * len(times), "time": times})
    append(tmp_path / "one", stream)
    rows = read(store, stream.to_pylist())
    append(tmp_path / "two", events_table(rows, Schema.from_json(store.manifest.schema)))
    assert array_bytes(Store.open(tmp_path / "one")) == array_bytes(Store.open(tmp_path / "two"))


def test_jodie_and_steps(tmp_path: Path) -> None:
    (tmp_path / "w.csv").write_text("user_id,item_id,timestamp,state_label,f\n1,1,0,0,0.5\n2,1,5,0,0.5\n")
    store = ingest(tmp_path / "w.csv", format="jodie", out=tmp_path / "s")
    rows = read(store, [{"user_id": "3", "item_id": 1, "timestamp": 7, store.features[0]: 0.25}])
    assert rows[0][:2] == ("user:3", "item:1")
    grown = append(tmp_path / "s", events_table(rows, Schema.from_json(store.manifest.schema)))
    assert grown.accounts.to_arrow().to_pylist() == ["item:1", "user:1", "user:2", "user:3"]
    steps = ingest(
        pa.table({"a": ["x"], "b": ["y"], "n": [3]}), src="a", dst="b", time="n", time_unit="step", out=tmp_path / "n"
    )
    table = events_table(read(steps, [{"a": "x", "b": "z", "n": 9}]), Schema.from_json(steps.manifest.schema))
    assert table["n"].to_pylist() == [9]


def test_an_error_is_told(tmp_path: Path) -> None:
    told = io.StringIO()
    answer(json.dumps({"store": str(tmp_path / "none"), "log": "", "through": 1, "memory": "1GB"}), told)
    assert json.loads(told.getvalue())["error"] == "StoreError"
