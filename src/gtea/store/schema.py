"""The schema of a store: how its input is read, and which columns it has. Fixed for the life of the store."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal

from gtea.store.time_units import TimeUnit

Format = Literal["auto", "csv", "tsv", "parquet", "jodie", "snap"]


@dataclass(frozen=True)
class Schema:
    """How input is read. Saved in the manifest, so that appends read their input in the same way."""

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
        """The schema as JSON for the manifest."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_json(content: dict[str, Any]) -> Schema:
        """Read the schema from a manifest."""
        names, nodes = content["columns"], content["node_columns"]
        features, categorical = tuple(names["features"]), tuple(names["categorical"])
        columns = EventColumns(names["src"], names["dst"], names["time"], features, categorical)
        node_columns = NodeColumns(nodes["node_id"], tuple(nodes["features"])) if nodes else None
        return Schema(**{**content, "columns": columns, "node_columns": node_columns})


@dataclass(frozen=True)
class EventShape:
    """The internal column names of an event's features (f0, f1, ...) and categories (c0, c1, ...)."""

    features: tuple[str, ...]
    categorical: tuple[str, ...]


@dataclass(frozen=True)
class EventColumns:
    """The names of an event's columns in the input."""

    src: str
    dst: str
    time: str
    features: tuple[str, ...] = ()
    categorical: tuple[str, ...] = ()

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read, in the order of the staged table."""
        return (self.src, self.dst, self.time, *self.features, *self.categorical)

    @property
    def shape(self) -> EventShape:
        """The internal column names. They keep the user's names from conflicting with ours in SQL."""
        features = tuple(f"f{i}" for i in range(len(self.features)))
        return EventShape(features, tuple(f"c{i}" for i in range(len(self.categorical))))


@dataclass(frozen=True)
class NodeColumns:
    """The names of the account id column and the feature columns in the node table."""

    node_id: str
    features: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Every column that is read, in the order of the staged table."""
        return (self.node_id, *self.features)
