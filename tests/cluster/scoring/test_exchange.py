"""What parts send each other: exactly the rows that were asked for, in the order of the accounts."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from gtea.cluster.part_files import write_part_file
from gtea.cluster.scoring.exchange import asked, granted, received, wishes
from gtea.cluster.scoring.job import PartPlan
from gtea.cluster.tasks import part_path

PLAN = PartPlan(np.array([0, 10, 20, 30]), np.array([0, 4, 8]), (), 12)


def test_who_asks_gets_the_rows_and_nothing_else_crosses(tmp_path: Path) -> None:
    wanted = np.array([1, 7, 12, 25, 29])
    write_part_file(part_path(tmp_path, "encode.1"), wishes(PLAN, wanted), {})
    write_part_file(part_path(tmp_path, "encode.2"), wishes(PLAN, np.array([3])), {})
    np.testing.assert_array_equal(asked(tmp_path, "encode.1", 3), wanted)
    for part, nodes in enumerate(([1, 3, 7, 9], [11, 12], [25, 27, 29])):
        rows = np.stack([np.array(nodes), -np.array(nodes)], axis=1)
        sent = granted(tmp_path, part, ["encode.1", "encode.2"], np.array(nodes), rows)
        write_part_file(part_path(tmp_path, f"share.{part}"), sent, {})
        assert sum(map(len, sent.values())) == (3, 1, 2)[part]
    found = received(tmp_path, "encode.1", ["share.0", "share.1", "share.2"], 2, np.dtype(np.int64))
    np.testing.assert_array_equal(found[:, 0], wanted)
    assert received(tmp_path, "encode.0", ["share.0"], 2, np.dtype(np.int64)).shape == (0, 2)
