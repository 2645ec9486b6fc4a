"""The folder that all tasks of a job share, and the description of the job in it.

    FOLDER/job.json     what the job is: nothing else may be done in the folder
    FOLDER/NAME.part    the file of a task

A folder of another job is refused, never emptied. What a finished job leaves is deleted: its own files, no others.
"""

from __future__ import annotations

import contextlib
import re
from pathlib import Path
from typing import Any

from gtea.cluster.part_files import SUFFIX, DamagedFileError, PartFile
from gtea.errors import StoreError, UsageError
from gtea.runtime.files import sweep_drafts, write_json
from gtea.runtime.json_files import read_json
from gtea.runtime.json_shape import Every, Natural, misshapen

JOB = "job.json"


def describe_job(folder: Path, content: dict[str, Any]) -> None:
    """Write the description of a job, or check that it is that of the folder. Several processes may do so at once."""
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / JOB).exists():
        ours = re.compile(rf"{JOB}|\..*|node\.\d+{SUFFIX}")  # drafts, notes, and what gtea doctor --on leaves
        others = [entry.name for entry in folder.iterdir() if not ours.fullmatch(entry.name)]
        if others and not (folder / JOB).exists():
            raise UsageError(
                f"{folder}: must be empty or the folder of a job of gtea (got other files). Choose another --work."
            )
        write_json(folder / JOB, content)
    found = read_job(folder)
    different = sorted(name for name in {*found, *content} if found.get(name) != content.get(name))
    if different:
        raise UsageError(
            f"{folder}: belongs to another job (different: {', '.join(different)}). Delete it, or choose another."
        )


def read_job(folder: Path) -> dict[str, Any]:
    """The description of the job of a folder."""
    try:
        found: dict[str, Any] = read_json(folder / JOB, Every(object))
    except FileNotFoundError as error:
        raise StoreError(
            f"{folder}: has no job any more. If another process was at work on it, it has ended it, and the result is "
            "there; otherwise run the same command again."
        ) from error
    except (OSError, ValueError) as error:
        raise StoreError(f"{folder / JOB}: can't be read ({error}). Delete the folder and begin again.") from error
    return found


def parts_of(folder: Path) -> int | None:
    """How many parts a job has that has been begun in a folder."""
    parts = read_job(folder).get("parts") if (folder / JOB).exists() else None
    return parts or None if misshapen(parts, Natural, "parts") is None else None


def delete_job(folder: Path, *, keep: tuple[str, ...] = ()) -> None:
    """Delete the files of a finished job, and the folder if nothing else is in it."""
    for path in folder.glob(f"*{SUFFIX}"):
        if path.stem in keep:
            continue
        sweep_drafts(path)
        with contextlib.suppress(DamagedFileError):  # somebody else's, with the same suffix
            PartFile.open(path)
            path.unlink(missing_ok=True)
    if not keep:
        (folder / JOB).unlink(missing_ok=True)
        with contextlib.suppress(OSError):  # something else is in it
            folder.rmdir()
