"""The tasks ``times`` and ``lookup``: when the events before the cut were, for statistics in activity time.

The activity time of an instant is the number of events before it (``gtea.features.activity_time``). Each part counts
the events at each time in a range of the events of the store; the counts of all are merged into one table, some at a
time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.cluster.part_files import Arrays, PartFile, Pieces
from gtea.cluster.scoring.job import ScoreJob, open_job
from gtea.cluster.tasks import made_by
from gtea.features.time_lookup import TimeLookup, as_they_are, lookup_of
from gtea.runtime.json_shape import Natural

LOOKUP = "lookup"
_EVENTS_AT_A_TIME = 1 << 22
_ROWS_HELD = 1 << 16
_NUMBERS = np.dtype(np.int64)


def times(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The distinct times of a range of events, ascending, and how many events are at each."""
    job = open_job(folder)
    all_times = job.view_of(range(0)).arrays.event_time
    found = [np.empty((0, 2), dtype=np.int64)]
    for first in range(arguments["first"], arguments["last"], _EVENTS_AT_A_TIME):
        some = np.asarray(all_times[first : min(first + _EVENTS_AT_A_TIME, arguments["last"])])
        found.append(np.stack(np.unique(some[some < job.cut], return_counts=True), axis=1))
    time, events = _added_up(np.concatenate(found))
    return {"time": time, "events": events}, {"events": int(events.sum())}


def lookup(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The distinct times of all events before the cut, and how many events are before each."""
    files = [made_by(folder, name) for name in arguments["times"]]
    for file in files:
        file.require_whole()  # rows are read a few at a time
    total = sum(file.fact("events", Natural) for file in files)
    return {
        "time": Pieces(_NUMBERS, (), (time for time, _ in _merged(files))),
        "before": Pieces(_NUMBERS, (), _before(files)),
    }, {"events": total}


def lookup_for(job: ScoreJob) -> TimeLookup:
    """The activity times of the job's view; times as they are if the model reads clock time."""
    if job.model.preprocessing.events_per_unit is None:
        return as_they_are()
    file = made_by(job.folder, LOOKUP)
    file.require_whole()  # numbers are looked up in the file
    return lookup_of(file.mapped("time"), file.mapped("before"), file.fact("events", Natural))


def _before(files: list[PartFile]) -> Iterator[NDArray[np.int64]]:
    seen = 0
    for _, events in _merged(files):
        after = seen + np.cumsum(events)
        yield after - events
        seen = int(after[-1]) if len(after) else seen


def _merged(files: list[PartFile]) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The distinct times of all files in order, some at a time, and how many events are at each."""
    held, read = [np.empty((0, 2), dtype=np.int64) for _ in files], [0] * len(files)
    while True:
        for i, file in enumerate(files):
            count = min(_ROWS_HELD - len(held[i]), file.num_rows("time") - read[i])
            more = np.stack([file.read_rows(name, read[i], count) for name in ("time", "events")], axis=1)
            held[i], read[i] = np.concatenate([held[i], more]), read[i] + count
        # Whatever has not been read yet of a file is later than what is held of it.
        ends = [rows[-1, 0] for rows, file, n in zip(held, files, read, strict=True) if n < file.num_rows("time")]
        counts = [int(np.searchsorted(rows[:, 0], min(ends), side="right")) if ends else len(rows) for rows in held]
        yield _added_up(np.concatenate([rows[:count] for rows, count in zip(held, counts, strict=True)]))
        if not ends:
            return
        held = [rows[count:] for rows, count in zip(held, counts, strict=True)]


def _added_up(rows: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The distinct times of rows of times and numbers of events, and all events at each."""
    time, place = np.unique(rows[:, 0], return_inverse=True)
    events = np.zeros(len(time), dtype=np.int64)
    np.add.at(events, place, rows[:, 1])
    return time, events
