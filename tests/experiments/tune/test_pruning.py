"""The median rule, by example and against a plain reading of it."""

from __future__ import annotations

import statistics

from hypothesis import given
from hypothesis import strategies as st

from gtea.experiments.tune.pruning import MedianRule
from gtea.experiments.tune.trials import Trial


def trial(curve: list[float], state: str = "finished") -> Trial:
    return Trial(1, {}, state, curve, 0.0)  # type: ignore[arg-type]


def test_below_the_median_after_the_warm_up_is_given_up() -> None:
    rule, others = MedianRule(trials=3, epochs=2), [trial([0.2, 0.3, 0.9]), trial([0.5, 0.6, 0.6]), trial([0.7])]
    assert rule.prunes_at([0.1, 0.59], others, 10) == 1
    assert rule.prunes_at([0.1, 0.60], others, 10) is None
    assert rule.prunes_at([0.1], others, 10) is None  # still warming up
    assert rule.prunes_at([0.8, 0.1, 0.0], others, 10) is None  # its best counts, not its last
    assert rule.prunes_at([0.6, 0.6, 0.6], others, 10) == 2  # one that ended early keeps its 0.7
    assert rule.prunes_at([0.6, 0.6, 0.6], others, 3) is None  # the last epoch: nothing to spare


def test_only_finished_trials_set_the_mark() -> None:
    rule = MedianRule(trials=2, epochs=1)
    others = [trial([0.5]), trial([0.9], "pruned"), trial([0.9], "failed")]
    assert rule.prunes_at([0.1], others, 10) is None
    assert rule.prunes_at([0.1], [*others, trial([0.5])], 10) == 0


curves = st.lists(st.floats(0, 1), min_size=1, max_size=8)


@given(curves, st.lists(curves, min_size=1, max_size=6))
def test_agrees_with_a_look_at_each_epoch_and_never_prunes_the_best(
    own: list[float], others: list[list[float]]
) -> None:
    rule = MedianRule(trials=1, epochs=3)
    found = None
    for epoch in range(len(own)):
        marks = [max(curve[: epoch + 1]) for curve in others]
        if found is None and epoch >= 2 and max(own[: epoch + 1]) < statistics.median(marks):
            found = epoch
    stop = rule.prunes_at(own, [trial(curve) for curve in others], 100)
    assert stop == found
    if stop is not None:
        assert max(own[: stop + 1]) < max(map(max, others))
        # What comes after the epoch at which it is given up doesn't matter: a resumed trial may have gone on.
        assert rule.prunes_at(own[: stop + 1], [trial(curve) for curve in others], 100) == stop
