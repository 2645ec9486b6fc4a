"""``gtea train`` in several processes that share one training: those of ``--on local:N``, or those of torchrun."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from gtea.cli.bars import training_bar
from gtea.cli.output import given
from gtea.cli.terminal import warn
from gtea.errors import UsageError

if TYPE_CHECKING:
    from gtea.training.request import LinkRequest, NodeRequest
    from gtea.training.results import TrainingResult


def started_by_torchrun() -> bool:
    """Whether torchrun started this process. Its own messages are then kept to errors: read when torch is loaded."""
    found = "TORCHELASTIC_RUN_ID" in os.environ
    if found:
        os.environ.setdefault("TORCH_CPP_LOG_LEVEL", "ERROR")
    return found


def train_on(
    on: str, request: NodeRequest | LinkRequest, options: Mapping[str, Any], out: str | None, resume: str | None
) -> TrainingResult:
    """Train in processes of this machine."""
    match = re.fullmatch(r"local:([1-9]\d*)", on)
    if match is None:
        raise UsageError(
            f"--on: one training must be on local:N, processes of this machine (got {on!r}). Try local:2 or, for "
            "several machines, torchrun as in docs/how-to/scale-out.md. Other places need --folds."
        )
    from gtea.training.local_workers import train_in_workers
    from gtea.training.request_record import RequestRecord

    record = RequestRecord.of(request, options)
    with training_bar() as bar:
        return train_in_workers(int(match[1]), request, record, out, resume, bar, lambda line: warn(f"note: {line}"))


def train_by_torchrun(
    read: Callable[[], NodeRequest | LinkRequest], device: str, out: str | None, resume: str | None
) -> TrainingResult | None:
    """Train this process's share. None if another process, the leader, tells the result."""
    for name in ("on", "folds"):
        if given(name):
            raise UsageError(f"--{name}: torchrun has started processes to share one training. Leave it out.")
    from gtea.training.process_group import joined_by_torchrun
    from gtea.training.request import folder_of, result_of
    from gtea.training.shared_run import train_shared
    from gtea.training.tensorboard import with_board

    with training_bar() as bar, joined_by_torchrun(device) as workers:
        model = train_shared(read, out, resume, workers, with_board(bar))
        return None if model is None else result_of(model, folder_of(out, resume))
