"""``gtea report --on``: one task ranks all accounts, and others write their pages; to the same files."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from gtea.cluster.carriers import Carrier
from gtea.cluster.joined_tasks import begin_job, end_job, require_node_of, run_joined
from gtea.cluster.part_files import Arrays
from gtea.cluster.tasks import FileTask, name_of
from gtea.errors import StoreError, UsageError
from gtea.models.model_folder import load_model
from gtea.report.exports import ExportOptions
from gtea.report.page_tasks import PLAN, page_tasks, plan_facts, read_page_plan, read_rows
from gtea.report.report import (
    ReportOptions,
    ReportPlan,
    finish_report,
    plan_report,
    require_possible,
    written_alone,
)
from gtea.runtime.parallel import torch_threads
from gtea.runtime.progress import Progress, no_progress
from gtea.scoring.edge_cache import model_digest
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store
from gtea.training.run_record import threads

_PATIENCE = 600.0
"""Seconds to wait for another command to finish the same report."""


def write_report_on(
    carrier: Carrier,
    model: Path,
    store: Path,
    out: Path,
    options: ReportOptions,
    *,
    device: torch.device,
    work: Path | None = None,
    progress: Progress = no_progress,
) -> dict[str, Any] | None:
    """Write the same files as ``write_report``.

    Args:
        work: The folder of the tasks' files; by default next to ``out``.

    Returns:
        The record of the report; None if another process ends it.
    """
    require_possible(out, options)
    folder = (work or out.with_name(f"{out.name}.parts")).absolute()
    first = FileTask(PLAN, name_of(_plan), _arguments(model, store, out, options, device))
    begin_job("report", [first], folder, out, resume=True)

    def pages() -> list[FileTask]:
        return page_tasks(len(read_page_plan(folder)[1]), after=(PLAN,))

    if not run_joined(carrier, [first], folder, progress, pages):
        return None
    request, chosen = read_page_plan(folder)
    plan = ReportPlan(request, chosen, NodeModel.open(model, device), Store.open(store).as_of(request.cut))
    with written_alone(out, timeout=_PATIENCE):
        record = finish_report(plan, read_rows(folder, pages()), unlabelled=options.unlabelled)
    for name in record["files"]:
        if not (out / name).exists():
            raise StoreError(f"{out / name}: was deleted meanwhile. Delete {folder}, and run the report again.")
    end_job(carrier, folder, keep=(PLAN, *(task.name for task in pages())))
    return record


def _arguments(model: Path, store: Path, out: Path, options: ReportOptions, device: torch.device) -> dict[str, Any]:
    """Everything that the report depends on."""
    accounts = options.accounts
    if accounts is not None and not isinstance(accounts, str):
        raise UsageError("--accounts: must be a file with --on (got a table). Write it to one.")
    return {
        "model": str(model.absolute()),
        "model_digest": model_digest(load_model(model)),
        "store": str(store.absolute()),
        "data_digest": Store.open(store).digest,
        "out": str(out.absolute()),
        "accounts_digest": None if accounts is None else _digest(Path(accounts)),
        "options": {**asdict(options), "accounts": accounts and str(Path(accounts).absolute())},
        "device": device.type,
        "threads": threads(),
    }


def _digest(path: Path) -> str:
    """What a file holds. One that can't be read is refused by whoever reads it as a table."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


def _plan(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The task: rank all accounts, and choose."""
    require_node_of(folder)
    content = arguments["options"]
    exports = content["exports"]
    options = ReportOptions(**{**content, "exports": None if exports is None else ExportOptions(**exports)})
    out = Path(arguments["out"])
    with torch_threads(arguments["threads"]), written_alone(out):
        plan = plan_report(
            Path(arguments["model"]),
            Path(arguments["store"]),
            out,
            options,
            device=torch.device(arguments["device"]),
            progress=no_progress,
        )
    if (plan.view.store.digest, model_digest(plan.model.saved)) != (
        arguments["data_digest"],
        arguments["model_digest"],
    ):
        raise UsageError(
            f"{arguments['store']}, {arguments['model']}: are not those that the job began with. Let all workers see "
            "the same, or start the command again."
        )
    return {}, plan_facts(plan.request, plan.chosen)
