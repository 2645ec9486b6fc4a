"""From a model's raw probabilities to those that are reported: the steps, in their order.

1. Class weights of the loss are undone (``gtea.tasks.priors``): they make rare classes look frequent.
2. The probabilities are calibrated on the validation part (``gtea.tasks.calibration``).
3. A small share of doubt is mixed in, where the model is used at a later time than it was evaluated at: odds of
   a million to one are right for a month, and then habits change.
4. If the labels were sampled, the class shares are corrected to those of the population (``--prevalence``).

None of them changes the ranking of two classes.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from gtea.errors import UsageError
from gtea.tasks.calibration import Calibration, fit_calibration
from gtea.tasks.checked_json import damaged, read_number, read_numbers, read_object
from gtea.tasks.metrics import Floats
from gtea.tasks.priors import correct_prior, priors_differ, undo_class_weights

_CHANCE = 0.001
"""Class shares of two parts that differ by more than this p-value allows are taken as different."""
_DOUBT = 0.01
"""Odds of 200 to 1 at most. Tens of thousands of pairs may all be right for a month; then habits change."""
_FIELDS = ("shares", "class_weights", "calibration", "doubt", "population")


@dataclass(frozen=True)
class ProbabilityCorrection:
    """What is done to raw class probabilities."""

    shares: tuple[float, ...] = ()
    """The share of each class among the training examples, by their weights."""
    class_weights: tuple[float, ...] | None = None
    """The weight of each class in the loss; None if all had the same."""
    calibration: Calibration = field(default_factory=Calibration)
    doubt: float = 0.0
    """The share of the training's class shares in the result."""
    population: tuple[float, ...] | None = None
    """The share of each class in the population; None if the labels are a fair sample of it."""

    def apply(self, probabilities: Floats) -> Floats:
        """The probabilities to report, [num_examples, num_classes]."""
        if self.class_weights is not None:
            probabilities = undo_class_weights(probabilities, self.shares, self.class_weights)
        calibrated = self.calibration.apply(probabilities)
        if self.doubt:
            calibrated = (1 - self.doubt) * calibrated + self.doubt * np.array(self.shares)
        return calibrated if self.population is None else correct_prior(calibrated, self.shares, self.population)

    def for_prevalence(self, prevalence: float, positive: int) -> ProbabilityCorrection:
        """The same for a population with another share of the positive of two classes."""
        if len(self.shares) != 2:
            raise UsageError(f"--prevalence: needs two classes (got {len(self.shares)}). Leave it out.")
        population = tuple(prevalence if place == positive else 1 - prevalence for place in range(2))
        return replace(self, population=population)

    def to_json(self) -> dict[str, Any]:
        """For the model's calibration.json."""
        return {
            "shares": list(self.shares),
            "class_weights": None if self.class_weights is None else list(self.class_weights),
            "calibration": self.calibration.to_json(),
            "doubt": self.doubt,
            "population": None if self.population is None else list(self.population),
        }

    @staticmethod
    def from_json(content: object) -> ProbabilityCorrection:
        """From a model's calibration.json. Raises a ModelError for content that ``to_json`` can't have returned."""
        # Models had no doubt at first.
        known = {"doubt": 0.0, **content} if isinstance(content, dict) else content
        fields = read_object("calibration", known, _FIELDS)
        shares = _read_shares("shares", fields["shares"])
        class_weights, population = (
            None if fields[name] is None else read(name, fields[name])
            for name, read in (("class_weights", _read_weights), ("population", _read_shares))
        )
        for name, found in (("class_weights", class_weights), ("population", population)):
            if found is not None and len(found) != len(shares):
                raise damaged(f"calibration.{name}", f"must have {len(shares)} numbers, as many as shares", list(found))
        doubt = read_number("calibration.doubt", fields["doubt"], 0, 1)
        calibration = Calibration.from_json(fields["calibration"])
        return ProbabilityCorrection(shares, class_weights, calibration, doubt, population)


def _read_shares(name: str, content: object) -> tuple[float, ...]:
    shares = read_numbers(f"calibration.{name}", content, 0, 1)
    if len(shares) < 2 or abs(sum(shares) - 1) > 1e-6:
        raise damaged(f"calibration.{name}", "must be the shares of at least two classes, which sum to 1", list(shares))
    return shares


def _read_weights(name: str, content: object) -> tuple[float, ...]:
    return read_numbers(f"calibration.{name}", content, 0)


def fit_correction(
    train_counts: Floats,
    class_weights: Floats | None,
    targets: NDArray[np.int64],
    probabilities: Floats,
    *,
    later: bool = False,
    balanced: bool = False,
) -> ProbabilityCorrection:
    """Fit the correction to the raw probabilities of a validation part.

    If its class shares are not those of training, they say little about those of what will be scored: the calibration
    then keeps the shares of training, and only learns how sure the model may be.

    Args:
        train_counts: The number, or total weight, of the training examples of each class.
        class_weights: The weight of each class in the loss.
        targets: The class of each validation example.
        probabilities: Its raw probabilities, [num_examples, num_classes].
        later: Whether the validation part is of a later time than training.
        balanced: Whether classes are equally frequent by construction, as links and their negatives are, and examples
            so many that a model can seem certain. A shift of log odds is then no change of shares but a property of
            the validation window: half of it is kept. Doubt is mixed in.
    """
    shares = tuple((train_counts / train_counts.sum()).tolist())
    weights = None if class_weights is None else tuple(map(float, class_weights))
    correction = ProbabilityCorrection(shares, weights)
    found = np.bincount(targets, minlength=len(train_counts))
    keep_prior = priors_differ(train_counts, found) < _CHANCE
    raw = correction.apply(probabilities)
    calibration = fit_calibration(targets, raw, shares, keep_prior=keep_prior, later=later)
    if not balanced:
        return replace(correction, calibration=calibration)
    return replace(correction, calibration=calibration.with_half_the_shift(), doubt=_DOUBT)
