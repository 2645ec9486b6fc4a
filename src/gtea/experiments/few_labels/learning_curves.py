"""Learning curves: trains the default model and its rivals with more and more labels, and compares them at each number.

Trainings are ordered by draw, so that all numbers of labels have a first result early.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from gtea.errors import UsageError
from gtea.experiments.defaults.standing import Standing, Verdict
from gtea.experiments.few_labels.paired_draws import COMPARED, MIN_DRAWS, compare_draws
from gtea.experiments.runs.jobs import Job, Outcome, Repeat
from gtea.experiments.runs.run_jobs import ALONE, Crew, JobListener, JobStatus, run_jobs
from gtea.experiments.runs.subject import Subject, named_subject
from gtea.models.registry import DEFAULT_MODEL, default_config, model_config
from gtea.runtime.progress import Progress, no_progress

_MIN_SIZE = 4
"""Of these, one is held out for validation, and trees need a few to fit anything."""


@dataclass(frozen=True)
class SizeResult:
    """What is known of one data set with one number of labels."""

    data: str
    per_class: int
    standing: Standing | None
    """None if fewer than two draws have all their models yet."""
    outcomes: tuple[Outcome, ...]

    @property
    def name(self) -> str:
        """The name in lists."""
        return f"{self.data} {self.per_class}"


@dataclass(frozen=True)
class CurvesResult:
    """All data sets and numbers of labels, as far as they are known."""

    num_draws: int
    """The number that was asked for."""
    sizes: tuple[SizeResult, ...]

    @property
    def compared(self) -> list[tuple[SizeResult, Standing]]:
        """The results that can be compared."""
        return [(each, each.standing) for each in self.sizes if each.standing is not None]

    def verdicts(self, metric: str) -> dict[Verdict, list[str]]:
        """The names of data sets and numbers of labels, by verdict."""
        names: dict[Verdict, list[str]] = {"ahead": [], "level": [], "behind": []}
        for each, standing in self.compared:
            names[standing.differences[metric].verdict].append(each.name)
        return names


@dataclass(frozen=True)
class LearningCurves:
    """The data, numbers of labels and draws of an experiment, and its output folder."""

    subjects: Sequence[Subject]
    sizes: Sequence[int]
    """Labelled accounts per class, in ascending order."""
    num_draws: int
    out: Path
    crew: Crew = ALONE

    def __post_init__(self) -> None:
        if self.num_draws < MIN_DRAWS:
            raise UsageError(f"--draws: must be at least {MIN_DRAWS} (got {self.num_draws}). Try 10.")
        if min(self.sizes) < _MIN_SIZE:
            raise UsageError(f"--sizes: must be at least {_MIN_SIZE} (got {min(self.sizes)}). Try 10 30 100 300.")

    def check(self) -> None:
        """Raise if a data set has not enough labels, before anything is trained."""
        for subject in self.subjects:
            self.jobs[subject.name, max(self.sizes), 0, DEFAULT_MODEL].request()

    def run(self, listener: JobListener, write: Callable[[CurvesResult], object]) -> CurvesResult | None:
        """Train all models that are not trained yet. Returns None if another process goes on with the result.

        Args:
            listener: Gets the progress.
            write: Gets the result so far after each training.
        """

        def on_status(status: JobStatus) -> None:
            if status.outcome is not None:
                write(self._result(status.outcomes))
            listener(status)

        outcomes = run_jobs(list(self.jobs.values()), self.out, on_status, self.crew)
        return None if outcomes is None else self._result(outcomes)

    @cached_property
    def jobs(self) -> dict[tuple[str, int, int, str], Job]:
        """The trainings by data set, labels per class, draw and model, in the order in which they are done."""
        digests = {subject.name: subject.digest() for subject in self.subjects}
        return {
            (subject.name, size, draw, model): _job(subject, digests[subject.name], model, Repeat(None, draw, size))
            for draw in range(self.num_draws)
            for subject in self.subjects
            for size in self.sizes
            for model in COMPARED
        }

    def _result(self, outcomes: Mapping[str, Outcome]) -> CurvesResult:
        sizes = (self._size(subject.name, size, outcomes) for subject in self.subjects for size in self.sizes)
        return CurvesResult(self.num_draws, tuple(sizes))

    def _size(self, data: str, size: int, outcomes: Mapping[str, Outcome]) -> SizeResult:
        stems = {
            (draw, model): self.jobs[data, size, draw, model].stem
            for draw in range(self.num_draws)
            for model in COMPARED
        }
        found = {key: outcomes[stem] for key, stem in stems.items() if stem in outcomes}
        by_draw: dict[int, dict[str, Outcome]] = {}
        for (draw, model), outcome in found.items():
            if outcome.state == "finished":
                by_draw.setdefault(draw, {})[model] = outcome
        return SizeResult(data, size, compare_draws(by_draw), tuple(found.values()))


def find_subjects(names: Sequence[str], out: Path, progress: Progress = no_progress) -> list[Subject]:
    """Resolve names of data sets, and prepare their data.

    Args:
        names: Public data sets, ``payments``, synthetic worlds, or paths of prepared folders.
        out: The output folder. Data sets are prepared inside it.
    """
    subjects: dict[str, Subject] = {}
    for name in dict.fromkeys(names):
        # Every labelled data set has folds; not all can be split by time.
        subject = named_subject(name, out, protocol="paper", progress=progress)
        if subject.labels is None:
            raise UsageError(f"--data {name}: must have labels (it has links only). Choose other data.")
        if subject.name in subjects:
            raise UsageError(
                f"--data: names must differ (got {subject.name!r} twice). Leave one out, or rename a folder."
            )
        subjects[subject.name] = subject
    return list(subjects.values())


def _job(subject: Subject, digest: str, model: str, repeat: Repeat) -> Job:
    """The training of a model, with no setting but the seed."""
    config = default_config(model_config(model), subject.task)
    config = replace(config, train=replace(config.train, seed=repeat.seed))
    return Job(subject, digest, "few-labels", model, repeat, config, model, folds=0)
