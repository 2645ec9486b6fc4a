"""Stratified folds: a training each, one after the other or as tasks, and the mean and spread of what they reach.

A fold is a run of its own, with a lock of its own. Several commands in one folder share the work.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gtea.cluster.carriers import Carrier
from gtea.cluster.joined_tasks import begin_job, end_job, require_node_of, run_joined
from gtea.cluster.part_files import Arrays
from gtea.cluster.tasks import FileTask, name_of
from gtea.errors import UsageError
from gtea.models.model_folder import SavedModel
from gtea.runtime.files import write_json
from gtea.runtime.parallel import torch_threads
from gtea.runtime.progress import Progress
from gtea.runtime.when_free import when_free
from gtea.tasks.uncertainty import mean_and_std
from gtea.training import run_record
from gtea.training.epochs_done import share_trained
from gtea.training.fit import run_identity, train_task
from gtea.training.loop import TrainingListener, no_report
from gtea.training.node_task import NodeTask
from gtea.training.request import NodeRequest, folder_of
from gtea.training.request_record import RequestRecord
from gtea.training.results import FoldsResult, MeanAndStd
from gtea.training.tensorboard import with_board


def run_folds(
    request: NodeRequest, k: int, out: str | None, resume: str | None, listener: TrainingListener
) -> FoldsResult:
    """Train one model per fold, and report the mean and standard deviation of each metric. Finished folds are kept."""
    folder = folder_of(out, resume)
    if resume is None and folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder}: exists. Continue with --resume, or choose another --out.")
    tasks = _tasks(request, k, folder)
    return _summary(request, tasks, folder, dict(when_free(lambda n: _trained(tasks[n], listener), range(k))))


def run_folds_on(
    carrier: Carrier,
    request: NodeRequest,
    record: RequestRecord,
    k: int,
    out: str | None,
    resume: str | None,
    work: Path | None,
    progress: Progress,
) -> FoldsResult | None:
    """Train one model per fold as tasks, to the bytes of ``run_folds`` with as many threads as this process has.

    Args:
        record: The same request, for those who work.
        work: The folder of the tasks' files; by default next to ``out``.

    Returns:
        The result; None if another process has it.
    """
    folder = folder_of(out, resume)
    work = work or folder.with_name(f"{folder.name}.parts")
    runs = _tasks(request, k, folder)
    tasks = [
        FileTask(
            f"fold.{number}",
            name_of(_train_fold),
            {
                "request": record.to_json(),
                "fold": number,
                "folds": k,
                "out": str(folder),
                "threads": run_record.threads(),
                "identity": run_identity(run).digest,
            },
        )
        for number, run in enumerate(runs)
    ]
    begin_job("train folds", tasks, work, folder, resume=resume is not None)
    folders, epochs = [run.folder for run in runs], request.config.train.epochs
    if not run_joined(carrier, tasks, work, lambda stage, _: progress(stage, share_trained(folders, epochs))):
        return None
    made = dict(when_free(lambda number: _trained(runs[number], no_report), range(k)))
    summary = _summary(request, runs, folder, made)
    end_job(carrier, work)
    return summary


def _train_fold(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The task: train a fold, or go on with it."""
    require_node_of(folder)
    request = RequestRecord(**arguments["request"]).open()
    assert isinstance(request, NodeRequest)
    with torch_threads(arguments["threads"]):
        task = _tasks(request, arguments["folds"], Path(arguments["out"]))[arguments["fold"]]
        run_record.require_asked(task.store.path, run_identity(task), arguments["identity"])
        _trained(task, with_board(no_report))
    return {}, {}


def _tasks(request: NodeRequest, k: int, folder: Path) -> list[NodeTask]:
    return [
        request.task_for(split, folder / f"fold-{number}") for number, split in enumerate(request.folds(k), start=1)
    ]


def _trained(task: NodeTask, listener: TrainingListener) -> SavedModel:
    """The model of a fold, which is trained unless it has been."""
    return train_task(task, listener, resume=(task.folder / run_record.RUN).exists())


def _summary(
    request: NodeRequest, tasks: list[NodeTask], folder: Path, models: Mapping[int, SavedModel]
) -> FoldsResult:
    each = [models[number].metrics for number in range(len(tasks))]
    summary = FoldsResult(
        out=str(folder),
        folds=len(tasks),
        test=_mean_metrics([metrics["test"] for metrics in each]),
        each=[metrics["test"] for metrics in each],
        labels=request.labels.report,
        split={"left_out": tasks[0].split.left_out},
        warnings=each[0].get("warnings", []),
    )
    write_json(folder / "folds.json", dict(summary))
    return summary


def _mean_metrics(results: list[dict[str, float]]) -> dict[str, MeanAndStd]:
    found: dict[str, MeanAndStd] = {}
    for name in results[0]:
        mean, std = mean_and_std([result[name] for result in results])
        found[name] = {"mean": mean, "std": std}
    return found
