"""Damage of every kind is found and named."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from tests.store.tampering import change_array

from gtea.errors import StoreError
from gtea.ingestion.ingest import ingest
from gtea.store.store import Store
from gtea.store.verify import verify

Make = Callable[..., Store]


@pytest.fixture
def healthy(tmp_path: Path) -> Store:
    table = pa.table({
        "s": ["a", "b", "a", "c"], "d": ["b", "a", "c", "d"], "t": [1, 2, 3, 2], "x": [1.0, 2.0, 3.0, 4.0],
        "kind": ["p", "q", "p", "q"],
    })  # fmt: skip
    nodes = pa.table({"who": ["a"], "age": [1.0]})
    return ingest(
        table, src="s", dst="d", time="t", features=["x"], categorical=["kind"], time_unit="step",
        nodes=nodes, node_id="who", node_features=["age"], out=tmp_path / "s",
    )  # fmt: skip


def faults(store: Store) -> list[str]:
    return verify(store.path, lambda stage, done: None)


def test_a_healthy_store_has_no_faults(healthy: Store) -> None:
    assert faults(healthy) == []


def test_one_changed_byte_in_any_file_is_found(healthy: Store) -> None:
    folder = healthy.path / healthy.manifest.folder
    for name, described in healthy.manifest.arrays.items():
        path = folder / described["file"]
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
        (fault,) = faults(healthy)
        assert fault.startswith(f"{name}: the content of {described['file']} has changed")
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    assert faults(healthy) == []


def test_cut_and_missing_files_are_named_on_opening_already(healthy: Store) -> None:
    path = healthy.path / healthy.manifest.folder / "event_time.bin"
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    with pytest.raises(StoreError, match=r"event_time.bin: must have 32 bytes \(got 31\)"):
        Store.open(healthy.path)
    path.unlink()
    with pytest.raises(StoreError, match=r"event_time.bin: is missing from the store"):
        Store.open(healthy.path)
    assert faults(healthy) == ["event_time: the file event_time.bin is missing"]


@pytest.mark.parametrize(
    ("array", "change", "fault"),
    [
        ("event_time", lambda x: -x, "event_time: events of an edge must be in time order"),
        ("edge_a", lambda x: x + 9, "edge_a must be from 0 to below 4"),
        ("edge_b", lambda x: x * 0, "edges: must be distinct and ordered by (a, b)"),
        ("edge_first_time", lambda x: x + 1, "edge_first_time, edge_last_time: must be the times"),
        ("edge_offset", lambda x: x * 0, "edge_offset must rise from 0 to 4"),
        ("edge_offset", lambda x: np.r_[0, x[:1], x[2:]], "edge_offset must rise from 0 to 4"),
        ("slot_neighbour", lambda x: x[::-1], "slot_neighbour: doesn't agree with the edges"),
        ("slot_edge", lambda x: x[::-1], "slot_edge: doesn't agree with the edges"),
        ("node_offset", lambda x: x * 0, "node_offset must rise from 0 to 6"),
        ("event_reverse", lambda x: x + 2, "event_reverse: must be 0 or 1"),
        ("event_features", lambda x: x * np.float32(np.nan), "event_features: must be finite"),
        ("event_categories", lambda x: x + 5, "event_categories must be from 0 to below 2 in column 0"),
        ("node_id_bytes", lambda x: x[::-1], "node_id: strings must be distinct and in order"),
        ("node_id_offset", lambda x: x * 0, "node_id_offset must rise from 0 to 4"),
    ],
)
def test_broken_invariants_are_named_although_the_digests_fit(
    healthy: Store, array: str, change: Callable[[np.ndarray], np.ndarray], fault: str
) -> None:
    change_array(healthy.path, array, change)
    assert any(found.startswith(fault) for found in faults(healthy))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "can't be read"),
        ("[]", "is not the manifest of a gtea store"),
        (
            '{"format": "gtea-store", "format_version": 99, "gtea_version": "7.0"}',
            "must have format version 1 or 2 (got 99)",
        ),
        ('{"format": "gtea-store", "format_version": 1}', "is damaged"),
    ],
)
def test_manifests_that_can_not_be_read(healthy: Store, content: str, message: str) -> None:
    (healthy.path / "manifest.json").write_text(content)
    with pytest.raises(StoreError) as error:
        Store.open(healthy.path)
    assert message in str(error.value)


def test_a_stale_copy_of_the_report_is_mended(healthy: Store) -> None:
    (healthy.path / "data_report.json").write_text("{}")
    assert faults(healthy) == []
    assert json.loads((healthy.path / "data_report.json").read_text()) == healthy.report
