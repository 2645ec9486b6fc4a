"""Propose the next trial.

A proposal is a pure function of the space, the seed and the trials so far, so a resumed search repeats itself exactly.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np

from gtea.errors import UsageError
from gtea.experiments.tune.space import Choice, Settings, Space
from gtea.experiments.tune.tpe import require_optuna, suggest
from gtea.experiments.tune.trials import Trial
from gtea.runtime.rng import Purpose, stream, words

Kind = Literal["grid", "random", "tpe"]
Proposer = Callable[[Space, int, Sequence[Trial]], Settings | None]
"""Returns the settings of the next trial, or None if the space is exhausted."""

# How often to redraw when a proposal repeats an earlier trial. After that the space counts as exhausted.
_MAX_DRAWS = 10_000
_MAX_SUGGESTIONS = 10


def proposer(kind: Kind, space: Space) -> Proposer:
    """Return the proposer of a search method. Raise UsageError if it can't search this space."""
    match kind:
        case "grid":
            _require_lists(space)
            return _grid_search
        case "random":
            return _random_search
        case "tpe":
            require_optuna()
            return _tpe_search


def _grid_search(space: Space, seed: int, trials: Sequence[Trial]) -> Settings | None:
    """Every combination once; the last axis changes fastest."""
    lists = [axis.values.values for axis in space.axes if isinstance(axis.values, Choice)]
    values = next(itertools.islice(itertools.product(*lists), len(trials), None), None)
    return None if values is None else space.settings(values)


def _random_search(space: Space, seed: int, trials: Sequence[Trial]) -> Settings | None:
    """Draw each axis independently and uniformly (log-uniformly for log ranges), without repeats."""
    tried = [trial.settings for trial in trials]
    if space.size is not None and len(tried) >= space.size:
        return None
    state, count = stream(seed, Purpose.TRIALS, len(trials)), len(space.axes)
    for draw in range(_MAX_DRAWS):
        keys = np.arange(draw * count, (draw + 1) * count, dtype=np.uint64)
        fractions = (words(state, keys) >> np.uint64(11)) / 2.0**53
        settings = space.settings([axis.values.at(u) for axis, u in zip(space.axes, fractions, strict=True)])
        if settings not in tried:
            return settings
    return None


def _tpe_search(space: Space, seed: int, trials: Sequence[Trial]) -> Settings | None:
    """Ask TPE; fall back to a random draw if it keeps repeating earlier trials."""
    for retry in range(_MAX_SUGGESTIONS):
        settings = suggest(space, seed, trials, retry)
        if all(settings != trial.settings for trial in trials):
            return settings
    return _random_search(space, seed, trials)


def _require_lists(space: Space) -> None:
    for axis in space.axes:
        if not isinstance(axis.values, Choice):
            raise UsageError(
                f"--search grid: {axis.label} must have a list of values (got a range). "
                "Give a list, or use --search random."
            )
