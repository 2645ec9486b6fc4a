"""What a training returns has the declared keys, and no others."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NotRequired, get_origin, get_type_hints

import pytest

from gtea.training.folds import run_folds
from gtea.training.loop import no_report
from gtea.training.request import LinkRequest, NodeRequest, run_once
from gtea.training.results import FoldsResult, MeanAndStd, TrainingResult

SHORT = ["train.epochs=1", "sampling.batch_size=64"]


def check_keys(result: Any, shape: Any) -> None:
    hints = get_type_hints(shape, include_extras=True)
    required = {name for name, hint in hints.items() if get_origin(hint) is not NotRequired}
    assert required <= set(result) <= set(hints)


@pytest.mark.parametrize("task", ["nodes", "links"])
def test_one_model(payments: Any, tmp_path: Path, task: str) -> None:
    request: NodeRequest | LinkRequest = (
        NodeRequest.read(payments.store.path, payments.labels, variant="gcn", settings=SHORT)
        if task == "nodes"
        else LinkRequest.read(payments.store.path, variant="gcn", settings=SHORT)
    )
    check_keys(run_once(request, str(tmp_path / "model"), None, no_report), TrainingResult)


def test_folds(payments: Any, tmp_path: Path) -> None:
    request = NodeRequest.read(payments.store.path, payments.labels, variant="gcn", settings=SHORT)
    result = run_folds(request, 3, str(tmp_path / "folds"), None, no_report)
    check_keys(result, FoldsResult)
    for metric in result["test"].values():
        check_keys(metric, MeanAndStd)
