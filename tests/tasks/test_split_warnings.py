"""Warnings: each is given where it is true, with its figures, and a sensible split gets none."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from gtea.sampling.negatives import NegativeSampler
from gtea.store.memory import store_in_memory
from gtea.store.store import Store
from gtea.tasks.labels import Labels
from gtea.tasks.link_split import LinkProtocol, LinkSplit, split_links, with_negatives
from gtea.tasks.split_warnings import SplitWarning, split_warnings
from gtea.tasks.splits import Split, stratified_folds, temporal_split, validation_split

EVENTS = 4


def store_of_times(times: Sequence[Sequence[int]], unit: str = "s") -> Store:
    """Account a00000, a00001, ... pays the same partner at its times."""
    src = [f"a{i:05}" for i, own in enumerate(times) for _ in own]
    return store_in_memory(src, ["partner"] * len(src), [time for own in times for time in own], unit=unit)


def labels_of(store: Store, words: Sequence[str]) -> Labels:
    classes = tuple(sorted(set(words)))
    nodes = np.array([store.node(f"a{i:05}") for i in range(len(words))])
    return Labels(nodes, np.array([classes.index(word) for word in words]), classes, None, {})


def one_after_another(count: int, events: Callable[[int], int] = lambda i: EVENTS) -> list[list[int]]:
    """Account i begins at 100 i and has its events, one a second."""
    return [[100 * i + second for second in range(events(i))] for i in range(count)]


def alternating(count: int, classes: str = "xy") -> list[str]:
    return [classes[i % len(classes)] for i in range(count)]


def by_time(times: Sequence[Sequence[int]], words: Sequence[str], unit: str = "s") -> dict[str, SplitWarning]:
    store = store_of_times(times, unit)
    labels = labels_of(store, words)
    return by_code(temporal_split(labels, store), store, labels)


def by_code(split: Split | LinkSplit, store: Store, labels: Labels | None = None) -> dict[str, SplitWarning]:
    found = split_warnings(split, store, labels)
    assert len({warning.code for warning in found}) == len(found)
    return {warning.code: warning for warning in found}


def test_a_sensible_split_gets_none() -> None:
    assert by_time(one_after_another(300), alternating(300)) == {}


def test_a_warning_is_ready_for_json() -> None:
    warning = SplitWarning("code", "something is so", "Do that.")
    assert json.loads(json.dumps(warning.to_json())) == {
        "code": "code",
        "text": "something is so",
        "remedy": "Do that.",
    }


# Classes


def words_with_shares(sizes: Sequence[int], positives: Sequence[int]) -> list[str]:
    return [
        word for size, few in zip(sizes, positives, strict=True) for word in ["bad"] * few + ["good"] * (size - few)
    ]


def test_shares_that_differ() -> None:
    found = by_time(one_after_another(1_000), words_with_shares((600, 200, 200), (228, 158, 112)))
    assert set(found) == {"class_shares"}
    assert found["class_shares"].text == (
        "'bad' is 38 % of train, 79 % of validation and 56 % of test, which is more than chance: "
        "the figures of one part don't predict those of another"
    )
    assert "--folds 5" in found["class_shares"].remedy


@pytest.mark.parametrize(
    ("sizes", "positives"),
    [
        ((300, 100, 100), (114, 45, 44)),  # as often by chance
        ((12_000, 4_000, 4_000), (4_800, 1_600, 1_760)),  # not by chance, and too small to matter
    ],
)
def test_shares_that_differ_by_chance_or_too_little(sizes: Sequence[int], positives: Sequence[int]) -> None:
    assert by_time(one_after_another(sum(sizes)), words_with_shares(sizes, positives)) == {}


def test_a_rare_class_that_is_several_times_as_frequent() -> None:
    found = by_time(one_after_another(10_000), words_with_shares((6_000, 2_000, 2_000), (60, 60, 40)))
    assert found["class_shares"].text.startswith("'bad' is 1 % of train, 3 % of validation and 2 % of test")


def test_with_many_classes_the_one_that_differs_most_is_named() -> None:
    words = [*alternating(300, "abc"), *(["a"] * 40 + ["b"] * 30 + ["c"] * 30), *(["a"] * 10 + ["b"] * 20 + ["c"] * 70)]
    text = by_time(one_after_another(500), words)["class_shares"].text
    assert text.startswith(
        "classes are spread unevenly over the parts ('c' is 33 % of train, 30 % of validation and 70 % of test)"
    )


def test_classes_that_parts_lack() -> None:
    words = ["b" if i in (30, 70) else "c" if i in (250, 260) else "a" if i % 2 else "z" for i in range(300)]
    found = by_time(one_after_another(300), words)
    assert found["missing_classes"].text == (
        "train has no account of 'c', validation has no account of 'b' and 'c' and test has no account of 'b': "
        "a class can't be learnt without examples"
    )
    assert found["missing_classes"].remedy.startswith("--folds 5 spreads classes evenly")


def test_of_many_missing_classes_some_are_named() -> None:
    words = [f"c{i:03}" if i < 9 else "xy"[i % 2] for i in range(300)]
    text = by_time(one_after_another(300), words)["missing_classes"].text
    names = "'c000', 'c001', 'c002', 'c003', 'c004' and 4 more classes"
    assert text == (
        f"validation has no account of {names} and test has no account of {names}: "
        "figures don't show how well these classes are found"
    )


def test_few_examples_of_a_class() -> None:
    found = by_time(one_after_another(300), ["bad" if i % 3 == 0 else "good" for i in range(300)])
    assert set(found) == {"few_examples"}
    assert found["few_examples"].text == (
        "validation has 20 accounts of 'bad' and test has 20 accounts of 'bad': "
        "rates measured on so few are uncertain by up to 22 percentage points"
    )
    assert found["few_examples"].remedy == "--folds 5 tests every labelled account; or add labels."


def test_the_stated_uncertainty_is_that_of_a_rate_of_one_half() -> None:
    # Of 20 fair coins, 19 in 20 throws have a share of heads within 22 points of one half.
    heads = np.random.default_rng(0).binomial(20, 0.5, 100_000) / 20
    assert np.mean(abs(heads - 0.5) <= 0.22) == pytest.approx(0.95, abs=0.02)


def test_thirty_of_a_class_are_enough_and_29_are_not() -> None:
    words = alternating(300)
    assert by_time(one_after_another(300), words) == {}
    words[299] = "x"  # the test part has 31 and 29
    assert by_time(one_after_another(300), words)["few_examples"].text.startswith("test has 29 accounts of 'y':")


def test_few_accounts_of_many_classes() -> None:
    assert by_time(one_after_another(300), alternating(300, "abc")) == {}
    text = by_time(one_after_another(240), alternating(240, "abc"))["few_examples"].text
    assert text.startswith("validation has 48 accounts of 3 classes and test has 48 accounts of 3 classes:")


# Time


def naive_median(times: Sequence[Sequence[int]], accounts: range, cut: int) -> float:
    return float(np.median([sum(time < cut for time in times[i]) for i in accounts]))


def test_histories_that_differ_in_length() -> None:
    times = one_after_another(300, lambda i: 6 if i < 180 else 5 if i < 240 else 3)
    found = by_time(times, alternating(300))
    assert set(found) == {"history_lengths"}
    cuts = {range(180): 18_000, range(180, 240): 24_000, range(240, 300): 30_000}
    assert [naive_median(times, part, cut) for part, cut in cuts.items()] == [6, 5, 3]
    assert found["history_lengths"].text == (
        "the median number of events of an account is 6 in train, 5 in validation and 3 in test, as of each part's "
        "cut: what is learnt from histories of one length need not hold for another"
    )
    assert found["history_lengths"].remedy == "Compare with --folds 5, where all parts see the same graph."


def test_histories_of_nearly_the_same_length() -> None:
    assert by_time(one_after_another(300, lambda i: 5 if i < 180 else 3), alternating(300)) == {}


def test_medians_that_differ_by_chance() -> None:
    # One account more or less with a second event makes the median 1 or 2.
    times = one_after_another(300, lambda i: 2 if i % 2 or i == 240 else 1 if i > 239 or i % 10 else 2)
    assert naive_median(times, range(240, 300), 30_000) == 2
    assert by_time(times, alternating(300, "xyyx")) == {}


def test_histories_are_counted_as_of_the_cut_of_each_part() -> None:
    # All accounts have ten events in the end, but those of the training part have two of them before its cut.
    times = [[100 * i, 100 * i + 1, *range(40_000 + i, 48_000 + i, 1_000)] for i in range(300)]
    found = by_time(times, alternating(300))
    assert "2 in train, 2 in validation and 10 in test" in found["history_lengths"].text
    assert found["history_lengths"].remedy.endswith("or give an earlier --as-of T.")


@pytest.mark.parametrize("directed", [False, True])
def test_hubs_and_self_loops_are_counted_like_a_plain_loop_does(
    random_store: Callable[..., Store], directed: bool
) -> None:
    store = random_store(num_events=3_000, num_accounts=300, directed=directed)
    nodes = np.arange(store.num_nodes)[np.diff(store.arrays.node_offset) > 0]
    labels = Labels(nodes, np.arange(len(nodes)) % 2, ("x", "y"), None, {})
    split = temporal_split(labels, store)
    arrays, counts = store.arrays, {}
    for name, part in split.parts.items():
        ends = np.repeat(np.stack([arrays.edge_a, arrays.edge_b]), np.diff(arrays.edge_offset), axis=1)
        ends = ends[:, arrays.event_time < part.as_of]
        counts[name] = np.median([(ends == node).any(axis=0).sum() for node in nodes[part.index]])
    text = by_code(split, store, labels)["history_lengths"].text
    assert _listed([f"{count:g} in {name}" for name, count in counts.items()]) in text


def _listed(words: list[str]) -> str:
    return f"{', '.join(words[:-1])} and {words[-1]}"


def everybody_at_once(accounts: int = 300, events: int = 100) -> list[list[int]]:
    """All accounts begin within 20 minutes, and go on for two days."""
    pace = 2 * 86_400 // events
    return [[4 * i + pace * event for event in range(events)] for i in range(accounts)]


def test_a_split_by_time_in_which_everybody_begins_at_once() -> None:
    times = everybody_at_once()
    found = by_time(times, alternating(300))
    cut = 4 * 180
    share = sum(time < cut for own in times for time in own) / sum(map(len, times))
    assert share == 0.006
    assert found["early_training"].text == (
        "training sees the first 12 minutes of 48 hours (0.6 % of the events), and 100 % of its accounts have a single "
        "event by then: its accounts have only just begun, and there is little to learn from"
    )
    assert found["early_training"].remedy.startswith("--split random lets every part see the whole graph")


def test_a_store_that_counts_steps() -> None:
    assert (
        "training sees the first 720 steps of "
        in by_time(everybody_at_once(), alternating(300), "step")["early_training"].text
    )


def test_accounts_that_have_begun_by_the_cut_though_most_of_it_is_over() -> None:
    # One early event each, the others after the test part began: 60 % of accounts have one event before the cut.
    times = [[100 * i, 100 * i + 30_000] for i in range(300)]
    text = by_time(times, alternating(300))["early_training"].text
    assert "(30 % of the events), and 100 % of its accounts have a single event by then" in text


def test_accounts_that_never_have_a_second_event_are_not_cut_short() -> None:
    assert by_time(one_after_another(300, lambda i: 1), alternating(300)) == {}


@pytest.mark.parametrize("late", [0, 50])
def test_nothing_after_the_cut_changes_a_warning(late: int) -> None:
    times = everybody_at_once(events=60)
    store = store_of_times([[*own, *(10**6 + i + step for step in range(late))] for i, own in enumerate(times)])
    labels = labels_of(store, alternating(300))
    found = split_warnings(temporal_split(labels, store, as_of=150_000), store, labels)
    earlier = store_of_times([[time for time in own if time < 150_000] for own in times])
    expected = temporal_split(labels, earlier, as_of=150_000)
    assert found == split_warnings(expected, earlier, labels)
    assert {warning.code for warning in found} == {"early_training", "history_lengths"}


def test_folds_get_no_warning_about_time() -> None:
    store = store_of_times(everybody_at_once())
    labels = labels_of(store, alternating(300))
    assert all(split_warnings(fold, store, labels) == () for fold in stratified_folds(labels, store))


def test_the_remedies_of_folds_do_not_name_folds() -> None:
    store = store_of_times(one_after_another(120))
    labels = labels_of(store, ["c" if i < 3 else "xy"[i % 2] for i in range(120)])
    found = by_code(stratified_folds(labels, store)[4], store, labels)
    assert set(found) == {"few_examples", "missing_classes"}
    assert not any("--folds" in warning.remedy for warning in found.values())
    assert found["few_examples"].remedy == "Use the mean over all folds, or add labels."


def test_a_split_without_test_part() -> None:
    store = store_of_times(one_after_another(80))
    labels = labels_of(store, alternating(80))
    found = by_code(validation_split(labels, store), store, labels)
    assert {code: warning.remedy for code, warning in found.items()} == {"few_examples": "Add labels."}


# Links


def old_and_new(event: int) -> int:
    """Every second event is of a new pair, the others of 100 old ones."""
    return event if event % 2 else event % 200


def links(times: Sequence[int], pair: Callable[[int], int] = old_and_new, **options: Any) -> tuple[LinkSplit, Store]:
    """One event at each of the times, between accounts of which one has many partners."""
    pairs = [pair(event) for event in range(len(times))]
    store = store_in_memory([f"u{number % 40}" for number in pairs], [f"v{number}" for number in pairs], times)
    return with_negatives(store, split_links(store, **options)), store


@pytest.mark.parametrize(("windows", "protocol"), [(6, "temporal"), (1, "temporal"), (20, "temporal"), (1, "paper")])
def test_sensible_links_get_none(windows: int, protocol: LinkProtocol) -> None:
    assert by_code(*links(range(0, 40_000, 10), train_windows=windows, protocol=protocol)) == {}


def test_a_test_window_that_is_much_longer() -> None:
    # An event a day; of the last 40, which are the test part, one in three days.
    times = np.cumsum([86_400] * 360 + [3 * 86_400] * 40)
    found = by_code(*links(times.tolist(), train_windows=6))
    assert set(found) == {"window_lengths"}
    assert found["window_lengths"].text == (
        "the test window covers 117 days, validation 42 days and each of 6 training windows about 20 days: more pairs "
        "meet in a longer window, so figures and threshold need not carry over"
    )
    assert found["window_lengths"].remedy == (
        "An earlier --as-of T leaves out the time when events became rare, or --set split.train_windows=1 makes "
        "training windows more like the test window."
    )


def test_a_test_window_that_is_much_shorter() -> None:
    times = np.cumsum([86_400] * 360 + [3_600] * 40)
    found = by_code(*links(times.tolist()))
    assert found["window_lengths"].text.startswith(
        "the test window covers 39 hours, validation 39 days and the training window about 120 days"
    )
    assert found["window_lengths"].remedy.startswith(
        "A later --graph-until T leaves out the time when events were rare,"
    )
    paper = by_code(*links(times.tolist(), protocol="paper"))
    assert paper["window_lengths"].remedy == "A later --graph-until T leaves out the time when events were rare."


def test_few_pairs() -> None:
    found = by_code(*links(range(200)))
    assert set(found) == {"few_examples"}
    assert found["few_examples"].text.startswith("validation has 20 pairs and test has 20 pairs: rates")
    assert "--graph-until" in found["few_examples"].remedy


def test_pairs_that_have_all_met_before() -> None:
    split, store = links(range(4_000), lambda event: event % 150, train_windows=2)
    found = by_code(split, store)
    assert set(found) == {"repeated_pairs"}
    assert found["repeated_pairs"].text == (
        "150 of 150 test pairs (100 %) have met before and no negative has: naming the pairs that have met is "
        "100 % accurate, and the score says little about new pairs"
    )
    # What the text says of negatives.
    view = store.as_of(split.test.as_of)
    drawn = NegativeSampler(view).draw(split.test.src, np.arange(len(split.test)))
    assert not any(len(view.history(int(u), int(v))) for u, v in zip(split.test.src, drawn, strict=True))


def test_pairs_that_are_all_new_get_none() -> None:
    assert by_code(*links(range(4_000), lambda event: event)) == {}
