"""What a task is: a function by its name, its arguments in JSON, and the file that it makes.

The function is named ``package.module:function``, and must be one of gtea. It is called with the folder that all tasks
of a job share and with the arguments, and returns arrays and facts, which become the file ``NAME.part`` in that folder.
It reads the files of the tasks that come before it, and nothing that others may change while it runs.
"""

from __future__ import annotations

import importlib
import json
import resource
import time
import traceback
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from gtea import errors
from gtea.cluster.part_files import SUFFIX, Arrays, DamagedFileError, PartFile, is_whole, write_part_file
from gtea.errors import GteaError
from gtea.runtime.disk_errors import system_error
from gtea.runtime.files import BusyError

_SECONDS_OF_A_BUSY_TASK = 0.5

Made = tuple[Arrays, Mapping[str, Any]]
"""The arrays and facts of a file."""

Work = Callable[[Path, dict[str, Any]], Made | AbstractContextManager[Made]]
"""From the folder and the arguments to the arrays and facts of the file. They may come in a context that is left when
the file is written, for arrays that are in scratch files until then."""


@dataclass(frozen=True)
class FileTask:
    """A part of a job."""

    name: str
    """Also the name of its file, without the suffix."""
    work: str
    """The function, as ``package.module:function``."""
    arguments: dict[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    """The tasks whose files it reads."""

    def path(self, folder: Path) -> Path:
        """The file that it makes."""
        return part_path(folder, self.name)


def name_of(work: Work) -> str:
    """The name of a function, as a task has it."""
    return f"{work.__module__}:{work.__name__}"


def part_path(folder: Path, name: str) -> Path:
    """The file of a task."""
    return folder / f"{name}{SUFFIX}"


def made_by(folder: Path, name: str) -> PartFile:
    """The file of a task that is done."""
    return PartFile.open(part_path(folder, name))


def run_task(folder: Path, task: FileTask) -> None:
    """Make the file of a task, unless it is there and whole."""
    path = task.path(folder)
    if path.exists() and is_whole(path):
        return
    module, function = task.work.split(":")
    if not module.startswith("gtea."):
        raise errors.UsageError(f"{task.name}: must be a function of gtea (got {task.work!r}). Use the same version.")
    started, before = time.perf_counter(), time.process_time()
    work: Work = getattr(importlib.import_module(module), function)
    made = work(folder, task.arguments)
    with made if isinstance(made, AbstractContextManager) else nullcontext(made) as (arrays, facts):
        cost = {
            "seconds": time.perf_counter() - started,
            "processor_seconds": time.process_time() - before,
            "peak_bytes_of_process": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
        write_part_file(path, arrays, {**facts, "cost": cost})


def outcome_of(folder: Path, task: FileTask) -> dict[str, Any]:
    """Run a task and say in JSON what came of it: ``{}``, or what is damaged, or who is at work there, or an error."""
    try:
        run_task(folder, task)
    except BusyError as error:
        time.sleep(_SECONDS_OF_A_BUSY_TASK)  # whoever asks again at once would ask without end
        return {"busy": True, "lines": error.lines}
    except DamagedFileError as error:
        return {"damaged": error.path.name.removesuffix(SUFFIX), "lines": error.lines}
    except Exception as error:
        return error_outcome(error)
    return {}


def error_outcome(error: Exception) -> dict[str, Any]:
    """An error in JSON, for ``raise_error``."""
    found = error if isinstance(error, GteaError) else system_error(error)
    if found is not None:
        # The nearest base class that is defined in gtea.errors.
        kind = next(base.__name__ for base in type(found).__mro__ if base.__module__ == errors.__name__)
        return {"error": kind, "lines": found.lines}
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    return {"error": None, "lines": [f"{type(error).__name__}: {error} ({where}; this is a bug of gtea)"]}


def raise_error(task: str, outcome: Mapping[str, Any]) -> None:
    """Raise the error of an outcome."""
    if outcome["error"] is None:
        raise RuntimeError(f"{task}: {outcome['lines'][0]}")
    kind: type[GteaError] = getattr(errors, outcome["error"])
    raise kind(*outcome["lines"])


def to_json(task: FileTask) -> str:
    """A task as text."""
    return json.dumps(asdict(task))


def from_json(text: str) -> FileTask:
    """A task from its text."""
    content = json.loads(text)
    return FileTask(content["name"], content["work"], content["arguments"], tuple(content["after"]))
