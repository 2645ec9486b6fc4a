"""The suite: trains the default model and its rivals on every table, with no setting, and compares them.

Trainings are ordered by seed, so that every table has a first result early.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from gtea.errors import UsageError
from gtea.experiments.defaults.answers import OWN, Answers, majority_answers, read_answers
from gtea.experiments.defaults.standing import MAJORITY, RIVALS, Standing, Verdict, standing_of
from gtea.experiments.defaults.suite_tables import SplitCheck, Table, check_table
from gtea.experiments.runs.jobs import Job, Outcome
from gtea.experiments.runs.run_jobs import ALONE, Crew, JobListener, JobStatus, run_jobs
from gtea.models.registry import DEFAULT_MODEL
from gtea.runtime.progress import Progress, no_progress

TRAINED = (DEFAULT_MODEL, *RIVALS)
"""The models that are trained. The halves come with the default, and majority takes no training."""


@dataclass(frozen=True)
class TableResult:
    """A table and what is known of it so far."""

    table: Table
    check: SplitCheck
    standing: Standing | None
    """None if it is skipped, or if no seed has all its models yet."""
    outcomes: tuple[Outcome, ...] = ()


@dataclass(frozen=True)
class SuiteResult:
    """All tables, as far as they are known."""

    seeds: tuple[int, ...]
    """The seeds that were asked for."""
    tables: tuple[TableResult, ...]

    @property
    def compared(self) -> list[tuple[str, Standing]]:
        """The names and results of the tables that have any."""
        return [(found.table.name, found.standing) for found in self.tables if found.standing is not None]

    def verdicts(self, metric: str | None = None) -> dict[Verdict, list[str]]:
        """The names of the tables by verdict.

        Args:
            metric: The metric; None for the first of each table (average precision, or accuracy).
        """
        names: dict[Verdict, list[str]] = {"ahead": [], "level": [], "behind": []}
        for name, standing in self.compared:
            names[standing.differences[metric or standing.ranking].verdict].append(name)
        return names


@dataclass(frozen=True)
class Suite:
    """The tables and seeds of a suite, and its output folder."""

    tables: Sequence[Table]
    num_seeds: int
    out: Path
    crew: Crew = ALONE

    def __post_init__(self) -> None:
        if self.num_seeds < 1:
            raise UsageError(f"--seeds: must be at least 1 (got {self.num_seeds}). Try 3.")

    def checks(self, progress: Progress = no_progress) -> dict[str, SplitCheck]:
        """Split every table, and find out which ones can't show anything. By name."""
        checks = {}
        for place, table in enumerate(self.tables):
            progress("splitting tables", place / len(self.tables))
            checks[table.name] = check_table(self.jobs[table.name, DEFAULT_MODEL, self.seeds[0]])
        return checks

    def run(
        self, checks: Mapping[str, SplitCheck], listener: JobListener, write: Callable[[SuiteResult], object]
    ) -> SuiteResult | None:
        """Train all models that are not trained yet. Returns None if another process goes on with the result.

        Args:
            checks: What ``checks`` found. Skipped tables are not trained.
            listener: Gets the progress.
            write: Gets the result so far after each training.
        """
        results = _Results(self, checks)

        def on_status(status: JobStatus) -> None:
            if status.outcome is not None:
                write(results.of(status.outcomes))
            listener(status)

        jobs = [
            self.jobs[table.name, model, seed]
            for seed in self.seeds
            for table in self.tables
            if checks[table.name].reason is None
            for model in TRAINED
        ]
        outcomes = run_jobs(jobs, self.out, on_status, self.crew)
        return None if outcomes is None else results.of(outcomes)

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, from 0."""
        return tuple(range(self.num_seeds))

    @cached_property
    def jobs(self) -> dict[tuple[str, str, int], Job]:
        """The trainings by table, model and seed."""
        digests = {table.name: table.subject.digest() for table in self.tables}
        return {
            (table.name, model, seed): table.job(digests[table.name], model, seed)
            for table in self.tables
            for model in TRAINED
            for seed in self.seeds
        }


class _Results:
    """Turns outcomes into results. A table is compared again only if one more of its seeds is complete."""

    def __init__(self, suite: Suite, checks: Mapping[str, SplitCheck]) -> None:
        self._suite = suite
        self._checks = checks
        self._standings: dict[tuple[str, tuple[int, ...]], Standing | None] = {}

    def of(self, outcomes: Mapping[str, Outcome]) -> SuiteResult:
        """The result of the outcomes so far."""
        return SuiteResult(self._suite.seeds, tuple(self._table(table, outcomes) for table in self._suite.tables))

    def _table(self, table: Table, outcomes: Mapping[str, Outcome]) -> TableResult:
        jobs = [self._suite.jobs[table.name, model, seed] for seed in self._suite.seeds for model in TRAINED]
        found = tuple(outcomes[job.stem] for job in jobs if job.stem in outcomes)
        finished = Counter(outcome.seed for outcome in found if outcome.state == "finished")
        complete = tuple(seed for seed, count in finished.items() if count == len(TRAINED))
        key = table.name, complete
        if key not in self._standings:
            self._standings[key] = self._standing(table, complete, outcomes) if complete else None
        return TableResult(table, self._checks[table.name], self._standings[key], found)

    def _standing(self, table: Table, seeds: Sequence[int], outcomes: Mapping[str, Outcome]) -> Standing:
        answers = {seed: self._answers(table, seed, outcomes) for seed in seeds}
        return standing_of(answers, same_examples=not table.folds)

    def _answers(self, table: Table, seed: int, outcomes: Mapping[str, Outcome]) -> dict[str, Answers]:
        jobs = {model: self._suite.jobs[table.name, model, seed] for model in TRAINED}
        read = {model: read_answers(job.model_folder(self._suite.out)) for model, job in jobs.items()}
        own = {model: found[OWN] for model, found in read.items()}
        halves = {name: found for name, found in read[DEFAULT_MODEL].items() if name != OWN}
        # A link has one negative in training.
        train = outcomes[jobs[DEFAULT_MODEL].stem].split["train"]
        counts = list(train["classes"].values()) if "classes" in train else [1, 1]
        return {**own, **halves, MAJORITY: majority_answers(own[DEFAULT_MODEL], counts)}
