"""Which runs there are, and what tells them apart."""

from __future__ import annotations

from typing import get_args

from gtea.experiments.paper.paper_results import TABLE1_MODELS
from gtea.experiments.paper.plan import Plan, Point, model_points
from gtea.experiments.runs.jobs import Job, Repeat
from gtea.experiments.runs.subject import Subject
from gtea.tasks.link_split import LinkProtocol


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
    found = {
        (name, protocol): (made.repeat.fold, made.folds, made.config.split.protocol)
        for name, about in (("nodes", subject), ("links", links))
        for protocol in get_args(LinkProtocol)
        if (made := job(about, Plan(protocol, 3)))
    }
    assert found == {
        ("nodes", "paper"): (0, 3, "temporal"),
        ("nodes", "temporal"): (None, 3, "temporal"),
        ("links", "paper"): (None, 3, "paper"),
        ("links", "temporal"): (None, 3, "temporal"),
    }


def test_by_the_papers_protocol_time_encodings_go_by_the_calendar(subject: Subject, links: Subject) -> None:
    for about in (subject, links):
        origins = {
            (model, protocol): job(about, Plan(protocol), model).config.features.time_origin
            for model in ("gtea-l+t", "gtea-l", "tgat")
            for protocol in get_args(LinkProtocol)
        }
        assert [each for each, origin in origins.items() if origin == "calendar"] == [("gtea-l+t", "paper")]
    chosen = job(subject, Plan("paper", settings=("features.time_origin=pair",)), "gtea-l+t")
    assert chosen.config.features.time_origin == "pair"
