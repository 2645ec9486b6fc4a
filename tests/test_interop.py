"""Stores in the shapes of other libraries."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from gtea.interop import to_pyg, write_pyg
from gtea.store.store import Store

Make = Callable[..., Store]


def test_pyg_temporal_data(store_of: Make, tmp_path: Path) -> None:
    pytest.importorskip("torch_geometric")
    from safetensors.torch import load_file
    from torch_geometric.data import TemporalData

    store = store_of([("a", "b", 5, 1.0), ("c", "a", 1, 2.0)])
    data = to_pyg(store.as_of())
    assert (data.src.tolist(), data.dst.tolist(), data.t.tolist()) == ([2, 0], [0, 1], [1, 5])
    assert data.msg.tolist() == [[2.0], [1.0]]
    assert write_pyg(store.as_of(), tmp_path / "e.safetensors") == 2
    again = TemporalData(**load_file(tmp_path / "e.safetensors"))
    assert again.t.tolist() == [1, 5]
    assert pq.read_table(tmp_path / "e.accounts.parquet")["account"].to_pylist() == ["a", "b", "c"]
