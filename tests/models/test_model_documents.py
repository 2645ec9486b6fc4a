"""Documents of a model that can't be: each is named, none is believed."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from tests.models.documents import CONFIG, PREPROCESSING, metrics_of

from gtea.features.pair_statistics import PAIR_STATISTICS
from gtea.models.model_documents import config_faults, metrics_faults, old_metrics_faults, preprocessing_faults

NODES: dict[str, Any] = {**CONFIG, "task": "nodes", "classes": ["bad", "good"], "positive": "bad"}
LINKS: dict[str, Any] = {**CONFIG, "task": "links"}
LABELS = {"classes": ["bad", "good"], "keys": [5, 2**64 - 1], "targets": [1, 0]}
RANKS = {"names": ["gap"], "knots": [[0.0, 1.0]], "with_nan": False}
FIGURES = {
    "log_loss": 1, "calibration_error": 1, "brier": 0,
    "reliability": {"predicted": [0.5], "observed": [], "counts": []},
}  # fmt: skip
FOUND = metrics_of(None)["validation"]
INTERVAL = {"difference": 0.1, "low": 0, "high": 0.2}
GONE = object()


def changed(content: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy with the value at a dotted path replaced, or without it."""
    made = copy.deepcopy(content)
    *parents, last = path.split(".")
    place: Any = made
    for name in parents:
        place = place[name]
    if value is GONE:
        del place[last]
    else:
        place[last] = value
    return made


@pytest.mark.parametrize("content", [NODES, LINKS, {**NODES, "classes": ["a", "b", "c"], "positive": None}])
def test_what_training_writes_has_no_fault(content: dict[str, Any]) -> None:
    assert list(config_faults(content)) == []
    assert list(preprocessing_faults(PREPROCESSING, content)) == []
    metrics = metrics_of(content.get("classes"))
    assert list(metrics_faults(metrics, content)) == []


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("task", "pairs", "config.task must be one of nodes, links (got 'pairs')"),
        ("classes", GONE, "config.classes and config.positive must be given for a model of accounts (got none)"),
        ("classes", ["bad", "bad"], "config.classes must be two or more different names (got 2)"),
        ("classes", ["bad", 1], "config.classes[1] must be text (got 1)"),
        ("positive", "ugly", "config.positive must be one of the classes (got 'ugly')"),
        ("positive", None, "config.positive must be given for two classes, and not for more"),
        ("class_values", [1, 2, 3], "config.class_values must be as many as the classes (got 3)"),
        ("class_values", [{}, []], "config.class_values[0] must be text (got {})"),
        ("input.d_node_features", 1.5, "config.input.d_node_features must be a whole number"),
        ("input.d_node_features", 10**9, "config: input.d_node_features must be from 0 to 16777216 (got 1000000000)"),
        ("input.d_own_features", 5, "config: input.d_own_features must be from 0 to 0 (got 5)"),
        ("input.longest_period", "x", "config.input.longest_period must be a finite number (got 'x')"),
        ("input.more", 1, "config.input must be an object with"),
        ("run", [], "config.run must be an object (got [])"),
        ("run.model", GONE, "config: settings must have the sections model, features"),
        ("run.model.more", 1, "config: model must be a section with family"),
        ("run.model.d_node", 10**9, "config: model.d_node must be from 1 to 65536 (got 1000000000)"),
        ("run.model.family", ["tree"], "config: model.family must be one of"),
        ("run.sampling.fanout", 10**9, "config: sampling.fanout must be at most 16384 (got 1000000000)"),
        ("run.train.seed", 2**70, "config: train.seed must be a number of at most 64 bits"),
    ],
)
def test_a_configuration_that_can_not_be(path: str, value: Any, message: str) -> None:
    assert next(config_faults(changed(NODES, path, value))).startswith(message)


