"""Calibration: class probabilities that agree with observed frequencies.

A network is usually too sure of its predictions. A calibration, fitted on the validation part, maps its probabilities
to better ones:

- ``temperature``: scales log odds around those of the class shares in training. Any number of classes; one parameter.
  The mean probability of a rare class stays low, whereas scaling around 0 moves it towards one half.
- ``sigmoid`` (Platt 1999): scales and shifts log odds. Two classes; two parameters.
- ``isotonic`` (Zadrozny and Elkan 2002): any ascending curve. Two classes; as many parameters as the data support.
- ``none``: changes nothing.

For two classes, none of them changes the ranking of the examples. ``fit_calibration`` tries these:

| classes | validation part | candidates |
|---|---|---|
| two | at least 1000 examples, at least 100 of each class, from the time of training | isotonic, sigmoid |
| two | fewer or from a later time (``later``), but at least 30 of each class | sigmoid, temperature |
| two | fewer than 30 of a class | temperature |
| two | other class shares than what will be scored (``keep_prior``) | temperature |
| more | any | temperature |

What will be scored is later still than a later validation part. The details of an isotonic curve don't last that long,
a slope and a shift do.

A validation part with other class shares says little about what will be scored, so its temperature is drawn to 1 more
strongly. A temperature below 1, which makes a model more sure, needs at least 1000 examples. The candidate with the
highest log-likelihood in 5-fold cross-validation wins. It is ``none`` if no log-likelihood is higher than that of the
uncalibrated probabilities, or if all examples are of one class.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gtea.errors import ModelError
from gtea.tasks.checked_json import damaged, read_number, read_numbers, read_object
from gtea.tasks.metrics import Floats, log_likelihood
from gtea.tasks.priors import checked_shares, checked_targets, class_table, correct_prior, finite_log, softmax

Kind = Literal["none", "temperature", "sigmoid", "isotonic"]
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "none": (),
    "temperature": ("prior", "temperature"),
    "sigmoid": ("slope", "intercept"),
    "isotonic": ("knots", "values", "mixed"),
}
_MANY, _MANY_OF_A_CLASS, _FEW_OF_A_CLASS = 1000, 100, 30
_NUM_FOLDS = 5
_LEAST = 1e-12
"""Added to probabilities before logarithms are taken: a 0 is rounded, and must not set the scale for all others."""
_MAX_TEMPERATURE = 20.0
_SHRINKAGE, _STRONG_SHRINKAGE = 4.0, 100.0
"""The weight of the prior that draws a temperature to 1. The second is for examples with other class shares than what
will be scored: they say less about how sure a model may be there, too."""
_SLOPES = 1e-3, 1e9
"""A slope below the first is negative or 0 but for chance: the model can't rank, and must not be inverted."""
_MAX_INTERCEPT = 1e12
_MIXED = 1e-3
"""Mixing in the input may change the mean probability of a class by this part of itself at most."""


