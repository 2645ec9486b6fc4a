"""A search from beginning to end: propose, train, judge by the validation part, keep; and the best for good."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtea.errors import ModelError, UsageError
from gtea.experiments.tune import search_record
from gtea.experiments.tune.attempt import Attempt, TrainingRequest, configured
from gtea.experiments.tune.best import BEST, write_best
from gtea.experiments.tune.proposals import Kind, proposer
from gtea.experiments.tune.pruning import MedianRule
from gtea.experiments.tune.space import Settings, Space
from gtea.experiments.tune.trials import Trial, ranked, read_trials, save_trial, write_table
from gtea.runtime.files import locked
from gtea.training.fit import Task, run_identity
from gtea.training.loop import TrainingListener, TrainingReport, no_report
from gtea.training.request import run_once
from gtea.training.run_record import RUN

TABLE = "trials.csv"
MODEL = "model"


@dataclass(frozen=True)
class Search:
    """What is searched, how, and how long."""

    kind: Kind
    space: Space
    trials: int
    """The most there will be; a search that goes on may have more. The grid has all of its own."""
    seed: int = 0
    rule: MedianRule | None = None
    """When to give a trial up; None: never."""

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise UsageError(f"--trials: must be at least 1 (got {self.trials}). Try 20.")

    def to_json(self) -> dict[str, Any]:
        """Everything that decides what is tried, in which order, and for how long."""
        rule = None if self.rule is None else {"trials": self.rule.trials, "epochs": self.rule.epochs}
        return {"search": self.kind, "seed": self.seed, "space": self.space.to_json(), "prune": rule}

    @property
    def num_trials(self) -> int:
        """How many there will be, unless the space has no more to offer."""
        size = self.space.size
        if size is None:
            return self.trials
        return size if self.kind == "grid" else min(size, self.trials)


@dataclass(frozen=True)
class SearchStatus:
    """Where a search stands, after each report of the trial that runs."""

    number: int
    trials: int
    best: float | None
    """The best validation metric of the finished trials."""
    report: TrainingReport


SearchListener = Callable[[SearchStatus], None]


def tune(
    request: TrainingRequest, search: Search, out: Path, listener: SearchListener, *, resume: bool = False
) -> list[Trial]:
    """Try settings one after the other; leaves every trial, a table and the best settings in the folder.

    A search that was killed goes on where it was: ended trials are kept, the one that ran is resumed, and what comes
    next depends on nothing but the seed and the trials before.
    """
    propose = proposer(search.kind, search.space)
    task: Task[Any] = request.once(out)
    search_record.enter(out, {**search.to_json(), **run_identity(task).to_json()}, resume=resume)
    with locked(out, search_record.busy(out)):
        trials = read_trials(out)
        search_record.sweep(out, len(trials))
        while len(trials) < search.num_trials:
            settings = propose(search.space, search.seed, trials)
            if settings is None:
                break
            trials.append(_tried(request, search, out, settings, trials, listener))
            save_trial(out, trials[-1])
            search_record.sweep(out, len(trials))
            _write_results(out, request, trials)
        _write_results(out, request, trials)
    if not ranked(trials):
        raise ModelError(
            f"tune: a trial must finish (got none of {len(trials)}). Change the space; trial 1 said: {trials[0].reason}"
        )
    return trials


def train_best(
    request: TrainingRequest, trials: list[Trial], out: Path, listener: TrainingListener = no_report
) -> dict[str, Any]:
    """Train the best settings again, to the same weights, and judge them on the test part: the one look at it."""
    chosen = configured(request, ranked(trials)[0].settings)
    place, begun = str(out / MODEL), (out / MODEL / RUN).exists()
    return run_once(chosen, None if begun else place, place if begun else None, listener)


def _tried(
    request: TrainingRequest,
    search: Search,
    out: Path,
    settings: Settings,
    earlier: list[Trial],
    listener: SearchListener,
) -> Trial:
    number = len(earlier) + 1
    best = max((max(trial.curve) for trial in ranked(earlier)), default=None)
    attempt = Attempt(request, settings, earlier, search.rule, search_record.run_folder(out, number))
    return attempt.run(lambda report: listener(SearchStatus(number, search.num_trials, best, report)))


def _write_results(out: Path, request: TrainingRequest, trials: list[Trial]) -> None:
    write_table(out / TABLE, trials, request.config.train.metric)
    if ranked(trials):
        best = ranked(trials)[0]
        write_best(out / BEST, configured(request, best.settings).config, best, len(trials))
