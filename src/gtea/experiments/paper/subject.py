"""What an experiment is about: a store, a task and, for accounts, their labels.

It has a name that gtea knows (a public data set, or ``payments``, which are generated), and is then made ready once, in
``OUT/data/NAME``; or it is a folder that ``gtea datasets prepare`` made; or a user's own store and labels.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from gtea.datasets.catalog import DATASETS
from gtea.datasets.copies import find_copy, require_copy
from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.datasets.prepare import FACTS, LABELS, STORE, prepare
from gtea.errors import DataError, UsageError
from gtea.ingestion.ingest import ingest
from gtea.models.registry import TaskKind
from gtea.runtime.files import locked, sync_folder, write_json
from gtea.runtime.progress import Progress, no_progress
from gtea.store.publish import scratch_for
from gtea.store.store import Store
from gtea.tasks.link_split import LinkProtocol

PAYMENTS = "payments"

_PAYMENTS = PaymentsSpec(accounts=4_000, events=80_000, illicit_share=0.3)
"""Those of gtea demo."""

_PATIENCE = 3600.0
"""Seconds to wait for somebody else who makes data ready: that ends by itself."""


@dataclass(frozen=True)
class Subject:
    """Data and task of an experiment."""

    name: str
    task: TaskKind
    store: Path
    labels: Path | None
    """Of accounts; None where links are foretold."""
    positive: str | None = None
    """The class that is looked for; None stands for the rarer one of two."""
    unknown: Literal["error", "skip"] = "error"
    """Labelled accounts that the store doesn't have."""
    own: bool = False
    """Whether it is a user's own store, and has no name that others know."""

    def digest(self) -> str:
        """One sha256 over events and labels, and what is asked of them."""
        labels = b"" if self.labels is None else self.labels.read_bytes()
        asked = json.dumps([self.task, self.positive, self.unknown])
        parts = (Store.open(self.store).digest.encode(), hashlib.sha256(labels).digest(), asked.encode())
        return hashlib.sha256(b"".join(parts)).hexdigest()


def subject_of(
    word: str,
    out: Path,
    *,
    protocol: LinkProtocol,
    given: Path | None = None,
    positive: str | None = None,
    progress: Progress = no_progress,
) -> Subject:
    """What a user names with --data: a data set by its name, or a prepared folder by its path.

    Args:
        out: The folder of the experiments, in which a named data set is made ready.
        given: The folder that holds the files of a named data set, if not where copies are usually looked for.
    """
    if word == PAYMENTS:
        folder = _payments(out / "data" / PAYMENTS, progress)
    elif word in DATASETS:
        folder = _prepared(word, out / "data" / word, protocol, given, progress)
    elif (Path(word) / FACTS).is_file():
        folder = Path(word).absolute()
    else:
        raise UsageError(_unknown(word))
    name, task, looked_for = _facts(folder)
    labels = folder / LABELS if task == "nodes" else None
    if positive is not None and labels is None:
        raise UsageError(f"--positive: has no meaning for {name}, whose links are foretold. Leave it out.")
    return Subject(name, task, folder / STORE, labels, positive or looked_for)


def own_subject(
    store: Path, labels: Path | None, *, positive: str | None = None, unknown: Literal["error", "skip"] = "error"
) -> Subject:
    """A user's own store: with labels its accounts are classified, without them its links are foretold."""
    Store.open(store)
    if labels is None and positive is not None:
        raise UsageError("--positive: has no meaning without --labels. Leave it out, or give labels.")
    if labels is not None and not labels.is_file():
        raise DataError(f"{labels}: no such file. Check --labels.")
    name = store.absolute().name.removesuffix(".store")
    task: TaskKind = "links" if labels is None else "nodes"
    return Subject(name, task, store.absolute(), labels and labels.absolute(), positive, unknown, own=True)


def _prepared(name: str, folder: Path, protocol: LinkProtocol, given: Path | None, progress: Progress) -> Path:
    """The data set made ready from a copy; what was made before will do where the copy has gone."""
    if (folder / FACTS).is_file() and given is None and find_copy(DATASETS[name]) is None:
        return folder
    require_copy(DATASETS[name], given)
    with _preparing(folder.parent):
        prepare(DATASETS[name], folder, given=given, protocol=protocol, progress=progress)
    return folder


def _payments(folder: Path, progress: Progress) -> Path:
    with _preparing(folder.parent):
        if not (folder / FACTS).is_file():
            _generate(folder, progress)
    return folder


def _generate(folder: Path, progress: Progress) -> None:
    with scratch_for(folder) as scratch:
        draft = scratch / "prepared"
        progress("generating payments", None)
        events, _ = write_payments(_PAYMENTS, draft)
        ingest(
            events,
            src="payer",
            dst="payee",
            time="timestamp",
            time_unit="s",
            features=["amount"],
            labels=draft / LABELS,
            out=draft / STORE,
            progress=progress,
        )
        events.unlink()
        write_json(draft / FACTS, {"name": PAYMENTS, "task": "nodes"})
        draft.rename(folder)
        sync_folder(folder.parent)


def _preparing(folder: Path) -> AbstractContextManager[int]:
    busy = UsageError(
        f"{folder}: another gtea reproduce is preparing data there. Wait for it, or choose another --out."
    )
    return locked(folder, busy, timeout=_PATIENCE)


def _facts(folder: Path) -> tuple[str, TaskKind, str | None]:
    try:
        facts: dict[str, Any] = json.loads((folder / FACTS).read_text(encoding="utf-8"))
        return str(facts["name"]), facts["task"], facts.get("positive")
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{folder / FACTS}: can't be read ({error}). Delete the folder and run gtea datasets prepare again."
        ) from error


def _unknown(word: str) -> str:
    names = (*DATASETS, PAYMENTS)
    near = difflib.get_close_matches(word, names, n=1)
    known = f"Did you mean {near[0]!r}?" if near else f"Known are: {', '.join(names)}."
    if Path(word).is_dir():
        return (
            f"--data {word}: must be a folder that gtea datasets prepare made (it has no {FACTS}). "
            "For data of your own give --store and --labels."
        )
    return f"--data {word}: is no data set that gtea knows, and no folder. {known}"
