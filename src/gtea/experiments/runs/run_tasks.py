"""Jobs of an experiment as tasks: a training each. Their outcomes are in the folder of the experiment, as always."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gtea.cluster.carriers import Carrier
from gtea.cluster.joined_tasks import begin_job, end_job, require_node_of, run_joined
from gtea.cluster.part_files import Arrays
from gtea.cluster.tasks import FileTask, name_of
from gtea.errors import UsageError
from gtea.experiments.runs.jobs import Job
from gtea.experiments.runs.run_job import run_job
from gtea.runtime.parallel import torch_threads
from gtea.runtime.progress import Progress
from gtea.training.loop import no_report


def run_as_tasks(
    carrier: Carrier, jobs: Sequence[Job], out: Path, work: Path, threads: int, progress: Progress
) -> bool:
    """Run jobs as tasks.

    Args:
        work: The folder of the tasks' files.
        threads: How many threads of torch each training has.
        progress: Called whenever something may have been done.

    Returns:
        Whether this process goes on with the outcomes.
    """
    tasks = [
        FileTask(f"run.{number}", name_of(_run), {"job": job.to_json(), "out": str(out), "threads": threads})
        for number, job in enumerate(jobs, start=1)
    ]
    begin_job("reproduce", tasks, work, out, resume=True)
    ends_here = run_joined(carrier, tasks, work, progress)
    progress("run", 1.0)
    if ends_here:
        end_job(carrier, work)
    return ends_here


def _run(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The task: train and evaluate, or go on with it."""
    require_node_of(folder)
    job = Job.from_json(arguments["job"])
    if job.subject.digest() != job.data_digest:
        raise UsageError(
            f"{job.subject.store}: store or labels are not those that the job began with. Let all workers see the "
            "same, or start the command again."
        )
    with torch_threads(arguments["threads"]):
        run_job(job, Path(arguments["out"]), no_report)
    return {}, {}
