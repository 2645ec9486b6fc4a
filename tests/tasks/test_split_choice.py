"""By time is the rule; at random is for tables where a split by time could teach nothing."""

from __future__ import annotations

import numpy as np
import pytest

from gtea.errors import DataError, UsageError
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.tasks.labels import Labels
from gtea.tasks.split_choice import choose_split
from gtea.tasks.split_warnings import split_warnings
from gtea.tasks.splits import FRACTIONS, Split, temporal_split


def labels_of(store: Store, classes: str) -> Labels:
    nodes = np.array([store.node(f"a{i:03}") for i in range(len(classes))])
    names = tuple(sorted(set(classes)))
    return Labels(nodes, np.array([names.index(each) for each in classes]), names, None, {})


def store_of(begin: list[int], events: int = 10, gap: int = 1_000, later: int = 0) -> Store:
    """Account i has its first event at begin[i] and goes on; ``later`` events of the first account come at the end."""
    rows = [(f"a{i:03}", start + gap * k) for i, start in enumerate(begin) for k in range(events)]
    end = max(time for _, time in rows)
    rows += [("a000", end + 1 + k) for k in range(later)]
    return store_in_memory([src for src, _ in rows], ["shop"] * len(rows), [time for _, time in rows])


AT_ONCE = store_of(list(range(100)))
ONE_BY_ONE = store_of([5_000 * i for i in range(100)])
CLASSES = "xxxy" * 25


def members(split: Split) -> dict[str, set[int]]:
    return {name: set(part.index.tolist()) for name, part in split.parts.items()}


def test_accounts_that_come_one_by_one_are_split_by_time() -> None:
    labels = labels_of(ONE_BY_ONE, CLASSES)
    split = choose_split(labels, ONE_BY_ONE)
    assert members(split) == members(temporal_split(labels, ONE_BY_ONE))
    assert split.name == "temporal"
    assert not split.instead


def test_accounts_that_begin_at_once_are_split_at_random_and_a_warning_says_so() -> None:
    labels = labels_of(AT_ONCE, CLASSES)
    split = choose_split(labels, AT_ONCE)
    assert split.name == "random"
    assert {len(part) for part in split.parts.values()} == {60, 20}
    assert [part.classes["y"] for part in split.parts.values()] == [15, 5, 5]
    assert len({part.as_of for part in split.parts.values()}) == 1
    assert set.union(*members(split).values()) == set(range(100))
    found = {warning.code: warning for warning in split_warnings(split, AT_ONCE, labels)}
    assert found["random_split"].text.startswith(
        "accounts are split at random, because by time training sees the first"
    )
    assert "--split time" in found["random_split"].remedy
    assert members(split) != members(choose_split(labels, AT_ONCE, seed=1))


def test_whoever_asks_for_a_split_gets_it() -> None:
    at_once, one_by_one = labels_of(AT_ONCE, CLASSES), labels_of(ONE_BY_ONE, CLASSES)
    assert choose_split(at_once, AT_ONCE, "time").name == "temporal"
    assert choose_split(at_once, AT_ONCE, fractions=(0.5, 0.25, 0.25)).name == "temporal"
    split = choose_split(one_by_one, ONE_BY_ONE, "random")
    assert split.name == "random"
    assert "random_split" not in {warning.code for warning in split_warnings(split, ONE_BY_ONE, one_by_one)}
    with pytest.raises(UsageError, match=r"split\.fractions: are those of a split by time"):
        choose_split(one_by_one, ONE_BY_ONE, "random", fractions=(0.5, 0.25, 0.25))
    assert choose_split(one_by_one, ONE_BY_ONE, "random", fractions=list(FRACTIONS)).name == "random"


def test_a_part_with_one_class_is_no_reason_to_stop() -> None:
    labels = labels_of(ONE_BY_ONE, "x" * 70 + "y" * 30)
    split = choose_split(labels, ONE_BY_ONE)
    assert split.name == "random"
    assert split.instead == "a part has accounts of one class only"
    with pytest.raises(DataError, match="temporal split: the train part must hold accounts of at least two classes"):
        choose_split(labels, ONE_BY_ONE, "time")


def test_too_few_labels_for_a_random_split() -> None:
    few = labels_of(AT_ONCE, "xyxyxyxy")
    assert choose_split(few, AT_ONCE).name == "temporal"
    with pytest.raises(DataError, match="temporal split: the train part"):
        choose_split(labels_of(ONE_BY_ONE, "xxxxyy"), ONE_BY_ONE)


def test_the_future_does_not_change_the_choice() -> None:
    labels = labels_of(ONE_BY_ONE, CLASSES)
    cut = 5_000 * 99 + 10_000
    crowded = store_of([5_000 * i for i in range(100)], later=50_000)
    assert choose_split(labels_of(crowded, CLASSES), crowded).name == "random"
    there = choose_split(labels_of(crowded, CLASSES), crowded, as_of=cut)
    assert members(there) == members(choose_split(labels, ONE_BY_ONE, as_of=cut))