@dataclass(frozen=True)
class Calibration:
    """A map from class probabilities to calibrated ones. Only the fields of its kind have a meaning."""

    kind: Kind = "none"
    prior: tuple[float, ...] = ()
    """temperature: the share of each class in training."""
    temperature: float = 1.0
    """temperature: what log odds are divided by. Above 1, the model was too sure."""
    slope: float = 1.0
    """sigmoid: the factor of the log odds."""
    intercept: float = 0.0
    """sigmoid: what is added to the log odds."""
    knots: tuple[float, ...] = ()
    """isotonic: probabilities of the second class, ascending."""
    values: tuple[float, ...] = ()
    """isotonic: the calibrated probability at each knot. The curve is linear between knots and constant beyond them."""
    mixed: float = 0.0
    """isotonic: the share of the input in the result. The curve has flat pieces, and without this, they would be ties.
    """

    def apply(self, probabilities: ArrayLike) -> Floats:
        """Return calibrated probabilities in the shape of the input.

            temperature:  p'_c = prior_c (p_c / prior_c)^(1 / T), scaled to sum to 1
            sigmoid:      logit p' = slope logit p + intercept
            isotonic:     p' = (1 - mixed) curve(p) + mixed p

        The result is finite for probabilities of 0 and 1.

        Args:
            probabilities: One row per example and one column per class, or a list: the probabilities of the second of
                two classes.
        """
        given = np.asarray(probabilities, dtype=np.float64)
        table = class_table(given)
        if not self.fits(table.shape[1]):
            raise ModelError(
                f"calibration: is for {len(self.prior) or 2} classes (got probabilities of {table.shape[1]}). "
                "Use it with the model that it was fitted for."
            )
        calibrated = self._calibrated(table)
        return calibrated[:, 1] if given.ndim == 1 else calibrated

    def with_half_the_shift(self) -> Calibration:
        """The same with half of what a sigmoid adds to log odds."""
        return replace(self, intercept=self.intercept / 2)

    def fits(self, num_classes: int) -> bool:
        """Whether it can be applied to probabilities of this number of classes."""
        return num_classes == {"none": num_classes, "temperature": len(self.prior)}.get(self.kind, 2)

    def _calibrated(self, table: Floats) -> Floats:
        match self.kind:
            case "none":
                return table
            case "temperature":
                centre = finite_log(np.array(self.prior))
                return softmax(centre + (_logits(table) - centre) / self.temperature)
            case "sigmoid":
                return softmax(self.slope * _logits(table) + np.array([0.0, self.intercept]))
            case "isotonic":
                curve = np.interp(table[:, 1], self.knots, self.values)
                positive = (1 - self.mixed) * curve + self.mixed * table[:, 1]
                return np.column_stack([1 - positive, positive])

    def to_json(self) -> dict[str, Any]:
        """For the JSON of a model."""
        fields = {name: getattr(self, name) for name in _FIELDS[self.kind]}
        return {"kind": self.kind, **{name: _listed(value) for name, value in fields.items()}}

    @staticmethod
    def from_json(content: object) -> Calibration:
        """From the JSON of a model. Raises a ModelError for content that ``to_json`` can't have returned."""
        kind = content.get("kind") if isinstance(content, dict) else None
        if not isinstance(kind, str) or kind not in _FIELDS:
            raise damaged("calibration", f"must be an object with a kind: {', '.join(get_args(Kind))}", content)
        fields = read_object("calibration", content, ("kind", *_FIELDS[kind]))
        return _FROM_JSON[kind](fields)


def _logits(table: Floats) -> Floats:
    # A sum and not a maximum: small probabilities get no ties.
    return np.asarray(np.log(table + _LEAST))


def _listed(value: float | tuple[float, ...]) -> float | list[float]:
    return list(value) if isinstance(value, tuple) else value


def _none(fields: Mapping[str, object]) -> Calibration:
    return Calibration()


def _temperature(fields: Mapping[str, object]) -> Calibration:
    prior = read_numbers("calibration.prior", fields["prior"], 0, 1)
    if len(prior) < 2 or abs(sum(prior) - 1) > 1e-6:
        raise damaged("calibration.prior", "must be the shares of at least two classes, which sum to 1", list(prior))
    limits = 1 / _MAX_TEMPERATURE, _MAX_TEMPERATURE
    temperature = read_number("calibration.temperature", fields["temperature"], *limits)
    return Calibration("temperature", prior=prior, temperature=temperature)


def _sigmoid(fields: Mapping[str, object]) -> Calibration:
    slope = read_number("calibration.slope", fields["slope"], *_SLOPES)
    intercept = read_number("calibration.intercept", fields["intercept"], -_MAX_INTERCEPT, _MAX_INTERCEPT)
    return Calibration("sigmoid", slope=slope, intercept=intercept)


def _isotonic(fields: Mapping[str, object]) -> Calibration:
    knots, values = (read_numbers(f"calibration.{name}", fields[name], 0, 1) for name in ("knots", "values"))
    if (np.diff(knots) <= 0).any():
        raise damaged("calibration.knots", "must be ascending", list(knots))
    if len(values) != len(knots) or (np.diff(values) < 0).any():
        raise damaged("calibration.values", f"must be {len(knots)} numbers in ascending order", list(values))
    mixed = read_number("calibration.mixed", fields["mixed"], 0, 1)
    return Calibration("isotonic", knots=knots, values=values, mixed=mixed)


_FROM_JSON = {"none": _none, "temperature": _temperature, "sigmoid": _sigmoid, "isotonic": _isotonic}


