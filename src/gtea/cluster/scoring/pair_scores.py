"""``gtea score --pairs --on``: the tasks of a job that scores pairs, and its result.

Pairs are scored in blocks, in the order of both ends; a part of them is a whole number of blocks, whatever the parts of
the accounts are.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch

from gtea.cluster.carriers import Carrier
from gtea.cluster.scoring.answer_pairs import answer_pairs
from gtea.cluster.scoring.event_times import LOOKUP, lookup, times
from gtea.cluster.scoring.job import PAIRS, PLAN, PartPlan
from gtea.cluster.scoring.pair_ends import FEW, ends, few, grant
from gtea.cluster.scoring.rank import rank_pairs
from gtea.cluster.scoring.score_tasks import (
    LAST,
    ScoreRequest,
    Stages,
    file_for_scores,
    require_exact,
    run_score_job,
)
from gtea.cluster.tasks import FileTask, name_of
from gtea.runtime.progress import Progress, no_progress
from gtea.scoring.options import Grain
from gtea.scoring.scorer import LinkModel
from gtea.scoring.table import ScoreSummary
from gtea.store.store import Store
from gtea.tasks.pairs import read_pairs

_DEFAULT_GRAIN = Grain()


def score_pairs_on(
    carrier: Carrier,
    model: Path,
    store: Path,
    pairs: Any,
    out: str | Path,
    *,
    as_of: str | None = None,
    unknown: Literal["error", "skip"] = "error",
    for_spreadsheets: bool = False,
    device: torch.device,
    parts: int | None = None,
    work: Path | None = None,
    grain: Grain = _DEFAULT_GRAIN,
    progress: Progress = no_progress,
) -> ScoreSummary | None:
    """Score pairs exactly, as ``score_pairs`` does and to the same bytes, by tasks.

    Args:
        parts: How many parts to cut the accounts and the pairs into; see ``score_accounts_on``.
        work: The folder of the tasks' files; by default next to ``out``.

    Returns:
        The summary; None if another process ends the job.
    """
    out = file_for_scores(out, for_spreadsheets)
    opened, ready = Store.open(store), LinkModel.open(model, device)
    require_exact(ready)
    found = read_pairs(pairs, opened, unknown=unknown)
    order = np.lexsort((found.dst, found.src))
    request = ScoreRequest(
        ready,
        opened,
        out,
        kind=PAIRS,
        model=model,
        as_of=as_of,
        prevalence=None,
        requested={"src": found.src[order], "dst": found.dst[order]},
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
    return {
        "pairs": last["rows"],
        "out": str(out),
        "top": last["top"],
        "inactive": last["inactive"],
        "as_of": request.cut,
        "as_of_date": opened.date(request.cut),
        "sampled": False,
        "input": found.report,
    }


def _later_tasks(request: ScoreRequest, plan: PartPlan, surveys: list[str]) -> list[FileTask]:
    """All tasks that come after the plan, each after those that it reads."""
    assert request.requested is not None, "pairs are named"
    src, dst = request.requested["src"], request.requested["dst"]
    timed = _time_tasks(request)
    are_few = request.are_few(np.unique(np.concatenate([src, dst])), plan)
    stages = Stages(request.model, plan, surveys, request.grain)
    embedded = [FileTask(FEW, name_of(few), {}, (PLAN,))] if are_few else list(stages.all())
    shares = _shares(len(src), request.grain.pairs, request.parts)
    asking = [
        FileTask(f"ends.{number}", name_of(ends), {"first": share.start, "last": share.stop}, (PLAN,))
        for number, share in enumerate(shares)
    ]
    asked, known = [task.name for task in asking], tuple(task.name for task in timed[-1:])
    grants = [
        FileTask(
            f"grant.{part}",
            name_of(grant),
            {"part": part, "asking": asked, "few": are_few, "surveys": surveys},
            (*asked, *known, *((FEW,) if are_few else stages.after(part))),
        )
        for part in range(plan.num_parts)
    ]
    granting = [task.name for task in grants]
    answers = [
        FileTask(
            f"answer.{number}",
            name_of(answer_pairs),
            {"first": share.start, "last": share.stop, "asked": asked[number], "grants": granting},
            (*granting, asked[number], *known),
        )
        for number, share in enumerate(shares)
    ]
    names = tuple(task.name for task in answers)
    last = FileTask(LAST, name_of(rank_pairs), {**request.output, "answers": names}, names)
    return [*timed, *embedded, *asking, *grants, *answers, last]


def _time_tasks(request: ScoreRequest) -> list[FileTask]:
    """The tasks that find out how many events are before each; none if the model doesn't ask."""
    fitted = request.model.preprocessing
    if fitted.pair_statistics is None or fitted.events_per_unit is None:
        return []
    bounds = np.linspace(0, request.store.num_events, request.parts + 1).astype(np.int64).tolist()
    made = [
        FileTask(f"times.{part}", name_of(times), {"first": bounds[part], "last": bounds[part + 1]})
        for part in range(request.parts)
    ]
    names = tuple(task.name for task in made)
    return [*made, FileTask(LOOKUP, name_of(lookup), {"times": names}, names)]


def _shares(num_pairs: int, block: int, parts: int) -> list[range]:
    """Pairs in parts of about as many, each a whole number of blocks."""
    blocks = -(-num_pairs // block)
    bounds = np.unique(np.linspace(0, blocks, parts + 1).astype(np.int64)) * block
    bounds[-1] = num_pairs
    return [range(int(bounds[i]), int(bounds[i + 1])) for i in range(len(bounds) - 1)]
