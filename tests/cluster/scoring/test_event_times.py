"""When events were, merged from parts: the counts of all, whatever the parts and the pieces that are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.cluster.conftest import CUT, Case
from tests.cluster.made_job import pair_job_of

from gtea.cluster.part_files import DamagedFileError
from gtea.cluster.scoring.event_times import LOOKUP, lookup, lookup_for, times
from gtea.cluster.scoring.job import open_job
from gtea.cluster.tasks import made_by, part_path
from gtea.store.store import Store


def test_the_table_has_every_time_and_how_many_events_are_before_it(plain_case: Case) -> None:
    folder = pair_job_of(plain_case, plain_case.link_model("hybrid"))
    all_times = np.asarray(Store.open(plain_case.store).arrays.event_time)
    seen = np.sort(all_times[all_times < Store.open(plain_case.store).as_of(CUT).cut])
    found = lookup_for(open_job(folder))
    assert found.time.tolist() == sorted(set(seen.tolist()))
    assert found.before.tolist() == [int(np.searchsorted(seen, time)) for time in found.time]
    assert found.total == len(seen) < len(all_times)


@pytest.mark.parametrize("held", [1, 3, 1000])
def test_how_much_is_read_at_once_changes_nothing(plain_case: Case, monkeypatch: pytest.MonkeyPatch, held: int) -> None:
    folder = pair_job_of(plain_case, plain_case.link_model("hybrid"))
    names: dict[str, Any] = {"times": ["times.0", "times.1", "times.2"]}
    monkeypatch.setattr("gtea.cluster.scoring.event_times._ROWS_HELD", held)
    monkeypatch.setattr("gtea.cluster.scoring.event_times._EVENTS_AT_A_TIME", 100 * held)
    arrays, facts = lookup(folder, names)
    kept = made_by(folder, LOOKUP)
    for name in ("time", "before"):
        assert np.concatenate(list(arrays[name].pieces)).tolist() == kept.read(name).tolist()  # type: ignore[union-attr]
    assert facts["events"] == kept.facts["events"]
    part, _ = times(folder, {"first": 0, "last": 1000})
    assert sum(part["events"]) > 0  # type: ignore[arg-type]


def test_a_damaged_table_is_told(plain_case: Case) -> None:
    folder = pair_job_of(plain_case, plain_case.link_model("hybrid"))
    path: Path = part_path(folder, LOOKUP)
    path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    with pytest.raises(DamagedFileError, match="time has been changed or cut"):
        lookup_for(open_job(folder))


def test_a_model_that_reads_no_statistics_has_clock_time(plain_case: Case) -> None:
    from gtea.cluster.scoring.pair_ends import statistics_apart

    folder = pair_job_of(plain_case, plain_case.link_model("gtea-l+t", link_head="dot"))
    job = open_job(folder)
    assert statistics_apart(job, job.whole_view()) is None
    assert not part_path(folder, LOOKUP).exists()
