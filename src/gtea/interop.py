"""Conversion of a store to the formats of other libraries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from gtea.errors import UsageError
from gtea.runtime.files import atomic_write
from gtea.store.export import events_in_time_order
from gtea.store.view import View

if TYPE_CHECKING:
    from torch_geometric.data import TemporalData


def to_pyg(view: View) -> TemporalData:
    """Convert the events before the cut to a PyG ``TemporalData`` with src, dst, t and msg, in time order.

    ``msg`` holds the event features, followed by the codes of the categorical columns. Node i is the i-th account of
    ``view.store.accounts``.

    Raises:
        UsageError: torch-geometric is not installed.
    """
    try:
        import torch
        from torch_geometric.data import TemporalData
    except ImportError as error:
        raise UsageError(
            "PyG export: needs torch-geometric, which is not installed. Install it with pip install 'gtea[pyg]'."
        ) from error
    return TemporalData(**{name: torch.from_numpy(array) for name, array in _columns(view).items()})


def write_pyg(view: View, out: Path) -> int:
    """Write the fields of ``to_pyg(view)`` to a safetensors file, and the accounts to a Parquet file next to it.

    ``TemporalData(**safetensors.torch.load_file(out))`` restores the object. PyG itself saves with pickle, which can
    run arbitrary code when it is loaded.

    Args:
        view: The events to write.
        out: The path of the safetensors file. The accounts go to the same path with the suffix ``.accounts.parquet``.

    Returns:
        The number of events.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq
    from safetensors.torch import save

    data = to_pyg(view)
    content = save({name: data[name].contiguous() for name in ("src", "dst", "t", "msg")})
    with atomic_write(out) as stream, atomic_write(out.with_suffix(".accounts.parquet")) as accounts:
        pq.write_table(pa.table({"account": view.store.accounts.to_arrow()}), accounts)
        stream.write(content)
    return int(data.num_events)


def _columns(view: View) -> dict[str, Any]:
    parts = list(events_in_time_order(view))
    width = len(view.store.features) + len(view.store.categorical)
    messages = [np.hstack([part.features, part.categories.astype(np.float32)]) for part in parts]
    return {
        "src": np.concatenate([np.zeros(0, np.int64), *(part.src.astype(np.int64) for part in parts)]),
        "dst": np.concatenate([np.zeros(0, np.int64), *(part.dst.astype(np.int64) for part in parts)]),
        "t": np.concatenate([np.zeros(0, np.int64), *(part.time for part in parts)]),
        "msg": np.concatenate([np.zeros((0, width), np.float32), *messages]),
    }
