"""Who runs tasks: what ``--on`` names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from gtea.cluster.job_array import JobArray
from gtea.cluster.local_pool import LocalPool
from gtea.cluster.schedule import Then
from gtea.cluster.tasks import FileTask
from gtea.errors import UsageError
from gtea.runtime.progress import Progress


class Carrier(Protocol):
    """Runs the tasks of a job."""

    @property
    def num_workers(self) -> int:
        """How many tasks run at once."""

    def run(self, tasks: Sequence[FileTask], folder: Path, progress: Progress, then: Then | None = None) -> bool:
        """Run tasks, each after those that it reads, and then those that come after them all.

        Returns:
            Whether this process is the one that ends the job.
        """

    def on_each_node(self, task: FileTask, folder: Path) -> list[dict[str, Any]]:
        """Run a task on each node; the outcomes."""


def carrier_of(text: str) -> Carrier:
    """The carrier that ``--on`` names: ``local:N``, ``array:K/N``, ``ray`` or ``ray:ADDRESS``."""
    if match := re.fullmatch(r"local:([1-9]\d*)", text):
        return LocalPool(int(match[1]))
    if match := re.fullmatch(r"array:(\d+)/([1-9]\d*)", text):
        number, num_jobs = int(match[1]), int(match[2])
        if number >= num_jobs:
            raise UsageError(f"--on {text}: jobs are numbered from 0 (got {number} of {num_jobs}). Begin with 0.")
        return JobArray(number, num_jobs)
    if text == "ray" or text.startswith("ray:"):
        from gtea.cluster.ray_tasks import RayTasks

        return RayTasks(text.removeprefix("ray").removeprefix(":") or None)
    raise UsageError(f"--on: must be local:N, array:K/N, ray or ray:ADDRESS (got {text!r}). Try local:2.")
