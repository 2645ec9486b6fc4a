"""A job that has been run up to its end, with all files left: for tests that look at single tasks."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

from tests.cluster.conftest import CPU, CUT, GRAIN, Case, InThisProcess

from gtea.cluster.scoring.pair_scores import score_pairs_on
from gtea.cluster.scoring.part_scores import score_accounts_on
from gtea.cluster.tasks import FileTask


def job_of(case: Case, model: Path, parts: int = 3) -> Path:
    """The folder of a finished job."""
    folder, kept = case.out / "kept.parquet.parts", case.out / "job"

    def keep(task: FileTask, folder: Path) -> None:
        if task.name == "rank":
            shutil.copytree(folder, kept)

    out = folder.with_suffix("")
    score_accounts_on(InThisProcess(keep), model, case.store, out, as_of=CUT, device=CPU, parts=parts, grain=GRAIN)
    return kept


def pair_job_of(case: Case, model: Path, parts: int = 3) -> Path:
    """The folder of a finished job that scores pairs."""
    folder, kept = case.out / "kept-pairs.parquet.parts", case.out / "job-pairs"

    def keep(task: FileTask, folder: Path) -> None:
        if task.name == "rank":
            shutil.copytree(folder, kept)

    carrier, out = InThisProcess(keep), folder.with_suffix("")
    given: dict[str, Any] = {"as_of": CUT, "device": CPU, "parts": parts, "grain": GRAIN}
    score_pairs_on(carrier, model, case.store, str(case.pairs()), out, **given)
    return kept
