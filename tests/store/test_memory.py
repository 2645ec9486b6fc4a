from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gtea.ingestion.ingest import ingest
from gtea.store.memory import store_in_memory


@pytest.mark.parametrize("directed", [False, True])
def test_arrays_are_those_of_ingest(tmp_path: Path, directed: bool) -> None:
    generator = np.random.default_rng(3)
    names = np.array(["a", "B", "10", "9", "é", "zz", "Z"])
    src, dst = names[generator.integers(0, 7, 200)].tolist(), names[generator.integers(0, 7, 200)].tolist()
    time = generator.integers(0, 50, 200)
    amount = generator.normal(size=200).astype(np.float32)
    kind = [["cash", "card", "ätm"][i] for i in generator.integers(0, 3, 200)]
    nodes = {"a": [1.0, 2.0], "nobody": [3.0, 4.0]}

    table = pa.table({"src": src, "dst": dst, "time": time, "amount": amount, "kind": kind})
    node_table = pa.table({"account": list(nodes), "x": [1.0, 3.0], "y": [2.0, 4.0]})
    on_disk = ingest(
        table,
        src="src",
        dst="dst",
        time="time",
        features=["amount"],
        categorical=["kind"],
        nodes=node_table,
        node_id="account",
        node_features=["x", "y"],
        time_unit="step",
        directed=directed,
        self_loops="keep",
        out=tmp_path / "store",
    )
    in_memory = store_in_memory(
        src,
        dst,
        time,
        features={"amount": amount},
        categorical={"kind": kind},
        nodes=nodes,
        node_features=["x", "y"],
        unit="step",
        directed=directed,
    )

    for field in dataclasses.fields(on_disk.arrays):
        expected, found = getattr(on_disk.arrays, field.name), getattr(in_memory.arrays, field.name)
        assert expected.dtype == found.dtype
        np.testing.assert_array_equal(expected, found)
    np.testing.assert_array_equal(on_disk.node_features, in_memory.node_features)
    np.testing.assert_array_equal(on_disk.node_in_table, in_memory.node_in_table)
    assert on_disk.accounts.to_arrow().equals(in_memory.accounts.to_arrow())
    assert on_disk.vocabularies[0].to_arrow().equals(in_memory.vocabularies[0].to_arrow())
    assert (on_disk.unit, on_disk.directed, on_disk.end) == (in_memory.unit, in_memory.directed, in_memory.end)
    assert (on_disk.features, on_disk.categorical) == (in_memory.features, in_memory.categorical)


def test_no_events() -> None:
    store = store_in_memory([], [], [], nodes={"alone": [1.0]}, node_features=["x"])
    assert store.num_nodes == 1
    assert store.as_of().degree("alone") == 0
