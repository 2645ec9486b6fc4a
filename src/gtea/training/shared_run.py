"""One run by several workers: each reads the request for itself, and the leader's folder decides where they begin.

The same command goes on after a crash, without ``--resume``: whoever starts workers again gives them the same words.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from gtea.models.model_folder import SavedModel
from gtea.training.fit import Task, assist, train_task
from gtea.training.loop import TrainingListener
from gtea.training.request import LinkRequest, NodeRequest, folder_of
from gtea.training.run_record import RUN
from gtea.training.workers import Workers


def train_shared(
    read: Callable[[], NodeRequest | LinkRequest],
    out: str | None,
    resume: str | None,
    workers: Workers,
    listener: TrainingListener,
) -> SavedModel | None:
    """Train what is asked for, or go on with it where it was begun.

    Args:
        read: Opens the request. Every worker may read copies of its own: they are compared.
        out: The folder to create. Only the leader needs it.
        resume: The run to resume, instead of ``out``.
        workers: Those who share the training.
        listener: Told by the leader.

    Returns:
        The model; None in all workers but the leader.
    """
    with workers.together():
        folder = folder_of(out, resume) if workers.leads else Path(out or resume or "").absolute()
        task: Task[Any] = read().once(folder)
    if not workers.leads:
        assist(task, workers)
        return None
    return train_task(task, listener, resume=resume is not None or (folder / RUN).exists(), workers=workers)