def fit_calibration(
    targets: ArrayLike,
    probabilities: ArrayLike,
    train_prior: ArrayLike,
    *,
    keep_prior: bool = False,
    later: bool = False,
    seed: int = 0,
) -> Calibration:
    """Fit a calibration on labelled examples, by the rules above. The order of the examples has no effect.

    Args:
        targets: The class of each example: the index of a column, or whether it is of the second class.
        probabilities: What the model predicts; the shape is that of ``Calibration.apply``.
        train_prior: The class shares for which the model predicts probabilities: those of training with its class
            weights, or others if the probabilities were corrected. Counts will do.
        keep_prior: The class shares of these examples are not those of the data that will be scored. Then only the
            confidence is learnt from them: the temperature with which the probabilities explain the targets best, once
            they are corrected for the shares of these examples.
        later: The examples are of a later time than those of training.
        seed: The seed of the folds.
    """
    table = class_table(np.asarray(probabilities, dtype=np.float64))
    classes = checked_targets(targets, table)
    num_classes = table.shape[1]
    prior = np.maximum(checked_shares(train_prior, num_classes, "train_prior"), _LEAST)
    prior /= prior.sum()
    counts = np.bincount(classes, minlength=num_classes)
    if (counts > 0).sum() < 2:
        return Calibration()
    order = np.lexsort((*table.T, classes))
    examples = _Examples(classes[order], table[order], prior, prior)
    if keep_prior:
        examples = replace(examples, shares=counts / counts.sum(), shrinkage=_STRONG_SHRINKAGE)
    folds = _folds(examples.targets, seed)
    scores: dict[Kind, float] = {"none": examples.score(examples.table)}
    for kind in _candidates(counts, keep_prior=keep_prior, later=later):
        scores[kind] = examples.score(_held_out(_FITS[kind], examples, folds))
    best = max(scores, key=lambda kind: scores[kind])
    return Calibration() if best == "none" else _FITS[best](examples)


@dataclass(frozen=True)
class _Examples:
    """Labelled examples, sorted."""

    targets: NDArray[np.int64]
    table: Floats
    prior: Floats
    """The class shares for which the model predicts probabilities."""
    shares: Floats
    """The class shares for which calibrated probabilities are evaluated."""
    shrinkage: float = _SHRINKAGE

    def take(self, rows: NDArray[np.bool_]) -> _Examples:
        return replace(self, targets=self.targets[rows], table=self.table[rows])

    def score(self, probabilities: Floats) -> float:
        return log_likelihood(self.targets, correct_prior(probabilities, self.prior, self.shares))


_Fit = Callable[[_Examples], Calibration]


def _candidates(counts: NDArray[np.int64], *, keep_prior: bool, later: bool) -> tuple[Kind, ...]:
    """The kinds to try, from the simplest: on a tie, it wins."""
    if len(counts) > 2 or keep_prior or counts.min() < _FEW_OF_A_CLASS:
        return ("temperature",)
    if not later and counts.sum() >= _MANY and counts.min() >= _MANY_OF_A_CLASS:
        return "sigmoid", "isotonic"
    return "temperature", "sigmoid"


