"""The tables of the suite: which data, split how, and whether the split can show anything.

    NAME         accounts of a data set, split by time; links, if it has no labels
    NAME:folds   its accounts in stratified folds
    NAME:links   its links, split by time

NAME is a public data set, a synthetic world such as ``world:drift``, ``payments``, or the path of a prepared folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from gtea.datasets.catalog import DATASETS
from gtea.datasets.copies import find_copy
from gtea.errors import DataError, UsageError
from gtea.experiments.runs.generated import GENERATED, TINY_WORLD, WORLDS
from gtea.experiments.runs.jobs import Job, Repeat
from gtea.experiments.runs.subject import Subject, named_subject
from gtea.models.registry import default_config, model_config
from gtea.runtime.progress import Progress, no_progress
from gtea.tasks.link_split import LinkProtocol
from gtea.tasks.split_warnings import SplitWarning, split_warnings
from gtea.tasks.splits import Split
from gtea.training.request import NodeRequest

Group = Literal["time", "folds", "links", "worlds"]
GROUPS: dict[Group, str] = {
    "time": "Accounts by time",
    "folds": "Accounts by folds",
    "links": "Links by time",
    "worlds": "Synthetic worlds",
}
"""The groups of tables, with their titles."""
QUICK_TABLES = (TINY_WORLD, f"{TINY_WORLD}:folds", f"{TINY_WORLD}:links")
"""The tables of --quick: one of each kind."""
_FOLDS, _LINKS = ":folds", ":links"
_NUM_FOLDS = 5
_FEWEST = 10
"""Of either class, in a test part by time. With fewer, an interval says nothing."""


@dataclass(frozen=True)
class Table:
    """One row of the suite."""

    subject: Subject
    """Its name is that of the table."""
    group: Group
    folds: bool

    @property
    def name(self) -> str:
        """The name as --data takes it."""
        return self.subject.name

    def job(self, digest: str, model: str, seed: int) -> Job:
        """The training of a model, with no setting but the seed. In folds, each seed tests another fold.

        Args:
            digest: The digest of the subject.
            model: The name of the model.
            seed: The seed of the training, and of the assignment to folds.
        """
        config = default_config(model_config(model), self.subject.task)
        config = replace(config, train=replace(config.train, seed=seed))
        repeat = Repeat(seed % _NUM_FOLDS if self.folds else None, seed)
        protocol: LinkProtocol = "paper" if self.folds else "temporal"
        return Job(self.subject, digest, protocol, model, repeat, config, model, _NUM_FOLDS)


@dataclass(frozen=True)
class SplitCheck:
    """What was found out about a table's split before anything is trained."""

    reason: str | None
    """Why the table is skipped; None if it is not."""
    warnings: tuple[SplitWarning, ...] = ()


def default_names() -> list[str]:
    """All tables of the data sets that are on this machine, and the worlds."""
    present = [dataset for dataset in DATASETS.values() if find_copy(dataset) is not None]
    labelled = [dataset.name for dataset in present if dataset.labels]
    accounts = [f"{name}{suffix}" for suffix in ("", _FOLDS) for name in labelled]
    return [*accounts, *(f"{dataset.name}{_LINKS}" for dataset in present), *WORLDS]


def find_tables(names: Sequence[str], out: Path, progress: Progress = no_progress) -> list[Table]:
    """Resolve names of tables, and prepare their data.

    Args:
        names: As --data takes them.
        out: The output folder. Data sets are prepared inside it.
    """
    subjects: dict[str, Subject] = {}
    tables: dict[str, Table] = {}
    for name in dict.fromkeys(names):
        base, suffix = _split_name(name)
        if base not in subjects:
            subjects[base] = named_subject(base, out, protocol=_described_split(base), progress=progress)
        table = _table(subjects[base], suffix, generated=base in GENERATED)
        if table.name in tables and tables[table.name] != table:
            raise UsageError(f"--data: two tables must not have one name (got {table.name!r} twice). Rename a folder.")
        tables[table.name] = table
    return list(tables.values())


def check_table(job: Job) -> SplitCheck:
    """Split the data of a table as its first training would, and find out whether that can show anything.

    A split by time is skipped if it is refused, if training sees only the very beginning, or if the test part has
    hardly any examples of a class. The worlds are as they were meant to be, and are never skipped for that.
    """
    try:
        request = job.request()
        split = request.split() if isinstance(request, NodeRequest) else request.split
    except DataError as error:
        return SplitCheck(str(error))
    warnings = split_warnings(split, request.store, request.labels if isinstance(request, NodeRequest) else None)
    if job.subject.name in WORLDS or not isinstance(split, Split) or job.repeat.fold is not None:
        return SplitCheck(None, warnings)
    return SplitCheck(next(_reasons(split, warnings), None), warnings)


def _reasons(split: Split, warnings: Sequence[SplitWarning]) -> Iterator[str]:
    yield from (warning.text for warning in warnings if warning.code == "early_training")
    assert split.test is not None
    classes = split.test.classes
    if len(classes) == 2 and min(classes.values()) < _FEWEST:
        shown = " and ".join(f"{count} of {name!r}" for name, count in classes.items())
        yield f"the test part has {shown}, and fewer than {_FEWEST} of a class can't be compared"


def _split_name(name: str) -> tuple[str, str]:
    for suffix in (_FOLDS, _LINKS):
        if name.endswith(suffix):
            return name.removesuffix(suffix), suffix
    return name, ""


def _described_split(name: str) -> LinkProtocol:
    """The split that ``dataset.json`` describes. Every labelled data set has folds; not all can be split by time."""
    return "paper" if name in DATASETS and DATASETS[name].labels else "temporal"


def _table(subject: Subject, suffix: str, *, generated: bool) -> Table:
    if subject.labels is None and suffix == _FOLDS:
        raise UsageError(f"--data {subject.name}{_FOLDS}: must have labels (it has links only). Use {subject.name!r}.")
    if subject.labels is None or suffix == _LINKS:
        name = f"{subject.name}{_LINKS}"
        links = replace(subject, name=name, task="links", labels=None, positive=None)
        return Table(links, "worlds" if generated else "links", folds=False)
    folds = suffix == _FOLDS
    accounts = replace(subject, name=f"{subject.name}{suffix}")
    return Table(accounts, "worlds" if generated else "folds" if folds else "time", folds)
