"""The days that are looked at: those before the training cut, as reference, and the latest.

A day is one of UTC; in a store of steps it is a number of steps. The last day ends at the cut and may be shorter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gtea.errors import ModelError, UsageError
from gtea.models.model_folder import SavedModel
from gtea.store.store import Store
from gtea.store.time_units import stored_per_second
from gtea.store.view import View

_SECONDS = 86_400


@dataclass(frozen=True)
class Day:
    """The events from ``start`` on and before ``stop``."""

    start: int
    stop: int
    name: str


@dataclass(frozen=True)
class Days:
    """The days to look at, the oldest first."""

    reference: tuple[Day, ...]
    recent: tuple[Day, ...]
    training_cut: int
    length: int
    """Of a day, in the unit of the store."""


def training_cut(saved: SavedModel, store: Store, given: str | None) -> int:
    """The time before which a model saw events when it was trained.

    Args:
        given: What the user says; None to take what the model says.
    """
    if given is not None:
        return store.as_of(given).cut
    part: Any = saved.metrics.get("split", {}).get("train", {})
    said = part.get("sees_graph_before") if isinstance(part, dict) else None
    if not isinstance(said, str):
        raise ModelError(
            f"{saved.where('metrics.json')}: must say before when the model saw events (got nothing: it was trained by "
            "an early version). Say it with --trained-as-of, or train again."
        )
    return store.as_of(said).cut


def find_days(view: View, cut: int, number: int, steps_per_day: int) -> Days:
    """The latest days before a view's cut, and as many before the training cut.

    Args:
        view: What can be seen.
        cut: The training cut.
        number: How many days of each, at most.
        steps_per_day: In a store of steps.
    """
    store = view.store
    length = steps_per_day if store.unit == "step" else _SECONDS * stored_per_second(store.unit)
    first = store.manifest.time["first"]
    if first is None or first >= min(cut, view.cut):
        raise UsageError(
            f"monitor: the store must hold events from before the training cut, {store.date(cut)}, to compare with "
            "(got none). Use the store that the model was trained on, grown by gtea append."
        )
    if view.cut <= cut:
        raise UsageError(
            f"--as-of: must be after the training cut, {store.date(cut)} (got {store.date(view.cut)}). Append newer "
            "events, or give a later time."
        )
    stops = range(cut, max(first, cut - number * length), -length)
    reference = [_day(store, max(stop - length, first), stop, length) for stop in stops]
    last_start = (view.cut - 1) // length * length
    starts = [start for start in range(last_start, last_start - number * length, -length) if start + length > cut]
    recent = [_day(store, max(start, cut), min(start + length, view.cut), length) for start in starts]
    return Days(tuple(reversed(reference)), tuple(reversed(recent)), cut, length)


def _day(store: Store, start: int, stop: int, length: int) -> Day:
    """A day by name: its date, or its steps."""
    if store.unit == "step":
        return Day(start, stop, f"{start}" if length == 1 else f"{start} to {stop - 1}")
    return Day(start, stop, store.date(start)[:10])