def _folds(targets: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """Return the fold of each example. Each class is spread evenly."""
    shuffled = np.random.default_rng(seed).permutation(len(targets))
    dealt = shuffled[np.argsort(targets[shuffled], kind="stable")]
    folds = np.empty(len(targets), dtype=np.int64)
    folds[dealt] = np.arange(len(targets)) % _NUM_FOLDS
    return folds


def _held_out(fit: _Fit, examples: _Examples, folds: NDArray[np.int64]) -> Floats:
    """Calibrate the examples of each fold by a fit on the other folds."""
    calibrated = np.empty_like(examples.table)
    for fold in np.unique(folds):
        rows = folds == fold
        calibrated[rows] = fit(examples.take(~rows)).apply(examples.table[rows])
    return calibrated


def _fit_temperature(examples: _Examples) -> Calibration:
    """Minimise the negative log-likelihood plus s (1/T - 1 + log T), by Newton's method. s is the shrinkage.

    The second term is a gamma prior of 1/T with mode 1, and close to a normal prior of log T with standard deviation
    1 / sqrt(s), which is 1/2 for s = 4. With hundreds of examples it has hardly any effect then. With few, it prevents
    a temperature near 0 if all of them happen to be right. The sum is convex in 1/T, so there is one minimum.
    """
    lifts = _logits(examples.table) - np.log(examples.prior)
    observed = lifts[np.arange(len(lifts)), examples.targets].sum()
    centre = finite_log(examples.shares)

    def derivatives(beta: float) -> tuple[float, float]:
        probabilities = softmax(centre + beta * lifts)
        means = (probabilities * lifts).sum(axis=1, keepdims=True)
        spread = (probabilities * (lifts - means) ** 2).sum()
        strength = examples.shrinkage
        return float(means.sum() - observed + strength * (1 - 1 / beta)), float(spread + strength / beta**2)

    # Of few examples, all may be right by chance: they may show that a model is too sure, not that it is too modest.
    sharpest = _MAX_TEMPERATURE if len(lifts) >= _MANY else 1.0
    temperature = 1 / _convex_minimum(derivatives, 1 / _MAX_TEMPERATURE, sharpest)
    return Calibration("temperature", prior=tuple(examples.prior.tolist()), temperature=temperature)


def _convex_minimum(derivatives: Callable[[float], tuple[float, float]], low: float, high: float) -> float:
    """Return where a convex function has its minimum, from its first and second derivatives. 0 < low < high."""
    place = math.sqrt(low * high)
    while high - low > 1e-9 * low:
        slope, curvature = derivatives(place)
        low, high = (low, place) if slope > 0 else (place, high)
        proposal = place - slope / curvature
        # A Newton step out of the bracket is replaced by a bisection.
        proposal = proposal if low < proposal < high else math.sqrt(low * high)
        if abs(proposal - place) <= 1e-9 * place:
            break
        place = proposal
    return place


def _fit_sigmoid(examples: _Examples) -> Calibration:
    """Minimise Platt's loss by Newton's method.

    The goals are (N+ + 1) / (N+ + 2) for positives and 1 / (N- + 2) for negatives, not 1 and 0: otherwise the slope is
    infinite if the classes are separated in a small sample.
    """
    logits = _logits(examples.table)
    log_odds = logits[:, 1] - logits[:, 0]
    negatives, positives = np.bincount(examples.targets, minlength=2)
    goals = np.where(examples.targets == 1, (positives + 1) / (positives + 2), 1 / (negatives + 2))
    slope, intercept = _newton(log_odds, goals)
    if slope < _SLOPES[0]:
        slope, intercept = _SLOPES[0], float(np.log(goals.mean() / (1 - goals.mean())))
    return Calibration("sigmoid", slope=min(slope, _SLOPES[1]), intercept=intercept)


def _newton(inputs: Floats, goals: Floats) -> tuple[float, float]:
    """Return slope and intercept of a logistic regression. Steps are halved until they lower the loss."""
    design = np.column_stack([inputs, np.ones(len(inputs))])

    def loss(weights: Floats) -> float:
        logits = design @ weights
        return float((np.logaddexp(0, logits) - goals * logits).sum())

    weights = np.array([1.0, 0.0])
    for _ in range(100):
        predicted = 1 / (1 + np.exp(-np.clip(design @ weights, -700, 700)))
        curvature = (design * (predicted * (1 - predicted))[:, None]).T @ design
        # The ridge is for inputs that are all equal, where the curvature is singular.
        step = np.linalg.solve(curvature + 1e-9 * np.eye(2), design.T @ (goals - predicted))
        while loss(weights + step) > loss(weights) and np.abs(step).max() > 1e-10:
            step /= 2
        weights = weights + step
        if np.abs(step).max() <= 1e-10:
            break
    return float(weights[0]), float(weights[1])


def _fit_isotonic(examples: _Examples) -> Calibration:
    """Pool adjacent violators: the ascending step function with the least squared error, with knots at step ends."""
    given, positive = examples.table[:, 1], examples.targets == 1
    low, places, counts = np.unique(given, return_inverse=True, return_counts=True)
    high, hits = low, np.bincount(places, positive)
    while True:
        means = hits / counts
        starts = np.concatenate([[True], means[1:] > means[:-1]])
        if starts.all():
            break
        # All of a run without a rise is one step of the result, so that runs can be pooled at once.
        first = np.flatnonzero(starts)
        low, high = low[first], high[np.append(first[1:], len(high)) - 1]
        hits, counts = np.add.reduceat(hits, first), np.add.reduceat(counts, first)
    knots, where = np.unique(np.concatenate([low, high]), return_index=True)
    values = np.concatenate([means, means])[where]
    before = np.array([1 - given.mean(), given.mean()])
    observed = np.array([1 - positive.mean(), positive.mean()])
    mixed = _MIXED * float(np.min(observed / np.maximum(before, observed)))
    return Calibration("isotonic", knots=tuple(knots.tolist()), values=tuple(values.tolist()), mixed=mixed)


_FITS: Mapping[Kind, _Fit] = {"temperature": _fit_temperature, "sigmoid": _fit_sigmoid, "isotonic": _fit_isotonic}
