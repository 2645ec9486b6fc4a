"""The days before the training cut and the latest ones, never one that is both."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gtea.errors import ModelError, UsageError
from gtea.models.model_folder import SavedModel, load_model
from gtea.monitoring.days import find_days, training_cut
from gtea.store.store import Store

DAY = 86_400


def test_days_are_of_utc_and_the_last_ends_at_the_cut(store_of: Callable[..., Store]) -> None:
    store = store_of([("a", "b", DAY * day + 3600, 1.0) for day in range(30)], time_unit="s", allow_any_date=True)
    days = find_days(store.as_of(), 10 * DAY + 7200, 4, 1)
    assert [day.name for day in days.recent] == ["1970-01-27", "1970-01-28", "1970-01-29", "1970-01-30"]
    assert [(day.start, day.stop) for day in days.recent[-2:]] == [(28 * DAY, 29 * DAY), (29 * DAY, 29 * DAY + 3601)]
    assert [(day.start - days.training_cut, day.stop - days.training_cut) for day in days.reference] == [
        (-k * DAY, -(k - 1) * DAY) for k in (4, 3, 2, 1)
    ]


def test_no_day_reaches_over_the_training_cut_or_before_the_data(store_of: Callable[..., Store]) -> None:
    store = store_of([("a", "b", time, 1.0) for time in range(5, 40)])
    days = find_days(store.as_of("38"), 12, 5, 10)
    assert [(day.start, day.stop, day.name) for day in days.reference] == [(5, 12, "5 to 11")]
    assert [(day.start, day.stop) for day in days.recent] == [(12, 20), (20, 30), (30, 38)]


def test_what_can_not_be_compared(store_of: Callable[..., Store]) -> None:
    store = store_of([("a", "b", time, 1.0) for time in range(5, 40)])
    with pytest.raises(UsageError, match="monitor: the store must hold events from before the training cut, 5,"):
        find_days(store.as_of(), 5, 3, 1)
    with pytest.raises(UsageError, match="--as-of: must be after the training cut, 30"):
        find_days(store.as_of("30"), 30, 3, 1)


def test_the_training_cut_is_what_the_model_says(trained: tuple[Path, Path]) -> None:
    store, saved = Store.open(trained[0]), load_model(trained[1])
    assert training_cut(saved, store, None) == saved.metrics["split"]["train"]["as_of"]
    assert training_cut(saved, store, "77") == 77
    old = SavedModel({}, {}, {}, {"threshold": 0.5}, {})
    with pytest.raises(ModelError, match="must say before when the model saw events"):
        training_cut(old, store, None)
