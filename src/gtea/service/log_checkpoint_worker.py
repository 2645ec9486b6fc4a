"""A process that folds a log into its store: reads one request from stdin, appends, answers with what the store holds.

It reads the log while the service goes on writing to it. Should the service die, the append still ends well or not at
all, and whoever delivers the same events again is given none (``NumberedEvents``).
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np
import pyarrow as pa

from gtea.ingestion.append import append
from gtea.ingestion.numbered_events import NumberedEvents, last_held
from gtea.live.event_rows import JODIE_PREFIXES, EventRow
from gtea.runtime.worker_process import answer_stream, error_answer, send_answer
from gtea.service.event_log import read_log
from gtea.store.schema import Schema
from gtea.store.store import Store

_NICE = 10


def main() -> None:
    """Fold once."""
    with contextlib.suppress(OSError):
        os.nice(_NICE)  # those who wait for answers come first
    answer(sys.stdin.readline(), answer_stream())


def answer(line: str, answers: TextIO) -> None:
    """Answer a request with the last number that the store holds, or with the error."""
    try:
        told: dict[str, Any] = {"held": fold(**json.loads(line))}
    except Exception as error:
        told = error_answer(error)
    send_answer(answers, told)


def fold(store: str, log: str, through: int, memory: str) -> int:
    """Append the events of a log up to a number that the store does not hold. Returns the last one that it holds.

    Args:
        store: The path of the store.
        log: The folder of the log.
        memory: What ``append`` may take.
    """
    opened = Store.open(store)
    name, _ = read_log(Path(log), 0, 0)
    held = last_held(opened.manifest.sources, name)
    _, rows = read_log(Path(log), held, through)
    if rows:
        events = NumberedEvents(name, held + 1, events_table(rows, Schema.from_json(opened.manifest.schema)))
        # Who accepted the events has checked their dates, and that they are events of their own.
        opened = append(store, [events], on_duplicate="keep", allow_any_date=True, memory=memory)
    return last_held(opened.manifest.sources, name)


def events_table(rows: Sequence[EventRow], schema: Schema) -> pa.Table:
    """Checked events as a frame that ``append`` reads to the same events."""
    columns = schema.columns
    names = [columns.src, columns.dst]
    prefixes = [JODIE_PREFIXES.get(name, "") if schema.format == "jodie" else "" for name in names]
    ends = [[row.src.removeprefix(prefixes[0]) for row in rows], [row.dst.removeprefix(prefixes[1]) for row in rows]]
    features = np.array([row.features for row in rows], dtype=np.float64).reshape(len(rows), len(columns.features))
    table: Mapping[str, Any] = {
        **{name: pa.array(column, pa.large_string()) for name, column in zip(names, ends, strict=True)},
        columns.time: _times([row.time for row in rows], steps=schema.time_unit == "step"),
        **{name: features[:, i] for i, name in enumerate(columns.features)},
        **{
            name: pa.array([row.words[i] for row in rows], pa.large_string())
            for i, name in enumerate(columns.categorical)
        },
    }
    return pa.table(dict(table))


def _times(times: Sequence[int], *, steps: bool) -> pa.Array:
    """Steps as they are, and nanoseconds since 1970 as dates: in microseconds, which reach further, if they can be."""
    if steps:
        return pa.array(times, pa.int64())
    if all(time % 1000 == 0 for time in times):
        return pa.array([time // 1000 for time in times], pa.timestamp("us", "UTC"))
    return pa.array(times, pa.timestamp("ns", "UTC"))


if __name__ == "__main__":
    main()
