"""How input is read: what is fixed for the life of a store, and what may differ from delivery to delivery."""

from __future__ import annotations

import dataclasses
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gtea.data.bad_rows import BadRows
from gtea.data.columns import EventColumns, NodeColumns
from gtea.data.sources import Format
from gtea.data.times import TimeUnit
from gtea.runtime.progress import Progress, silent

Input = str | os.PathLike[str] | object
"""A file name, a glob, or a frame."""


@dataclass(frozen=True)
class Schema:
    """How input is read. Kept in the manifest, so that an append reads the same way."""

    columns: EventColumns
    node_columns: NodeColumns | None = None
    format: Format = "auto"
    delimiter: str | None = None
    time_unit: TimeUnit = "auto"
    timezone: str = "UTC"
    directed: bool = False
    self_loops: Literal["drop", "keep"] = "drop"
    min_events_per_edge: int = 0
    max_degree: int = 0

    def to_json(self) -> dict[str, Any]:
        """The schema as it stands in the manifest."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> Schema:
        """The schema of a manifest."""
        names, nodes = content["columns"], content["node_columns"]
        features, categorical = tuple(names["features"]), tuple(names["categorical"])
        columns = EventColumns(names["src"], names["dst"], names["time"], features, categorical)
        node_columns = NodeColumns(nodes["node_id"], tuple(nodes["features"])) if nodes else None
        return Schema(**{**content, "columns": columns, "node_columns": node_columns})


@dataclass(frozen=True)
class Reading:
    """How strictly, and with what means, input is read: what may differ from one delivery to the next."""

    bad_rows: BadRows = "error"
    quarantine: Path | None = None
    allow_any_date: bool = False
    memory: str = "4GB"
    progress: Progress = silent