def test_links_have_two_classes_or_none() -> None:
    faults = config_faults({**LINKS, "classes": ["a", "b", "c"], "positive": "a"})
    assert next(faults) == "config.classes must be two for a model of links (got 3)"
    assert next(config_faults(None)).startswith("config must be an object with task, input, run (got None)")


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("times", GONE, "preprocessing must be an object with times, events, nodes"),
        ("times.unit", 0, "preprocessing.times must have a unit above 0 and a span that is not negative"),
        ("times.origin", 2**63, "preprocessing.times.origin must be a whole number of at most 64 bits"),
        ("events_per_unit", 0.0, "preprocessing.events_per_unit must be above 0 (got 0.0)"),
        ("events.scaler.names", ["amount"], "preprocessing.events.scaler.names must end in gap"),
        ("events.scaler.std", [0.0], "preprocessing.events.scaler must have std above 0, and small not below 0"),
        ("events.scaler.mean", [0.0, 1.0], "preprocessing.events.scaler must have different names, and one number"),
        ("events.vocabularies", [{"column": 1, "words": []}], "preprocessing.events.vocabularies[0].column must be"),
        ("nodes.kinds", [], "preprocessing.nodes.kinds must name one or more kinds, each once (got [])"),
        ("nodes.kinds", ["given"], "preprocessing.nodes.given must be given if it is one of the kinds, and only then"),
        ("nodes.kinds", ["statistics", "random"], "preprocessing.nodes.d_random must fit the kinds, and be at most"),
        ("nodes.d_random", 10**9, "preprocessing.nodes.d_random must fit the kinds, and be at most 65536"),
        ("nodes.statistics.names", ["a", "b"], "preprocessing.nodes.statistics must have different names"),
        ("rank_inputs", {**RANKS, "knots": []}, "preprocessing.rank_inputs must have knots for each name"),
        ("rank_inputs", {**RANKS, "knots": [[1.0, 1.0]]}, "preprocessing.rank_inputs.knots must be ascending"),
        ("rank_inputs", {**RANKS, "names": ["x"]}, "preprocessing.rank_inputs.names must be those of the node"),
        ("rank_inputs", RANKS, "preprocessing must have as many columns as config.input.d_head_inputs says (got 1"),
        ("pair_statistics", RANKS, "preprocessing.pair_statistics.names must be the statistics of this version"),
        ("tree_nodes", PREPROCESSING["nodes"], "preprocessing.tree_nodes must be null for a model without trees"),
        ("neighbour_labels", LABELS, "preprocessing must have as many columns as config.input.d_head_inputs says"),
        ("neighbour_labels", {**LABELS, "classes": ["x"]}, "preprocessing.neighbour_labels.classes must be those of"),
        ("neighbour_labels", {**LABELS, "keys": [5]}, "preprocessing.neighbour_labels must have ascending keys"),
        ("neighbour_labels", {**LABELS, "keys": [5, 5]}, "preprocessing.neighbour_labels must have ascending keys"),
        ("neighbour_labels", {**LABELS, "keys": [5, 2**64]}, "preprocessing.neighbour_labels.keys must be whole"),
        ("neighbour_labels", {**LABELS, "keys": [5, "6"]}, "preprocessing.neighbour_labels.keys must be whole"),
        ("neighbour_labels", {**LABELS, "keys": 5}, "preprocessing.neighbour_labels.keys must be a list (got 5)"),
        ("neighbour_labels", {**LABELS, "targets": [0, 2]}, "preprocessing.neighbour_labels.targets must be whole"),
        ("neighbour_labels", {**LABELS, "targets": [0, -1]}, "preprocessing.neighbour_labels.targets must be whole"),
    ],
)
def test_a_preprocessing_that_can_not_be(path: str, value: Any, message: str) -> None:
    assert next(preprocessing_faults(changed(PREPROCESSING, path, value), NODES)).startswith(message)


def test_pair_statistics_are_those_of_this_version() -> None:
    ranks = {"names": [*PAIR_STATISTICS], "knots": [[]] * len(PAIR_STATISTICS), "with_nan": True}
    content = changed(PREPROCESSING, "pair_statistics", ranks)
    config = changed(LINKS, "input.d_pair_statistics", len(PAIR_STATISTICS))
    assert list(preprocessing_faults(content, config)) == []


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("validation", GONE, "metrics must be an object with validation, best_epoch, epochs, split"),
        ("validation.accuracy", GONE, "metrics.validation must be an object with"),
        ("validation.accuracy", "high", "metrics.validation.accuracy must be a number (got 'high')"),
        ("split.train.classes", {"bad": 1}, "metrics.split.train.classes must be an object with bad, good"),
        ("warnings", [{"text": "x"}], "metrics.warnings[0] must be an object with code, text, remedy"),
        ("more", 1, "metrics must be an object with"),
        ("test", FOUND, "metrics.test must be given if there is a test part, and only then"),
        ("against_trees", {"average_precision": INTERVAL}, "metrics.against_trees must stand beside metrics.test"),
        (
            "calibration",
            {"validation": {"before": FIGURES, "after": FIGURES}},
            "metrics.calibration must have reliability curves of equal columns, not empty",
        ),
    ],
)  # fmt: skip
def test_metrics_that_can_not_be(path: str, value: Any, message: str) -> None:
    content = changed(metrics_of(["bad", "good"]), path, value)
    assert next(metrics_faults(content, NODES)).startswith(message)


def test_a_test_part_has_metrics_of_the_ranking() -> None:
    content = metrics_of(["bad", "good"])
    content["test"], content["split"]["test"] = FOUND, content["split"]["train"]
    assert list(metrics_faults(content, NODES)) == ["metrics.test must have precision_at_100 or precision_at_positives"]
    content["test"] = {**FOUND, "precision_at_100": 0.5}
    assert list(metrics_faults(content, NODES)) == []


def test_of_old_metrics_only_the_threshold_matters() -> None:
    assert list(old_metrics_faults({"anything": [None], "threshold": 0.5}, LINKS)) == []
    assert next(old_metrics_faults({"threshold": "x"}, LINKS)) == "metrics.threshold must be a finite number (got 'x')"
