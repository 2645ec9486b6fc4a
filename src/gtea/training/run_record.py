"""A run's folder: what was asked for, on what data, and that a resumed run is the same run."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from gtea.errors import ModelError, UsageError
from gtea.models.model_folder import MANIFEST
from gtea.runtime.files import draft_of, write_json
from gtea.training.checkpoint import CHECKPOINT, TREES

RUN = "run.json"


@dataclass(frozen=True)
class RunIdentity:
    """Everything that decides the bytes of the weights."""

    config: dict[str, Any]
    task: dict[str, Any]
    """The kind of task and its own choices: labels digest, split, as_of."""
    data_digest: str
    threads: int
    arithmetic: str
    """Compiled kernels or torch."""

    def to_json(self) -> dict[str, Any]:
        """As it stands in run.json."""
        return dataclasses.asdict(self)


def require_free(folder: Path) -> None:
    """Refuse a folder in which there is something already."""
    if folder.exists() and not _is_free(folder):
        if (folder / RUN).exists() and not finished(folder):
            raise UsageError(
                f"{folder}: holds a run that has not finished. Go on with --resume, or choose another --out."
            )
        raise UsageError(f"{folder}: exists. Choose another --out.")


def begin(folder: Path, run: RunIdentity) -> None:
    """Make the folder of a new run."""
    folder.mkdir(parents=True, exist_ok=True)
    write_json(folder / RUN, {**run.to_json(), "versions": versions()})


def resume(folder: Path, run: RunIdentity) -> None:
    """Refuse to go on with a run whose data or configuration are not those it began with, naming the field."""
    try:
        begun = dict(json.loads((folder / RUN).read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError) as error:
        raise ModelError(
            f"{folder}: holds no run to resume ({RUN} can't be read). Check the path, or begin it with --out."
        ) from error
    require_same(folder, begun, run.to_json())


def require_same(folder: Path, begun: Mapping[str, Any], asked: Mapping[str, Any]) -> None:
    """Refuse to go on where what is asked differs from what was asked when it began, naming the first field."""
    now = json.loads(json.dumps(asked))  # tuples become lists, as they are in the file
    before = {name: begun.get(name) for name in now}  # versions may differ
    for name, old, new in _differences(before, now, ""):
        raise UsageError(
            f"--resume {folder}: {name} was {old!r} when the run began (got {new!r}). "
            "Resume with the same data and settings, or begin a new run."
        )


def finished(folder: Path) -> bool:
    """Whether a run has become a model."""
    return (folder / MANIFEST).exists()


def discard_checkpoint(folder: Path) -> None:
    """Delete what was only needed to resume: the model is saved."""
    for name in (CHECKPOINT, TREES):
        (folder / name).unlink(missing_ok=True)


def versions() -> dict[str, str]:
    """What computes."""
    names = ("gtea", "torch", "numpy", "numba", "duckdb", "pyarrow")
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in names}}


def threads() -> int:
    """How many threads torch uses: sums are only the same, to the last bit, with the same number."""
    return torch.get_num_threads()


def _is_free(folder: Path) -> bool:
    """Whether a folder holds nothing but what a run leaves that was killed before it began."""
    return folder.is_dir() and all(entry.name == draft_of(folder / RUN).name for entry in folder.iterdir())


def _differences(before: Mapping[str, Any], now: Mapping[str, Any], prefix: str) -> list[tuple[str, Any, Any]]:
    found: list[tuple[str, Any, Any]] = []
    for name in {**now, **before}:
        old, new = before.get(name), now.get(name)
        if isinstance(new, dict) and isinstance(old, dict):
            found += _differences(old, new, f"{prefix}{name}.")
        elif old != new:
            found.append((f"{prefix}{name}", old, new))
    return found
