"""The ledger of an ingest: counts that account for every row of the input."""

from __future__ import annotations

from dataclasses import dataclass, field

from gtea.ingestion.build import EventTotals
from gtea.ingestion.filters import Filtered
from gtea.ingestion.time_plan import TimePlan
from gtea.store.manifest import DataReport
from gtea.store.time_units import date_text


@dataclass
class Ledger:
    """Counts of rows kept and dropped, for the data report."""

    rows_in: int = 0
    bad: dict[str, int] = field(default_factory=dict)
    self_loops: int = 0
    self_loops_kept: bool = False
    filtered: Filtered = field(default_factory=Filtered)
    quarantine: str | None = None
    nodes: dict[str, int] = field(default_factory=dict)

    def report(self, built: EventTotals, times: TimePlan) -> DataReport:
        """The data report. It counts every row of the input once: as kept, or as dropped for one reason."""
        dropped = dict(self.bad)
        if not self.self_loops_kept:
            dropped["self_loop"] = self.self_loops
        dropped["min_events_per_edge"] = self.filtered.few_events
        dropped["max_degree"] = self.filtered.max_degree
        dropped = {reason: count for reason, count in dropped.items() if count}
        assert self.rows_in == built.num_events + sum(dropped.values()), "a row was lost without being counted"
        return {
            "rows_in": self.rows_in,
            "rows_kept": built.num_events,
            "dropped": dropped,
            "self_loops": self.self_loops,
            "duplicates": built.duplicates,
            "time": {
                "unit": times.unit,
                "first": None if built.first_time is None else date_text(built.first_time, times.unit),
                "last": None if built.last_time is None else date_text(built.last_time, times.unit),
                "rounded": times.rounded,
            },
            "nodes": {**self.nodes, "dropped_by_max_degree": self.filtered.nodes},
            "quarantine": self.quarantine,
            "notes": list(times.notes),
        }
