"""The slots of ranges of accounts."""

from __future__ import annotations

import numpy as np
from tests.cluster.ingestion.conftest import StoppedJob

from gtea.cluster.tasks import made_by


def test_ranges_one_after_another_are_all_slots(stopped: StoppedJob) -> None:
    ranges, arrays = [made_by(stopped.folder, f"slots.{place}") for place in range(3)], stopped.at_once.arrays
    for name in ("slot_neighbour", "slot_edge", "slot_first_time"):
        np.testing.assert_array_equal(np.concatenate([each.read(name) for each in ranges]), getattr(arrays, name))
    degrees = np.concatenate([np.diff(each.read("node_offset")) for each in ranges])
    np.testing.assert_array_equal(degrees, np.diff(arrays.node_offset))
