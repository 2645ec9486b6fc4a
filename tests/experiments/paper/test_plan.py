"""Which runs there are, and what tells them apart."""

from __future__ import annotations

from pathlib import Path
from typing import get_args

import pytest

from gtea.experiments.paper.jobs import Job, Repeat
from gtea.experiments.paper.page import settings_lines
from gtea.experiments.paper.paper_results import TABLE1_MODELS
from gtea.experiments.paper.plan import Plan, Point, model_points
from gtea.experiments.paper.rows import rows_of
from gtea.experiments.paper.subject import Subject, own_subject
from gtea.tasks.link_split import LinkProtocol


@pytest.fixture
def subject(data: Path) -> Subject:
    return own_subject(data / "tiny.store", data / "labels.csv")


@pytest.fixture
def links(data: Path) -> Subject:
    return own_subject(data / "tiny.store", None)


def job(subject: Subject, plan: Plan, model: str = "gtea-l", **settings: object) -> Job:
    named = {name.replace("__", "."): value for name, value in settings.items()}
    return plan.jobs(subject, [Point(model, named, model)])[0][0]


def test_all_models_in_the_papers_order_and_edgebank_for_links() -> None:
    assert [point.model for point in model_points("nodes", ())] == [*TABLE1_MODELS, "hybrid", "tree"]
    assert [point.model for point in model_points("links", ())] == [*TABLE1_MODELS, "hybrid", "tree", "edgebank"]
    assert [point.model for point in model_points("nodes", ("tree", "gcn", "tree"))] == ["gcn", "tree"]


def test_folds_are_the_papers_and_of_accounts_only() -> None:
    assert Plan("paper", 3, seed=7).repeats("nodes") == (Repeat(0, 7), Repeat(1, 7), Repeat(2, 7))
    for plan, task in ((Plan("temporal", 2, seed=7), "nodes"), (Plan("paper", 2, seed=7), "links")):
        assert plan.repeats(task) == (Repeat(None, 7), Repeat(None, 8))  # type: ignore[arg-type]


def test_the_split_is_the_protocols(subject: Subject, links: Subject) -> None:
    kinds = {
        (name, protocol): (found.kind, found.protocol)
        for name, about in (("nodes", subject), ("links", links))
        for protocol in get_args(LinkProtocol)
        if (found := job(about, Plan(protocol, 3)).config.split)
    }
    assert kinds == {
        ("nodes", "paper"): ("folds", "temporal"),
        ("nodes", "temporal"): ("temporal", "temporal"),
        ("links", "paper"): ("temporal", "paper"),
        ("links", "temporal"): ("temporal", "temporal"),
    }


def test_by_the_papers_protocol_time_encodings_go_by_the_calendar(subject: Subject, links: Subject) -> None:
    for about in (subject, links):
        clocks = {
            (model, protocol): job(about, Plan(protocol), model).config.features.time_origin
            for model in ("gtea-l+t", "gtea-l", "tgat")
            for protocol in get_args(LinkProtocol)
        }
        assert [each for each, clock in clocks.items() if clock == "calendar"] == [("gtea-l+t", "paper")]
    chosen = job(subject, Plan("paper", settings=("features.time_origin=pair",)), "gtea-l+t")
    assert chosen.config.features.time_origin == "pair"


def test_a_name_is_that_of_data_and_settings_with_an_effect(subject: Subject, links: Subject, data: Path) -> None:
    plain = job(subject, Plan())
    assert plain.stem.startswith("gtea-l-seed0-")
    assert plain.settings == {}
    same = [
        job(subject, Plan(settings=("train.checkpoint_seconds=1"))),
        job(subject, Plan(settings=("train.lr=0.001",))),
        job(subject, Plan(folds=9)),
        job(subject, Plan(), model__attention="sparsemax"),
    ]
    assert {each.stem for each in same} == {plain.stem}
    mine = own_subject(data / "tiny.store", data / "labels.csv", positive="normal")
    others = [
        job(subject, Plan(settings=("train.lr=0.002",))),
        job(subject, Plan(seed=1)),
        job(subject, Plan("paper")),
        job(subject, Plan("paper", folds=4)),
        job(subject, Plan(), model__attention="softmax"),
        job(links, Plan()),
        job(mine, Plan()),
    ]
    assert len({each.stem for each in (plain, *others)}) == len(others) + 1


def test_other_labels_have_other_names(subject: Subject, data: Path, tmp_path: Path) -> None:
    lines = (data / "labels.csv").read_text().splitlines()
    (tmp_path / "labels.csv").write_text("\n".join(lines[:-1]) + "\n")
    fewer = own_subject(data / "tiny.store", tmp_path / "labels.csv")
    assert job(fewer, Plan()).stem != job(subject, Plan()).stem


def test_settings_that_rows_share_are_told_once(links: Subject) -> None:
    plan, points = Plan("paper", settings=("train.epochs=2",)), model_points("links", ())
    told = settings_lines(rows_of(points, plan.jobs(links, points), {}))
    assert told == [
        "Settings that differ from gtea's defaults: `train.epochs=2`.",
        'gtea-l+t, gtea-tx+t, hybrid also: `features.time_origin="calendar"`.',
    ]
