"""What training says on its way."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from gtea.cli.bars import training_figures
from gtea.config import TrainConfig
from gtea.training.fit import train_task
from gtea.training.loop import TrainingReport, _learning_rate
from gtea.training.node_task import NodeTask


def test_reports_follow_the_run_to_its_end(run_of: Callable[..., NodeTask]) -> None:
    reports: list[TrainingReport] = []
    run = run_of()
    model = train_task(run, reports.append)
    ends = [report for report in reports if report.row is not None]
    assert [report.epoch for report in ends] == [0, 1, 2]
    assert all(report.folder == run.folder and report.epochs == 3 for report in reports)
    assert all(report.events_per_second > 0 for report in reports)
    places = [(report.epoch, report.done) for report in reports]
    assert places == sorted(places)
    assert reports[0].best is None
    rows = [report.row for report in ends if report.row is not None]
    assert ends[-1].best == max(row["validation_macro_f1"] for row in rows)
    # The model's own macro-F1 is at its threshold. Its ranking is that of the best epoch.
    best = rows[model.metrics["best_epoch"]]
    assert best["validation_macro_f1"] == ends[-1].best
    assert model.metrics["validation"]["roc_auc"] == pytest.approx(best["validation_roc_auc"])


def test_the_figures_name_loss_and_best_metric(run_of: Callable[..., NodeTask]) -> None:
    lines: list[str] = []
    train_task(run_of(), lambda report: lines.append(training_figures(report)))
    assert lines[0].startswith("loss ")
    assert "best" not in lines[0]
    assert " best 0." in lines[-1]


def test_the_learning_rate_is_a_function_of_the_epoch() -> None:
    assert [_learning_rate(TrainConfig(lr=0.5), epoch) for epoch in (0, 50)] == [0.5, 0.5]
    cosine = [_learning_rate(TrainConfig(lr=0.5, epochs=4, schedule="cosine"), epoch) for epoch in range(4)]
    assert cosine[0] == 0.5
    assert cosine[2] == pytest.approx(0.25)
    assert cosine == sorted(cosine, reverse=True)
