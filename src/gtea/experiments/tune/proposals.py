"""What to try next: a pure function of space, seed and the trials so far, so that a kill changes nothing."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from gtea.errors import UsageError
from gtea.experiments.tune.space import Choice, Settings, Space
from gtea.experiments.tune.tpe import require_optuna, suggestion
from gtea.experiments.tune.trials import Trial
from gtea.runtime.rng import Purpose, stream, words

Kind = Literal["grid", "random", "tpe"]
Proposer = Callable[[Space, int, Sequence[Trial]], Settings | None]
"""The settings of the next trial; None if everything has been tried."""

# A space that may still hold something untried is asked so often; a small one is then used up, for all we can tell.
_DRAWS = 10_000
_SUGGESTIONS = 10


def proposer(kind: Kind, space: Space) -> Proposer:
    """The search of that name, or an error if it can't search this space."""
    match kind:
        case "grid":
            _require_lists(space)
            return from_grid
        case "random":
            return at_random
        case "tpe":
            require_optuna()
            return by_tpe


def from_grid(space: Space, seed: int, trials: Sequence[Trial]) -> Settings | None:
    """Every combination once, the last axis changing fastest."""
    lists = [axis.values.values for axis in space.axes if isinstance(axis.values, Choice)]
    values = next(itertools.islice(itertools.product(*lists), len(trials), None), None)
    return None if values is None else space.settings(values)


def at_random(space: Space, seed: int, trials: Sequence[Trial]) -> Settings | None:
    """Each axis by itself, every value or place of a range as likely as any other; nothing twice."""
    tried = [trial.settings for trial in trials]
    if space.size is not None and len(tried) >= space.size:
        return None
    state, count = stream(seed, Purpose.TRIALS, len(trials)), len(space.axes)
    for draw in range(_DRAWS):
        keys = np.arange(draw * count, (draw + 1) * count, dtype=np.uint64)
        shares = (words(state, keys) >> np.uint64(11)) / 2.0**53
        settings = space.settings([axis.values.at(share) for axis, share in zip(space.axes, shares, strict=True)])
        if settings not in tried:
            return settings
    return None


def by_tpe(space: Space, seed: int, trials: Sequence[Trial]) -> Settings | None:
    """Where the good trials so far are dense and the others are not; at random where that only repeats itself."""
    for attempt in range(_SUGGESTIONS):
        settings = suggestion(space, seed, trials, attempt)
        if all(settings != trial.settings for trial in trials):
            return settings
    return at_random(space, seed, trials)


def _require_lists(space: Space) -> None:
    for axis in space.axes:
        if not isinstance(axis.values, Choice):
            raise UsageError(
                f"--search grid: {axis.label} must have a list of values (got a range). "
                "List some, or take --search random."
            )
