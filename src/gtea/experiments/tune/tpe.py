"""Suggestions from a tree-structured Parzen estimator (Optuna's TPE).

Each suggestion uses a fresh in-memory study that is filled with the trials so far. The records on disk stay plain JSON,
and a suggestion depends only on the seed, the retry number and the trials so far.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gtea.errors import UsageError
from gtea.experiments.tune.space import Axis, Choice, Settings, Space
from gtea.experiments.tune.trials import Trial
from gtea.runtime.rng import Purpose, seed_of

if TYPE_CHECKING:
    from optuna.distributions import BaseDistribution
    from optuna.trial import FrozenTrial


def require_optuna() -> None:
    """Raise UsageError if Optuna is not installed."""
    if importlib.util.find_spec("optuna") is None:
        raise UsageError("--search tpe: needs Optuna. Install it with pip install 'gtea[tune]', or search random.")


def suggest(space: Space, seed: int, trials: Sequence[Trial], retry: int) -> Settings:
    """Suggest the next settings. Another retry number may give another suggestion."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # Optuna passes the seed to NumPy, which takes 32 bits.
    sampler = optuna.samplers.TPESampler(seed=seed_of(seed, Purpose.TRIALS, len(trials), retry) % 2**32)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.add_trials([_frozen_trial(space, trial) for trial in trials if trial.state != "failed"])
    suggested = study.ask({axis.label: _distribution(axis) for axis in space.axes})
    return space.settings([_from_optuna(axis, suggested.params[axis.label]) for axis in space.axes])


def _frozen_trial(space: Space, trial: Trial) -> FrozenTrial:
    from optuna.trial import TrialState, create_trial

    finished = trial.state == "finished"
    values = zip(space.axes, space.values(trial.settings), strict=True)
    return create_trial(
        state=TrialState.COMPLETE if finished else TrialState.PRUNED,
        value=trial.metric if finished else None,
        params={axis.label: _to_optuna(axis, value) for axis, value in values},
        distributions={axis.label: _distribution(axis) for axis in space.axes},
        intermediate_values=dict(enumerate(trial.curve)),
    )


def _distribution(axis: Axis) -> BaseDistribution:
    """Lists are represented by indices: Optuna takes no lists as values, and indices keep the order of numbers."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    values = axis.values
    if isinstance(values, Choice):
        last = len(values.values) - 1
        return IntDistribution(0, last) if values.ordered else CategoricalDistribution(range(last + 1))
    if values.integer:
        return IntDistribution(int(values.low), int(values.high), log=values.log)
    return FloatDistribution(values.low, values.high, log=values.log)


def _to_optuna(axis: Axis, value: Any) -> Any:
    return axis.values.values.index(value) if isinstance(axis.values, Choice) else value


def _from_optuna(axis: Axis, value: Any) -> Any:
    return axis.values.values[value] if isinstance(axis.values, Choice) else value
