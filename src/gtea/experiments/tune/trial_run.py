"""Run one trial: train, evaluate on the validation part after each epoch, and prune if it falls behind."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gtea.config import with_settings
from gtea.errors import UsageError
from gtea.experiments.tune.pruning import MedianRule
from gtea.experiments.tune.space import Settings
from gtea.experiments.tune.trials import Trial, TrialState
from gtea.training.fit import Task, train_for_validation
from gtea.training.loop import METRICS, DivergenceError, TrainingListener, TrainingReport
from gtea.training.request import LinkRequest, NodeRequest
from gtea.training.run_record import RUN

TrainingRequest = NodeRequest | LinkRequest


class _PrunedError(Exception):
    """Raised by the training listener to stop a pruned trial."""


def with_trial_settings(request: TrainingRequest, settings: Settings) -> TrainingRequest:
    """Return the request with a trial's settings applied."""
    return replace(request, config=with_settings(request.config, settings, "the space"))


@dataclass(frozen=True)
class TrialCurve:
    """What came of a training: enough to say what became of the trial once the earlier ones are known."""

    curve: list[float]
    """The validation metric after each epoch, maybe beyond the one at which the trial is pruned; one for trees."""
    seconds: float
    failed: str | None = None
    """Why it failed."""


@dataclass(frozen=True)
class TrialRun:
    """One set of settings to train."""

    request: TrainingRequest
    settings: Settings
    earlier: Callable[[], Sequence[Trial] | None]
    """The earlier trials; None as long as some of them are still running."""
    rule: MedianRule | None
    folder: Path
    """Folder of the training run. An existing run is resumed."""

    def run(self, listener: TrainingListener) -> TrialCurve:
        """Train to the end or until the rule prunes the trial. Training reports go to the listener."""
        start = time.monotonic()
        try:
            request = with_trial_settings(self.request, self.settings)
        except UsageError as error:  # each value is valid, but the combination is not
            return TrialCurve([], _since(start), str(error))
        try:
            found = self._train(request, listener)
        except DivergenceError as error:
            return TrialCurve(self._curve(), _since(start), str(error))
        return TrialCurve(self._curve() or found, _since(start))

    def _train(self, request: TrainingRequest, listener: TrainingListener) -> list[float]:
        """Train, and return the metric of a model that is fitted at once: it records no epochs."""

        def on_report(report: TrainingReport) -> None:
            listener(report)
            if report.row is not None and self._is_pruned(request):
                raise _PrunedError

        if self._is_pruned(request):
            return []  # killed after the last epoch was recorded but before the trial was pruned
        task: Task[Any] = request.once(self.folder)
        try:
            progress = train_for_validation(task, on_report, resume=(self.folder / RUN).exists())
        except _PrunedError:
            return []
        return [progress.best_metric]

    def _is_pruned(self, request: TrainingRequest) -> bool:
        """Whether the rule prunes. Metrics are read from disk, which includes epochs before a kill."""
        earlier = self.earlier()
        if self.rule is None or earlier is None:
            return False
        return self.rule.prunes_at(self._curve(), earlier, request.config.train.epochs) is not None

    def _curve(self) -> list[float]:
        path, name = self.folder / METRICS, f"validation_{self.request.config.train.metric}"
        if not path.exists():
            return []
        return [float(json.loads(line)[name]) for line in path.read_text(encoding="utf-8").splitlines()]


def concluded(
    request: TrainingRequest, settings: Settings, made: TrialCurve, earlier: Sequence[Trial], rule: MedianRule | None
) -> Trial:
    """What became of a trial, given all earlier ones: the same, whether it was trained after them or beside them."""
    number = len(earlier) + 1
    try:
        epochs = with_trial_settings(request, settings).config.train.epochs
    except UsageError:
        epochs = 0
    pruned_at = None if rule is None else rule.prunes_at(made.curve, earlier, epochs)
    if pruned_at is not None:  # what came later, be it a failure, would not have happened
        return Trial(number, settings, "pruned", made.curve[: pruned_at + 1], made.seconds)
    state: TrialState = "finished" if made.failed is None else "failed"
    return Trial(number, settings, state, made.curve, made.seconds, made.failed)


def _since(start: float) -> float:
    return round(time.monotonic() - start, 1)
