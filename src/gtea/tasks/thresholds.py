"""Decision thresholds: from which probability on an example is an alert, and what to expect of the alerts.

An example is an alert if its probability is at or above the threshold. There are three rules:

- ``macro_f1``: the highest macro-F1 on labelled examples, or one half (``half``) if the gain may be chance.
- ``budget``: as many alerts as can be investigated.
- ``precision``: as many alerts as possible, as long as a wanted share of them is positive.

Observed precision and recall are those of labelled examples, with Wilson's 95 % interval. A threshold that was chosen
on the same examples looks a little better there than it is. Expected precision and recall come from the probabilities
alone: they are right if these are calibrated.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gtea.errors import DataError, UsageError
from gtea.tasks.checked_json import damaged, read_count, read_number, read_object
from gtea.tasks.metrics import (
    Floats,
    checked_scores,
    counts_at_thresholds,
    require_examples,
    require_finite,
    require_probabilities,
)
from gtea.tasks.uncertainty import Interval

Rule = Literal["macro_f1", "budget", "precision", "half"]
_Z = 1.959963984540054
"""The 97.5 % quantile of the normal distribution."""
_NUM_RESAMPLES = 1000
_FIELDS = (
    *("value", "rule", "alert_share", "num_alerts", "expected_precision", "expected_recall"),
    *("precision", "recall", "num_labelled"),
)


@dataclass(frozen=True)
class Threshold:
    """A decision threshold, and what to expect of it."""

    value: float
    """The lowest probability that is an alert."""
    rule: Rule
    alert_share: float
    """The share of alerts among the examples that the threshold was chosen on."""
    num_alerts: int
    """The number of alerts among them. With a budget, ties can make it larger than the budget."""
    expected_precision: float | None
    """The mean probability of the alerts; None if there are none."""
    expected_recall: float | None
    """The sum of the probabilities of the alerts, as a share of that of all examples; None if all are 0."""
    precision: Interval | None
    """The share of positives among the labelled alerts; None if there are none."""
    recall: Interval | None
    """The share of alerts among the labelled positives; None if there are none."""
    num_labelled: int
    """The number of labelled examples that ``precision`` and ``recall`` come from."""

    def for_prevalence(self, sampled: float, true: float) -> Threshold:
        """The same decisions in a population with another share of positives than the examples.

        Odds of all probabilities change by one factor. Recall stays, precision follows.

        Args:
            sampled: The share of positives that the probabilities were right for.
            true: The share in the population.
        """
        factor = true / (1 - true) / (sampled / (1 - sampled))

        def changed(share: float) -> float:
            # In this order, a share of 1 stays 1.
            return factor * share / (factor * share + (1 - share))

        precision = self.precision and Interval(*map(changed, asdict(self.precision).values()))
        expected = None if self.expected_precision is None else changed(self.expected_precision)
        share = self.alert_share
        if expected and self.expected_recall:
            share = min(self.expected_recall * true / expected, 1.0)
        return replace(
            self, value=changed(self.value), precision=precision, expected_precision=expected, alert_share=share
        )

    def to_json(self) -> dict[str, Any]:
        """For the JSON of a model."""
        return asdict(self)

    @staticmethod
    def from_json(content: object) -> Threshold:
        """From the JSON of a model. Raises a ModelError for content that ``to_json`` can't have returned."""
        fields = read_object("threshold", content, _FIELDS)
        counts = {name: read_count(f"threshold.{name}", fields[name]) for name in ("num_alerts", "num_labelled")}
        shares = {name: read_number(f"threshold.{name}", fields[name], 0, 1) for name in ("value", "alert_share")}
        return Threshold(
            rule=_rule(fields["rule"]),
            value=shares["value"],
            alert_share=shares["alert_share"],
            num_alerts=counts["num_alerts"],
            expected_precision=_optional_share(fields, "expected_precision"),
            expected_recall=_optional_share(fields, "expected_recall"),
            precision=_optional_interval(fields, "precision"),
            recall=_optional_interval(fields, "recall"),
            num_labelled=counts["num_labelled"],
        )


