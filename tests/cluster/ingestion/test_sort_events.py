"""The events and edges of parts."""

from __future__ import annotations

import numpy as np
from tests.cluster.ingestion.conftest import StoppedJob

from gtea.cluster.tasks import made_by


def test_parts_one_after_another_are_the_store(stopped: StoppedJob) -> None:
    parts = [made_by(stopped.folder, f"sort.{part}") for part in range(3)]
    arrays = stopped.at_once.arrays
    for name in ("event_time", "event_reverse", "event_features", "event_categories", "edge_a", "edge_first_time"):
        whole = np.concatenate([part.read(name) for part in parts])
        np.testing.assert_array_equal(whole, getattr(arrays, name))


def test_seams_say_what_comes_before(stopped: StoppedJob) -> None:
    parts, made = [made_by(stopped.folder, f"sort.{part}") for part in range(3)], made_by(stopped.folder, "seams")
    events = [part.num_rows("event_time") for part in parts]
    assert made.read("events_before").tolist() == [0, events[0], events[0] + events[1]]
    counts = stopped.at_once.manifest.counts
    assert made.facts["totals"]["num_edges"] == counts["edges"]
    assert made.facts["totals"]["num_events"] == counts["events"]
    assert made.facts["totals"]["duplicates"] == stopped.at_once.report["duplicates"] > 0
