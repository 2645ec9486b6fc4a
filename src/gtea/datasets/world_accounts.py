"""The accounts of :mod:`gtea.datasets.world`: when each is active, how large it is, and which ones are illicit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from gtea.datasets.synthetic import stream

Reals = NDArray[np.float64]
Bools = NDArray[np.bool_]
Start = Literal["spread", "together"]

LARGE_SHARE = 0.25  # share of accounts that are large
_TAIL = 3  # days kept free at the end, so that a group of payments that begins before them can end


@dataclass(frozen=True)
class Period:
    """The days of a world, and how payments change from the first day to the last.

    With x = day / days, payments are made at a rate of 1 + 2 drift x, amounts are multiplied by exp(drift x), and what
    separates the classes is multiplied by 1 - drift x / 2.
    """

    days: int
    drift: float

    def work(self, day: Reals) -> Reals:
        """The integral of the rate up to a day, x + drift x^2. Uniform in work is rising in time."""
        x = day / self.days
        return x + self.drift * x**2

    def day_of(self, work: Reals) -> Reals:
        """The day up to which so much work was done: the inverse of ``work``, in a form without division by drift."""
        x: Reals = 2 * work / (1 + np.sqrt(1 + 4 * self.drift * work))
        return x * self.days

    def inflation(self, day: Reals) -> Reals:
        """Logarithm of the factor by which amounts have grown."""
        return self.drift * day / self.days

    def fading(self, day: Reals) -> Reals:
        """What is left of the separation of the classes."""
        return 1 - self.drift * day / self.days / 2


@dataclass(frozen=True)
class Population:
    """All accounts except the hubs, in the order in which they appear.

    Attributes:
        first: The day of the first payment, ascending.
        last: The day on which an account becomes inactive, ascending.
        illicit: Which accounts are illicit.
        large: Which accounts are large, independent of the class.
    """

    first: Reals
    last: Reals
    illicit: Bools
    large: Bools


def form_population(
    count: int, illicit: int, days: int, start: Start, growth: float, prior_shift: float, seed: int
) -> Population:
    """Draw first and last days, classes and sizes."""
    rng = stream(seed, "accounts")
    end, span = days - _TAIL, days / 4
    first = np.sort(rng.random(count)) * (end - span if start == "spread" else days / 50)
    # ascending as first is: those who are active over an interval are then neighbours in this order
    last = (1 - growth) * np.minimum(first + span, end) + growth * end
    large = rng.permutation(count) < LARGE_SHARE * count
    return Population(first, last, _choose_illicit(count, illicit, prior_shift, rng), large)


def _choose_illicit(count: int, illicit: int, prior_shift: float, rng: np.random.Generator) -> Bools:
    """Exactly ``illicit`` accounts; the probability rises in a straight line, by ``prior_shift`` of its mean each way.

    An account is chosen where a uniform number is below its probability. Taking the smallest differences instead
    makes the total exact.
    """
    rank = (np.arange(count) + 0.5) / count
    probability = illicit / count * (1 + prior_shift * (2 * rank - 1))
    chosen = np.zeros(count, bool)
    chosen[np.argsort(rng.random(count) - probability, kind="stable")[:illicit]] = True
    return chosen
