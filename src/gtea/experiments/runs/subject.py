"""The data and task of an experiment: a store and, for account classification, its labels.

A subject is a public data set or a generated one (``payments``, ``world:...``), prepared once in ``OUT/data/NAME``; or
a folder written by ``gtea datasets prepare``; or a user's own store and labels.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gtea.datasets.catalog import DATASETS
from gtea.datasets.copies import find_copy, require_copy
from gtea.datasets.prepare import FACTS, LABELS, STORE, prepare
from gtea.errors import DataError, UsageError
from gtea.experiments.runs.generated import GENERATED, PAYMENTS, generate
from gtea.models.registry import TaskKind
from gtea.runtime.files import locked
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import Either, ObjectOf, Words
from gtea.runtime.progress import Progress, no_progress
from gtea.store.store import Store
from gtea.tasks.link_split import LinkProtocol

_FACTS = ObjectOf({"name": str, "task": Words("nodes", "links")}, {"positive": Either(str, None)}, others=object)
_LOCK_TIMEOUT = 3600.0
"""Seconds to wait for another process that is preparing the data."""


@dataclass(frozen=True)
class Subject:
    """Data and task of an experiment."""

    name: str
    task: TaskKind
    store: Path
    labels: Path | None
    """Labels of accounts; None for link prediction."""
    positive: str | None = None
    """The positive class; None selects the rarer of two."""
    unknown: Literal["error", "skip"] = "error"
    """What to do about labelled accounts that are not in the store."""
    own: bool = False
    """Whether it is a user's own store rather than a named data set."""

    def digest(self) -> str:
        """SHA-256 of events, labels and task."""
        labels = b"" if self.labels is None else self.labels.read_bytes()
        task = json.dumps([self.task, self.positive, self.unknown])
        parts = (Store.open(self.store).digest.encode(), hashlib.sha256(labels).digest(), task.encode())
        return hashlib.sha256(b"".join(parts)).hexdigest()


def named_subject(
    name_or_path: str,
    out: Path,
    *,
    protocol: LinkProtocol,
    source: Path | None = None,
    positive: str | None = None,
    progress: Progress = no_progress,
) -> Subject:
    """Resolve --data: the name of a data set, or the path of a prepared folder.

    Args:
        out: The output folder. A named data set is prepared inside it.
        source: Folder with the files of a named data set, if they are not in the default location.
    """
    if name_or_path in GENERATED:
        folder = out / "data" / name_or_path.replace(":", "-")
        with _lock(folder.parent):
            generate(name_or_path, folder, progress)
    elif name_or_path in DATASETS:
        folder = _prepared(name_or_path, out / "data" / name_or_path, protocol, source, progress)
    elif (Path(name_or_path) / FACTS).is_file():
        folder = Path(name_or_path).absolute()
    else:
        raise UsageError(_unknown_data(name_or_path))
    name, task, default_positive = _facts(folder)
    labels = folder / LABELS if task == "nodes" else None
    if positive is not None and labels is None:
        raise UsageError(f"--positive: does not apply to {name}, which is a link prediction task. Leave it out.")
    return Subject(name, task, folder / STORE, labels, positive or default_positive)


def own_subject(
    store: Path, labels: Path | None, *, positive: str | None = None, unknown: Literal["error", "skip"] = "error"
) -> Subject:
    """A user's own store: account classification with labels, link prediction without."""
    Store.open(store)
    if labels is None and positive is not None:
        raise UsageError("--positive: needs --labels. Pass --labels, or leave it out.")
    if labels is not None and not labels.is_file():
        raise DataError(f"{labels}: no such file. Check --labels.")
    name = store.absolute().name.removesuffix(".store")
    task: TaskKind = "links" if labels is None else "nodes"
    return Subject(name, task, store.absolute(), labels and labels.absolute(), positive, unknown, own=True)


def _prepared(name: str, folder: Path, protocol: LinkProtocol, source: Path | None, progress: Progress) -> Path:
    """Prepare a data set. If its files are gone, use the folder that was prepared earlier."""
    if (folder / FACTS).is_file() and source is None and find_copy(DATASETS[name]) is None:
        return folder
    require_copy(DATASETS[name], source)
    with _lock(folder.parent):
        prepare(DATASETS[name], folder, given=source, protocol=protocol, progress=progress)
    return folder


def _lock(folder: Path) -> AbstractContextManager[int]:
    busy = UsageError(
        f"{folder}: another gtea reproduce is preparing data there. Wait for it, or choose another --out."
    )
    return locked(folder, busy, timeout=_LOCK_TIMEOUT)


def _facts(folder: Path) -> tuple[str, TaskKind, str | None]:
    try:
        facts = read_json(folder / FACTS, _FACTS)
        return facts["name"], facts["task"], facts.get("positive")
    except (OSError, ValueError) as error:
        raise DataError(
            f"{folder / FACTS}: can't be read ({error}). Delete the folder and run gtea datasets prepare again."
        ) from error


def _unknown_data(name_or_path: str) -> str:
    near = difflib.get_close_matches(name_or_path, (*DATASETS, *GENERATED), n=1)
    remedy = f"Did you mean {near[0]!r}?" if near else f"Data sets: {', '.join((*DATASETS, PAYMENTS))}."
    if Path(name_or_path).is_dir():
        return (
            f"--data {name_or_path}: must be a folder written by gtea datasets prepare (it has no {FACTS}). "
            "For your own data, use --store and --labels."
        )
    return f"--data {name_or_path}: no such data set or folder. {remedy}"
