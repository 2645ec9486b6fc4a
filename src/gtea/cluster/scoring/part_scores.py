"""``gtea score --on``: the tasks of a job that scores accounts, and its result."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from gtea.cluster.carriers import Carrier
from gtea.cluster.scoring.answer import answer, answer_few
from gtea.cluster.scoring.job import ACCOUNTS, PLAN, PartPlan
from gtea.cluster.scoring.rank import rank
from gtea.cluster.scoring.score_tasks import (
    LAST,
    ScoreRequest,
    Stages,
    file_for_scores,
    require_exact,
    run_score_job,
)
from gtea.cluster.tasks import FileTask, name_of
from gtea.models.model_folder import load_model
from gtea.runtime.progress import Progress, no_progress
from gtea.scoring.options import Grain
from gtea.scoring.prevalence import for_prevalence
from gtea.scoring.scorer import NodeModel
from gtea.scoring.table import ScoreSummary
from gtea.store.store import Store
from gtea.tasks.accounts import read_accounts

_DEFAULT_GRAIN = Grain()


def score_accounts_on(
    carrier: Carrier,
    model: Path,
    store: Path,
    out: str | Path,
    *,
    accounts: Any = None,
    as_of: str | None = None,
    unknown: Literal["error", "skip"] = "error",
    prevalence: float | None = None,
    for_spreadsheets: bool = False,
    device: torch.device,
    parts: int | None = None,
    work: Path | None = None,
    grain: Grain = _DEFAULT_GRAIN,
    progress: Progress = no_progress,
) -> ScoreSummary | None:
    """Score accounts exactly, as ``score_accounts`` does and to the same bytes, by tasks.

    Args:
        parts: How many parts to cut the accounts into; by default as many as there are workers, or as the folder has.
        work: The folder of the tasks' files; by default next to ``out``.

    Returns:
        The summary; None if another process ends the job.
    """
    out = file_for_scores(out, for_spreadsheets)
    saved, opened = load_model(model), Store.open(store)
    ready = NodeModel(saved if prevalence is None else for_prevalence(saved, prevalence), device)
    require_exact(ready)
    asked = None if accounts is None else read_accounts(accounts, opened, unknown=unknown)
    request = ScoreRequest(
        NodeModel(saved, device),
        opened,
        out,
        kind=ACCOUNTS,
        model=model,
        as_of=as_of,
        prevalence=prevalence,
        requested=None if asked is None else {"nodes": np.unique(asked.nodes)},
        for_spreadsheets=for_spreadsheets,
        device=device,
        parts=parts,
        work=work,
        grain=grain,
        num_workers=carrier.num_workers,
    )
    last = run_score_job(carrier, request, lambda plan, surveys: _later_tasks(request, plan, surveys), progress)
    if last is None:
        return None
    return _summary(request, ready, last, {} if asked is None else asked.report)


def _later_tasks(request: ScoreRequest, plan: PartPlan, surveys: list[str]) -> list[FileTask]:
    """All tasks that come after the plan, each after those that it reads."""
    if request.requested is not None and request.are_few(request.requested["nodes"], plan):
        few = FileTask("answer.few", name_of(answer_few), {}, (PLAN,))
        return [few, FileTask(LAST, name_of(rank), {**request.output, "answers": [few.name]}, (few.name,))]
    stages = Stages(request.model, plan, surveys, request.grain)
    answers = [
        FileTask(f"answer.{part}", name_of(answer), {"part": part, "surveys": surveys}, stages.after(part))
        for part in range(plan.num_parts)
    ]
    names = tuple(task.name for task in answers)
    return [*stages.all(), *answers, FileTask(LAST, name_of(rank), {**request.output, "answers": names}, names)]


def _summary(request: ScoreRequest, model: NodeModel, last: dict[str, Any], report: dict[str, Any]) -> ScoreSummary:
    summary: ScoreSummary = {
        "accounts": last["rows"],
        "out": str(request.out),
        "top": last["top"],
        "inactive": last["inactive"],
        "as_of": request.cut,
        "as_of_date": request.store.date(request.cut),
        "sampled": False,
        "input": report,
    }
    if model.threshold is not None:
        summary["threshold"] = model.threshold.value
        summary["alerts"] = last["alerts"]
    return summary
