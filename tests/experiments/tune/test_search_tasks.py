"""A search as tasks gives the trials of a search in one process, whatever the order in which they end."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.cluster.conftest import InThisProcess

from gtea.cluster.schedule import Then
from gtea.cluster.tasks import FileTask
from gtea.errors import UsageError
from gtea.experiments.tune.pruning import MedianRule
from gtea.experiments.tune.search import Search, tune
from gtea.experiments.tune.search_tasks import tune_on
from gtea.experiments.tune.space import Space
from gtea.experiments.tune.trials import Trial
from gtea.runtime.progress import Progress, no_progress
from gtea.training.request import NodeRequest
from gtea.training.request_record import RequestRecord

EXTRA = ("train.metric=roc_auc", "model.dropout=0.1")


class LastFirst(InThisProcess):
    """Runs the trials in the opposite order: nobody can know whether a trial is to be pruned while it runs."""

    def run(self, tasks: Sequence[FileTask], folder: Path, progress: Progress, then: Then | None = None) -> bool:
        *trials, last = tasks
        return super().run([*reversed(trials), last], folder, progress, then)


@pytest.fixture
def searched(data: Path, nodes: Callable[..., NodeRequest], space_of: Callable[..., Space], tmp_path: Path) -> Any:
    request = nodes(*EXTRA)
    search = Search("random", space_of(), 4, seed=4, rule=MedianRule(1, 1))
    record = RequestRecord.of(request, {"labels": data / "labels.csv"})

    def run(carrier: InThisProcess | None, name: str, **options: Any) -> list[Trial] | None:
        if carrier is None:
            return tune(request, search, tmp_path / name, lambda status: None)
        return tune_on(carrier, request, record, search, tmp_path / name, None, no_progress, **options)

    return run


def left(out: Path) -> dict[str, Any]:
    trials = [json.loads(path.read_text()) for path in sorted((out / "trials").iterdir())]
    return {
        "trials": [{**trial, "seconds": 0} for trial in trials],
        "best": (out / "best.toml").read_bytes(),
        "search": (out / "tune.json").read_bytes(),
        "names": sorted(path.name for path in out.iterdir()),
    }


@pytest.mark.slow
def test_in_any_order_and_killed_the_trials_are_the_same(searched: Any, tmp_path: Path) -> None:
    searched(None, "plain")
    expected = left(tmp_path / "plain")
    assert {trial["state"] for trial in expected["trials"]} == {"finished", "pruned"}
    for name, carrier in (("first", InThisProcess()), ("last", LastFirst())):
        searched(carrier, name)
        assert left(tmp_path / name) == expected
        assert carrier.ran[-1] == "all"

    def die(task: FileTask, folder: Path) -> None:
        if len(carrier.ran) == 2:
            raise KeyboardInterrupt

    carrier = LastFirst(die)
    with pytest.raises(KeyboardInterrupt):
        searched(carrier, "killed")
    assert not list((tmp_path / "killed/trials").glob("*"))
    again = InThisProcess()
    assert searched(again, "killed") is not None
    assert left(tmp_path / "killed") == expected
    assert not list(tmp_path.glob("*.parts"))
    with pytest.raises(UsageError, match=r"killed: exists\. Continue with --resume"):
        searched(again, "killed")
    assert searched(again, "killed", resume=True) is not None


def test_tpe_can_not_be_spread(
    data: Path, nodes: Callable[..., NodeRequest], space_of: Callable[..., Space], tmp_path: Path
) -> None:
    request = nodes()
    record = RequestRecord.of(request, {"labels": data / "labels.csv"})
    with pytest.raises(UsageError, match=r"--on: goes with --search grid and random \(got tpe"):
        tune_on(InThisProcess(), request, record, Search("tpe", space_of(), 4), tmp_path / "t", None, no_progress)
