"""One trial: trained on the training part, metrics_of by the validation part after each epoch, perhaps given up."""

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


class _GivenUpError(Exception):
    """Ends a run from inside its listener."""


def configured(request: TrainingRequest, settings: Settings) -> TrainingRequest:
    """The request with a trial's settings."""
    return replace(request, config=with_settings(request.config, settings, "the space"))


@dataclass(frozen=True)
class Attempt:
    """Settings to be tried, after what was tried before."""

    request: TrainingRequest
    settings: Settings
    earlier: Sequence[Trial]
    rule: MedianRule | None
    folder: Path
    """Of the run; one that is there is gone on with."""

    def run(self, listener: TrainingListener) -> Trial:
        """Train until the end, or until the rule gives up. The listener hears what training reports."""
        began = time.monotonic()
        try:
            request = configured(self.request, self.settings)
        except UsageError as error:  # values that are possible one by one, and not together
            return self._trial("failed", [], began, str(error))
        try:
            self._train(request, listener)
        except DivergenceError as error:
            return self._trial("failed", self._curve(), began, str(error))
        curve, last = self._curve(), self._stop(request)
        if last is None:
            return self._trial("finished", curve, began)
        return self._trial("pruned", curve[: last + 1], began)

    def _train(self, request: TrainingRequest, listener: TrainingListener) -> None:
        def follow(report: TrainingReport) -> None:
            listener(report)
            if report.row is not None and self._stop(request) is not None:
                raise _GivenUpError

        if self._stop(request) is not None:
            return  # killed just before it would have been given up
        task: Task[Any] = request.once(self.folder)
        try:
            train_for_validation(task, follow, resume=(self.folder / RUN).exists())
        except _GivenUpError:
            return

    def _stop(self, request: TrainingRequest) -> int | None:
        """After which epoch the rule gives up. Read from disk, where the epochs before a kill are too."""
        if self.rule is None:
            return None
        return self.rule.stops_at(self._curve(), self.earlier, request.config.train.epochs)

    def _curve(self) -> list[float]:
        path, name = self.folder / METRICS, f"validation_{self.request.config.train.metric}"
        if not path.exists():
            return []
        return [float(json.loads(line)[name]) for line in path.read_text(encoding="utf-8").splitlines()]

    def _trial(self, state: TrialState, curve: list[float], began: float, reason: str | None = None) -> Trial:
        seconds = round(time.monotonic() - began, 1)
        return Trial(len(self.earlier) + 1, self.settings, state, curve, seconds, reason)
