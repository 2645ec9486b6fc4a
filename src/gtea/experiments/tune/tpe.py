"""Suggestions of a tree-structured Parzen estimator, by Optuna.

Optuna is asked anew for every trial: the study lives in memory, is fed with our own records and thrown away. What is
kept on disk stays plain JSON, and a suggestion depends on nothing but seed, number and the trials before.
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
    """Refuse where Optuna is missing."""
    if importlib.util.find_spec("optuna") is None:
        raise UsageError("--search tpe: needs Optuna. Install it with pip install 'gtea[tune]', or search at random.")


def suggestion(space: Space, seed: int, trials: Sequence[Trial], attempt: int) -> Settings:
    """What to try after these trials; another attempt may give something else."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    # NumPy's generators, on which Optuna draws, take 32 bits.
    sampler = optuna.samplers.TPESampler(seed=seed_of(seed, Purpose.TRIALS, len(trials), attempt) % 2**32)
    study = optuna.create_study(direction="maximize", sampler=sampler)
    study.add_trials([_told(space, trial) for trial in trials if trial.state != "failed"])
    asked = study.ask({axis.label: _distribution(axis) for axis in space.axes})
    return space.settings([_value(axis, asked.params[axis.label]) for axis in space.axes])


def _told(space: Space, trial: Trial) -> FrozenTrial:
    from optuna.trial import TrialState, create_trial

    finished = trial.state == "finished"
    values = zip(space.axes, space.values(trial.settings), strict=True)
    return create_trial(
        state=TrialState.COMPLETE if finished else TrialState.PRUNED,
        value=trial.metric if finished else None,
        params={axis.label: _place(axis, value) for axis, value in values},
        distributions={axis.label: _distribution(axis) for axis in space.axes},
        intermediate_values=dict(enumerate(trial.curve)),
    )


def _distribution(axis: Axis) -> BaseDistribution:
    """Values of a list go by their places in it: Optuna takes no lists as values, and should know which are alike."""
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    values = axis.values
    if isinstance(values, Choice):
        last = len(values.values) - 1
        return IntDistribution(0, last) if values.ordered else CategoricalDistribution(range(last + 1))
    if values.whole:
        return IntDistribution(int(values.low), int(values.high), log=values.log)
    return FloatDistribution(values.low, values.high, log=values.log)


def _place(axis: Axis, value: Any) -> Any:
    return axis.values.values.index(value) if isinstance(axis.values, Choice) else value


def _value(axis: Axis, place: Any) -> Any:
    return axis.values.values[place] if isinstance(axis.values, Choice) else place
