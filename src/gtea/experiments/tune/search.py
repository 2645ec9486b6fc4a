"""A hyperparameter search: propose settings, train, evaluate on the validation part, record, repeat."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gtea.errors import ModelError, UsageError
from gtea.experiments.tune import search_record
from gtea.experiments.tune.best import BEST, write_best
from gtea.experiments.tune.proposals import Kind, proposer
from gtea.experiments.tune.pruning import MedianRule
from gtea.experiments.tune.space import Settings, Space
from gtea.experiments.tune.trial_run import TrainingRequest, TrialRun, concluded, with_trial_settings
from gtea.experiments.tune.trials import Trial, ranked, read_trials, save_trial, write_table
from gtea.runtime.files import locked
from gtea.training.fit import Task, run_identity
from gtea.training.loop import TrainingListener, TrainingReport, no_report
from gtea.training.request import run_once
from gtea.training.results import TrainingResult
from gtea.training.run_record import RUN

TABLE = "trials.csv"
MODEL = "model"


@dataclass(frozen=True)
class Search:
    """Search method, space, budget and pruning rule."""

    kind: Kind
    space: Space
    trials: int
    """Maximum number of trials. A resumed search may raise it; a grid search ignores it."""
    seed: int = 0
    rule: MedianRule | None = None
    """When to prune a trial; None never prunes."""

    def __post_init__(self) -> None:
        if self.trials < 1:
            raise UsageError(f"--trials: must be at least 1 (got {self.trials}). Try 20.")

    def to_json(self) -> dict[str, Any]:
        """Everything that determines which trials run, in what order, and for how long."""
        rule = None if self.rule is None else {"trials": self.rule.trials, "epochs": self.rule.epochs}
        return {"search": self.kind, "seed": self.seed, "space": self.space.to_json(), "prune": rule}

    @property
    def num_trials(self) -> int:
        """The number of trials to run, limited by the size of the space."""
        size = self.space.size
        if size is None:
            return self.trials
        return size if self.kind == "grid" else min(size, self.trials)


@dataclass(frozen=True)
class SearchStatus:
    """Progress of a search, passed to the listener with each training report."""

    number: int
    trials: int
    best: float | None
    """The best validation metric of the finished trials."""
    report: TrainingReport


SearchListener = Callable[[SearchStatus], None]


def tune(
    request: TrainingRequest, search: Search, out: Path, listener: SearchListener, *, resume: bool = False
) -> list[Trial]:
    """Run a search. Writes every trial, a table of trials and the best settings to the folder.

    A killed search resumes where it stopped: completed trials are kept, the interrupted one is resumed, and the next
    proposals depend only on the seed and the trials so far.
    """
    propose = proposer(search.kind, search.space)
    task: Task[Any] = request.once(out)
    with locked(out, search_record.busy_error(out)):
        search_record.begin_or_resume(out, {**search.to_json(), **run_identity(task).to_json()}, resume=resume)
        trials = read_trials(out)
        search_record.remove_completed_runs(out, len(trials))
        while len(trials) < search.num_trials:
            settings = propose(search.space, search.seed, trials)
            if settings is None:
                break
            trials.append(_run_trial(request, search, out, settings, trials, listener))
            save_trial(out, trials[-1])
            search_record.remove_completed_runs(out, len(trials))
            write_results(out, request, trials)
        write_results(out, request, trials)
    require_finished(trials)
    return trials


def train_best(
    request: TrainingRequest, trials: list[Trial], out: Path, listener: TrainingListener = no_report
) -> TrainingResult:
    """Retrain the best settings (to the same weights) and evaluate them once on the test part."""
    best = with_trial_settings(request, ranked(trials)[0].settings)
    folder, started = str(out / MODEL), (out / MODEL / RUN).exists()
    return run_once(best, None if started else folder, folder if started else None, listener)


def _run_trial(
    request: TrainingRequest,
    search: Search,
    out: Path,
    settings: Settings,
    earlier: list[Trial],
    listener: SearchListener,
) -> Trial:
    number = len(earlier) + 1
    best = max((max(trial.curve) for trial in ranked(earlier)), default=None)
    run = TrialRun(request, settings, lambda: earlier, search.rule, search_record.run_folder(out, number))
    made = run.run(lambda report: listener(SearchStatus(number, search.num_trials, best, report)))
    return concluded(request, settings, made, earlier, search.rule)


def require_finished(trials: Sequence[Trial]) -> None:
    """Raise unless a trial has finished."""
    if not ranked(trials):
        raise ModelError(
            f"tune: no trial finished (of {len(trials)}). Change the space. Trial 1 failed with: {trials[0].reason}"
        )


def write_results(out: Path, request: TrainingRequest, trials: Sequence[Trial]) -> None:
    """Write the table of all trials, and the best settings so far."""
    write_table(out / TABLE, trials, request.config.train.metric)
    if ranked(trials):
        best = ranked(trials)[0]
        write_best(out / BEST, with_trial_settings(request, best.settings).config, best, len(trials))