def macro_f1_threshold(truth: ArrayLike, probabilities: ArrayLike, *, seed: int = 0) -> Threshold:
    """Return the threshold with the highest macro-F1 on labelled examples, or one half if the gain may be chance.

    Candidates are one half and the middle between each two neighbouring probabilities. On a tie the one nearest to one
    half wins. It must be better than one half by more than one standard error: that of the gain in 1000 bootstrap
    resamples which keep the number of positives. Of the guards that were tried in simulations with 5 to 150 positives,
    this one costs the least macro-F1 on new data.

    Args:
        truth: Whether each example is positive.
        probabilities: The probability of the positive class.
        seed: The seed of the bootstrap.
    """
    positive, probs = checked_scores(truth, probabilities)
    require_probabilities(probs)
    require_examples(positive, "a macro-F1 threshold")
    values, scores = _macro_f1_candidates(positive, probs)
    # Equal fractions can differ by rounding.
    best = values[scores >= scores.max() - 1e-12]
    value = float(best[np.argmin(np.abs(best - 0.5))])
    if value == 0.5 or _may_be_chance(positive, probs, value, seed):
        return _threshold(0.5, "half", probs, positive, probs)
    return _threshold(value, "macro_f1", probs, positive, probs)


def half_threshold(truth: ArrayLike, probabilities: ArrayLike) -> Threshold:
    """Return one half, described by labelled examples: for calibrated probabilities, the most accurate threshold.

    The arguments are those of ``macro_f1_threshold``.
    """
    positive, probs = checked_scores(truth, probabilities)
    require_probabilities(probs)
    return _threshold(0.5, "half", probs, positive, probs)


def budget_threshold(
    scores_of_all: ArrayLike, budget: int, *, truth: ArrayLike | None = None, probabilities: ArrayLike | None = None
) -> Threshold:
    """Return the threshold for a number of alerts: the budget-th highest probability, or the lowest if there are fewer.

    Examples that tie with it are alerts too, and ``num_alerts`` counts them.

    Args:
        scores_of_all: The calibrated probabilities of all examples that compete for the budget.
        budget: How many alerts can be investigated.
        truth: Whether labelled validation examples are positive, if there are any. They need not be among the scores.
        probabilities: The calibrated probabilities of the labelled examples.
    """
    if budget < 1:
        raise UsageError(f"budget: must be at least 1 alert (got {budget}). Try 100.")
    if (truth is None) != (probabilities is None):
        raise UsageError("truth, probabilities: must be passed together (got one of them). Pass both or none.")
    scores = np.asarray(scores_of_all, dtype=np.float64)
    if scores.ndim != 1 or not len(scores):
        raise DataError(
            f"scores_of_all: must be a list, not empty (got shape {scores.shape}). Score some accounts first."
        )
    require_finite(scores)
    require_probabilities(scores)
    place = max(len(scores) - budget, 0)
    value = float(np.partition(scores, place)[place])
    if truth is None or probabilities is None:
        return _threshold(value, "budget", scores, np.zeros(0, dtype=bool), np.zeros(0))
    positive, probs = checked_scores(truth, probabilities)
    require_probabilities(probs)
    return _threshold(value, "budget", scores, positive, probs)


def precision_threshold(
    truth: ArrayLike,
    probabilities: ArrayLike,
    precision: float,
    *,
    min_alerts: int = 10,
    odds: float = 1.0,
) -> Threshold:
    """Return the lowest threshold with at least the wanted precision on labelled examples.

    It is the probability of the last labelled alert, not a value in the gap below it: nothing is known of the gap. The
    wanted precision is compared with the observed one; look at its interval before you promise it to anybody.

    Args:
        truth: Whether each example is positive.
        probabilities: The probability of the positive class.
        precision: The share of alerts that must be positive.
        min_alerts: The number of labelled alerts that a precision must rest on. Of three alerts, it is chance.
        odds: What the odds of positives are multiplied by in the population, if the examples were sampled by class. The
            wanted precision is that of the population; the result still describes the examples.
    """
    if not 0 < precision <= 1 or min_alerts < 1:
        raise UsageError(
            "precision, min_alerts: must be a share above 0 and a number from 1 "
            f"(got {precision} and {min_alerts}). Try 0.5 and 10."
        )
    positive, probs = checked_scores(truth, probabilities)
    require_probabilities(probs)
    hits, false_alarms = counts_at_thresholds(positive, probs)
    alerts = hits + false_alarms
    observed = np.where(alerts >= min_alerts, odds * hits / (odds * hits + false_alarms), 0)
    # A product of shares and counts can miss an integer by rounding.
    reached = np.flatnonzero(observed >= precision - 1e-12)
    if not len(reached):
        best = int(np.argmax(observed))
        raise DataError(
            f"precision: {precision:g} is not reached with at least {min_alerts} alerts among "
            f"{len(probs):,} labelled examples "
            f"(got at most {observed[best]:.3g}, with {alerts[best]:,.0f} alerts). "
            "Ask for a lower precision, or add labels."
        )
    return _threshold(float(np.unique(probs)[::-1][reached[-1]]), "precision", probs, positive, probs)


