"""Summary statistics of a store, for ``gtea info``."""

from __future__ import annotations

from typing import Any, TypedDict

import numpy as np
from numpy.typing import NDArray

from gtea.store.manifest import DataReport
from gtea.store.store import Store

_PERCENTILES = (0, 25, 50, 75, 90, 99, 100)


class StoreInfo(TypedDict):
    """A store in numbers, ready for JSON."""

    path: str
    nodes: int
    edges: int
    events: int
    self_loops: int
    directed: bool
    time: dict[str, Any]
    degree: dict[str, float]
    history_length: dict[str, float]
    features: list[str]
    categorical: dict[str, int]
    node_features: list[str]
    bytes: int
    digest: str
    gtea_version: str
    data_report: DataReport


def describe(store: Store) -> StoreInfo:
    """Counts, time span, features, and the distributions of degrees and history lengths."""
    span = store.manifest.time
    degrees, lengths = np.diff(store.arrays.node_offset), np.diff(store.arrays.edge_offset)
    return {
        "path": str(store.path),
        "nodes": store.num_nodes,
        "edges": store.num_edges,
        "events": store.num_events,
        "self_loops": store.manifest.counts["self_loops"],
        "directed": store.directed,
        "time": {
            "unit": store.unit,
            "first": span["first"],
            "last": span["last"],
            "first_date": None if span["first"] is None or store.unit == "step" else store.date(span["first"]),
            "last_date": None if span["last"] is None or store.unit == "step" else store.date(span["last"]),
        },
        "degree": _spread(degrees),
        "history_length": _spread(lengths),
        "features": list(store.features),
        "categorical": {name: len(table) for name, table in zip(store.categorical, store.vocabularies, strict=True)},
        "node_features": _node_features(store),
        "bytes": sum(array["bytes"] for array in store.manifest.arrays.values()),
        "digest": store.digest,
        "gtea_version": store.manifest.gtea_version,
        "data_report": store.report,
    }


def histogram(values: NDArray[np.int64]) -> list[tuple[str, int]]:
    """Count values in bins 0, 1, 2-3, 4-7, ...: the bins double because the tails are heavy."""
    if not len(values):
        return []
    top = int(values.max()).bit_length()
    bins = np.bincount(np.frexp(values.astype(np.float64))[1].clip(min=0), minlength=top + 1)
    names = ["0", "1", *(f"{1 << k:,}-{(2 << k) - 1:,}" for k in range(1, top))]
    return [(name, int(count)) for name, count in zip(names, bins, strict=False) if count or name != "0"]


def _spread(values: NDArray[np.int64]) -> dict[str, float]:
    if not len(values):
        return {}
    levels = np.percentile(values, _PERCENTILES, method="inverted_cdf")
    spread = {f"p{level}": int(value) for level, value in zip(_PERCENTILES, levels, strict=True)}
    return {**spread, "mean": round(float(values.mean()), 3)}


def _node_features(store: Store) -> list[str]:
    columns = store.manifest.schema["node_columns"]
    return list(columns["features"]) if columns else []
