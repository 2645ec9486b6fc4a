"""What a page says besides its table."""

from __future__ import annotations

from gtea.experiments.paper.page import settings_lines
from gtea.experiments.paper.plan import Plan, model_points
from gtea.experiments.paper.rows import rows_of
from gtea.experiments.runs.subject import Subject


def test_settings_that_rows_share_are_told_once(links: Subject) -> None:
    plan, points = Plan("paper", settings=("train.epochs=2",)), model_points("links", ())
    told = settings_lines(rows_of(points, plan.jobs(links, points), {}))
    assert told == [
        "Settings that differ from gtea's defaults: `train.epochs=2`.",
        'gtea-l+t, gtea-tx+t also: `features.time_origin="calendar"`.',
        'hybrid also: `features.time_origin="calendar"`, `train.refit_trees=false`.',
        "tree also: `train.refit_trees=false`.",
    ]