def _threshold(
    value: float, rule: Rule, scores: Floats, positive: NDArray[np.bool_], probabilities: Floats
) -> Threshold:
    """Describe a threshold for some scores, by labelled examples that may be others."""
    above, labelled_above = scores >= value, probabilities >= value
    hits = float((positive & labelled_above).sum())
    return Threshold(
        value,
        rule,
        alert_share=float(above.mean()),
        num_alerts=int(above.sum()),
        expected_precision=float(scores[above].mean()) if above.any() else None,
        expected_recall=min(float(scores[above].sum() / scores.sum()), 1.0) if scores.any() else None,
        precision=_wilson(hits, float(labelled_above.sum())),
        recall=_wilson(hits, float(positive.sum())),
        num_labelled=len(positive),
    )


def _macro_f1_candidates(positive: NDArray[np.bool_], probs: Floats) -> tuple[Floats, Floats]:
    """Return the thresholds to choose from, and the macro-F1 of each."""
    hits, false_alarms = counts_at_thresholds(positive, probs)
    distinct = np.unique(probs)[::-1]
    upper, lower = distinct[:-1], distinct[1:]
    middle = (upper + lower) / 2
    # Two neighbouring floats have nothing between them.
    middle = np.where(middle > lower, middle, upper)
    at_half = probs >= 0.5
    hits = np.append(hits[:-1], (at_half & positive).sum())
    false_alarms = np.append(false_alarms[:-1], (at_half & ~positive).sum())
    return np.append(middle, 0.5), _macro_f1(hits, false_alarms, int(positive.sum()), int((~positive).sum()))


def _macro_f1(hits: NDArray[Any], false_alarms: NDArray[Any], num_positive: int, num_negative: int) -> Floats:
    alerts = hits + false_alarms
    of_positive = 2 * hits / (num_positive + alerts)
    of_negative = 2 * (num_negative - false_alarms) / (2 * num_negative + num_positive - alerts)
    return np.asarray((of_positive + of_negative) / 2)


def _may_be_chance(positive: NDArray[np.bool_], probs: Floats, value: float, seed: int) -> bool:
    """Whether the gain in macro-F1 over one half is at most its standard error.

    Only the numbers of examples below, between and above the two thresholds matter, so these are resampled.
    """
    low, high = min(value, 0.5), max(value, 0.5)
    zone = (probs >= low).astype(np.int64) + (probs >= high)
    rng = np.random.default_rng(seed)
    counts = [np.bincount(zone[positive], minlength=3), np.bincount(zone[~positive], minlength=3)]
    drawn = [rng.multinomial(count.sum(), count / count.sum(), _NUM_RESAMPLES) for count in counts]

    def gain(hits: NDArray[np.int64], false_alarms: NDArray[np.int64]) -> Floats:
        sizes = int(counts[0].sum()), int(counts[1].sum())
        at_high = _macro_f1(hits[..., 2], false_alarms[..., 2], *sizes)
        at_low = _macro_f1(hits[..., 1] + hits[..., 2], false_alarms[..., 1] + false_alarms[..., 2], *sizes)
        return at_low - at_high if value < 0.5 else at_high - at_low

    return bool(gain(counts[0], counts[1]) <= gain(drawn[0], drawn[1]).std())


def _wilson(hits: float, total: float) -> Interval | None:
    """Wilson's 95 % interval of a share. Unlike that of the normal distribution, it fits a share of 0 or 1."""
    if not total:
        return None
    share, extra = hits / total, _Z**2 / total
    centre = (share + extra / 2) / (1 + extra)
    radius = _Z * (share * (1 - share) / total + extra / (4 * total)) ** 0.5 / (1 + extra)
    return Interval(share, max(0.0, min(centre - radius, share)), min(1.0, max(centre + radius, share)))


def _rule(content: object) -> Rule:
    match content:
        case "macro_f1" | "budget" | "precision" | "half":
            return content
        case _:
            raise damaged("threshold.rule", f"must be one of {', '.join(get_args(Rule))}", content)


def _optional_share(fields: Mapping[str, object], name: str) -> float | None:
    return None if fields[name] is None else read_number(f"threshold.{name}", fields[name], 0, 1)


def _optional_interval(fields: Mapping[str, object], name: str) -> Interval | None:
    content = fields[name]
    if content is None:
        return None
    subject = f"threshold.{name}"
    bounds = read_object(subject, content, ("value", "low", "high"))
    value, low, high = (read_number(f"{subject}.{each}", bounds[each], 0, 1) for each in ("value", "low", "high"))
    if not low <= value <= high:
        raise damaged(subject, "must have its value between low and high", content)
    return Interval(value, low, high)
