"""The folder of a run: its identity (settings, task, data), and the check that a resumed run has the same one."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as shortened
from typing import Any

import torch

from gtea.config import TrainConfig
from gtea.errors import ModelError, UsageError
from gtea.models.model_folder import MANIFEST
from gtea.runtime.files import BusyError, holds_only_drafts, locked, write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import Every
from gtea.training.checkpoint import CHECKPOINT, TREES

RUN = "run.json"


@dataclass(frozen=True)
class RunIdentity:
    """Everything that determines the bytes of the weights."""

    config: dict[str, Any]
    task: dict[str, Any]
    """The kind of task, the digest of its labels, and its split."""
    data_digest: str
    threads: int
    arithmetic: str
    """Which implementation computes: compiled kernels or torch."""

    def to_json(self) -> dict[str, Any]:
        """Return the content of run.json, without versions."""
        return dataclasses.asdict(self)

    @property
    def digest(self) -> str:
        """A sha256 of everything."""
        return hashlib.sha256(json.dumps(self.to_json(), sort_keys=True).encode()).hexdigest()


def running_in(folder: Path) -> AbstractContextManager[int]:
    """Hold the lock of a run's folder: two processes in it would mix their files. Creates the folder."""
    busy = BusyError(f"{folder}: another gtea process is training there. Wait for it, or choose another --out.")
    return locked(folder, busy)


def require_free(folder: Path) -> None:
    """Raise if the folder is not empty."""
    if folder.exists() and not holds_only_drafts(folder / RUN):
        if (folder / RUN).exists() and not finished(folder):
            raise UsageError(
                f"{folder}: holds a run that has not finished. Continue it with --resume, or choose another --out."
            )
        raise UsageError(f"{folder}: exists. Choose another --out.")


def begin(folder: Path, run: RunIdentity) -> None:
    """Write the identity of a new run into its folder."""
    write_json(folder / RUN, {**run.to_json(), "versions": versions()})


def resume(folder: Path, run: RunIdentity) -> None:
    """Raise unless the folder holds a run with the same identity.

    What was asked of decisions has no part in the weights, and can be why a run stopped: a precision that the trained
    model does not reach. So it may change until the run has finished, and is noted in run.json.
    """
    try:
        stored = dict(read_json(folder / RUN, Every(object)))
    except (OSError, ValueError) as error:
        raise ModelError(
            f"{folder}: holds no run to resume ({RUN} can't be read). Check the path, or start a run with --out."
        ) from error
    current = stored if finished(folder) else _with_decisions(stored, run.task)
    require_same(folder, current, run.to_json())
    if current != stored:
        write_json(folder / RUN, {**stored, "task": run.task})


def require_same(folder: Path, stored: Mapping[str, Any], requested: Mapping[str, Any]) -> None:
    """Raise if the requested identity differs from the stored one, naming the first field that differs."""
    now = json.loads(json.dumps(requested))  # Tuples become lists, as in the file.
    found = shown_difference({name: stored.get(name) for name in now}, now)  # Versions may differ.
    if found is not None:
        name, old, new = found
        raise UsageError(
            f"--resume {folder}: {name} was {old} when the run began (got {new}). "
            "Resume with the same data and settings, or start a new run."
        )


def shown_difference(before: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, str, str] | None:
    """The first field in which two descriptions differ: its dotted name and both values, shortened."""
    for name, old, new in _differences(before, now, ""):
        return name, shortened(old), shortened(new)
    return None


def require_asked(store: Path, run: RunIdentity, digest: str) -> None:
    """Raise unless a run, as a process elsewhere has opened it, is the one that was asked for."""
    if run.digest != digest:
        raise UsageError(
            f"{store}: store, labels or kernels are not those that the job began with. Let all workers see the same, "
            "or start the command again."
        )


def finished(folder: Path) -> bool:
    """Return whether the folder holds a finished model."""
    return (folder / MANIFEST).exists()


def discard_checkpoint(folder: Path) -> None:
    """Delete the files that are only needed to resume."""
    for name in (CHECKPOINT, TREES):
        (folder / name).unlink(missing_ok=True)


def versions() -> dict[str, str]:
    """Return the versions of Python and of the packages that affect results."""
    names = ("gtea", "torch", "numpy", "numba", "duckdb", "pyarrow")
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in names}}


def threads() -> int:
    """Return the number of torch threads. Sums are bit-identical only with the same number of threads."""
    return torch.get_num_threads()


def threads_of(config: TrainConfig) -> int:
    """Return the number of threads that compute a run in this process.

    A run in micro-batches has one in each worker, whatever their number and that of cores: its bytes must not depend on
    them.
    """
    return threads() if config.micro_batches == 1 else 1


def _with_decisions(stored: Mapping[str, Any], task: Mapping[str, Any]) -> dict[str, Any]:
    """Return the stored run with the decisions of a task."""
    before = stored.get("task")
    if not isinstance(before, dict):
        return dict(stored)
    others = {name: value for name, value in before.items() if name != "decisions"}
    return {**stored, "task": others | {name: task[name] for name in ("decisions",) if name in task}}


def _differences(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str) -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []
    for name in {**now, **before}:
        old, new = before.get(name), now.get(name)
        if isinstance(new, dict) and isinstance(old, dict):
            found += _differences(old, new, f"{prefix}{name}.")
        elif old != new:
            found.append((f"{prefix}{name}", old, new))
    return found
