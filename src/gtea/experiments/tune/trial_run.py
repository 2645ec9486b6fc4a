"""Run one trial: train, evaluate on the validation part after each epoch, and prune if it falls behind."""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
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
class TrialRun:
    """One set of settings to train, given the earlier trials."""

    request: TrainingRequest
    settings: Settings
    earlier: Sequence[Trial]
    rule: MedianRule | None
    folder: Path
    """Folder of the training run. An existing run is resumed."""

    def run(self, listener: TrainingListener) -> Trial:
        """Train to the end or until the rule prunes the trial. Training reports go to the listener."""
        start = time.monotonic()
        try:
            request = with_trial_settings(self.request, self.settings)
        except UsageError as error:  # each value is valid, but the combination is not
            return self._trial("failed", [], start, str(error))
        try:
            self._train(request, listener)
        except DivergenceError as error:
            return self._trial("failed", self._curve(), start, str(error))
        curve, pruned_at = self._curve(), self._pruned_at(request)
        if pruned_at is None:
            return self._trial("finished", curve, start)
        return self._trial("pruned", curve[: pruned_at + 1], start)

    def _train(self, request: TrainingRequest, listener: TrainingListener) -> None:
        def on_report(report: TrainingReport) -> None:
            listener(report)
            if report.row is not None and self._pruned_at(request) is not None:
                raise _PrunedError

        if self._pruned_at(request) is not None:
            return  # killed after the last epoch was recorded but before the trial was pruned
        task: Task[Any] = request.once(self.folder)
        try:
            train_for_validation(task, on_report, resume=(self.folder / RUN).exists())
        except _PrunedError:
            return

    def _pruned_at(self, request: TrainingRequest) -> int | None:
        """The epoch at which the rule prunes. Metrics are read from disk, which includes epochs before a kill."""
        if self.rule is None:
            return None
        return self.rule.prunes_at(self._curve(), self.earlier, request.config.train.epochs)

    def _curve(self) -> list[float]:
        path, name = self.folder / METRICS, f"validation_{self.request.config.train.metric}"
        if not path.exists():
            return []
        return [float(json.loads(line)[name]) for line in path.read_text(encoding="utf-8").splitlines()]

    def _trial(self, state: TrialState, curve: list[float], start: float, reason: str | None = None) -> Trial:
        seconds = round(time.monotonic() - start, 1)
        return Trial(len(self.earlier) + 1, self.settings, state, curve, seconds, reason)
