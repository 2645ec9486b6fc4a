"""Tasks that make something elsewhere: trainings, or pages. Their files only say that it is made, and what of it.

A last task comes after them all. So a job array knows which of its jobs goes on with what they have made.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gtea.cluster.carriers import Carrier
from gtea.cluster.job_array import JobArray
from gtea.cluster.node_facts import node_facts, require_same_node
from gtea.cluster.part_files import Arrays, is_whole
from gtea.cluster.schedule import Then
from gtea.cluster.tasks import FileTask, name_of, part_path, to_json
from gtea.cluster.work_folder import JOB, delete_job, describe_job, read_job
from gtea.errors import UsageError
from gtea.runtime.progress import Progress

_ALL = "all"


def begin_job(kind: str, tasks: Sequence[FileTask], folder: Path, out: Path, *, resume: bool) -> None:
    """Describe the job in its folder. Its results may be put where nothing is yet, or what it has begun.

    Args:
        kind: What the tasks do.
        tasks: All of them, also those that are done.
        folder: The folder that they share.
        out: The folder of their results.
        resume: Whether results of an earlier job may be there.
    """
    occupied = out.exists() and any(out.iterdir())  # looked at before the job: it describes itself before it begins
    if occupied and not resume and not (folder / JOB).exists():
        raise UsageError(f"{out}: exists. Continue with --resume, or choose another --out.")
    digest = hashlib.sha256("\n".join(map(to_json, tasks)).encode()).hexdigest()
    describe_job(
        folder, {"format": "gtea-job", "format_version": 1, "kind": kind, "tasks": digest, "node": node_facts()}
    )


def run_joined(
    carrier: Carrier, tasks: Sequence[FileTask], folder: Path, progress: Progress, then: Then | None = None
) -> bool:
    """Run the tasks of a job that has begun, and those that come after them.

    Returns:
        Whether this process goes on with what they have made.
    """
    if is_whole(part_path(folder, _ALL)):
        return True
    if then is None:
        return carrier.run([*tasks, _last_of(tasks)], folder, progress)

    def all_others() -> list[FileTask]:
        others = list(then())
        return [*others, _last_of([*tasks, *others])]

    return carrier.run(tasks, folder, progress, all_others)


def _last_of(tasks: Sequence[FileTask]) -> FileTask:
    return FileTask(_ALL, name_of(_note_the_end), {}, tuple(task.name for task in tasks))


def end_job(carrier: Carrier, folder: Path, *, keep: tuple[str, ...] = ()) -> None:
    """Delete the files of the tasks, once there is nothing left to do.

    Args:
        keep: With an array, the tasks whose files are needed to end the job once more.
    """
    # Another job of an array may be started again, and must find that all is done.
    delete_job(folder, keep=(_ALL, *keep) if isinstance(carrier, JobArray) else ())


def require_node_of(folder: Path) -> None:
    """Refuse to work where the last bits would be others than on the node that began the job."""
    require_same_node(read_job(folder)["node"])


def _note_the_end(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The last task: nothing but its file."""
    return {}, {}
