"""What the JSON files of a model folder must say: the shape of each, and that they agree with one another.

A model may come from anybody. Everything that the code behind relies on is checked here, before a network is built or
compiled code sees a number: lengths, ranges, indices, and the sizes that follow from the preprocessing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any, get_args

import numpy as np

from gtea.config import InputSpec, NodeKind, TimeOrigin, config_from_json
from gtea.errors import UsageError
from gtea.features.pair_statistics import PAIR_STATISTICS
from gtea.features.preprocessing import Preprocessing, input_spec
from gtea.models.registry import entry_of
from gtea.runtime.json_shape import Either, Every, Natural, Number, ObjectOf, Words, misshapen

_MAX_RANDOM = 2**16

_CONFIG = ObjectOf(
    {
        "task": Words("nodes", "links"),
        "input": ObjectOf(
            {"d_node_features": int, "d_event_features": int, "shortest_period": float, "longest_period": float},
            dict.fromkeys(
                ("d_pair_statistics", "d_head_inputs", "d_neighbour_labels", "d_tree_inputs", "d_own_features"), int
            ),
        ),
        "run": Every(Every(object)),
    },
    {"classes": [str], "positive": Either(str, None), "class_values": [Either(str, float, bool)]},
)
_SCALER = {"names": [str], "small": [float], "mean": [float], "std": [float]}
_RANKS = {"names": [str], "knots": [[float]], "with_nan": bool}
_SCALED_KINDS = ("given", "statistics", "partners", "rhythm")
_NODES = ObjectOf(
    {
        "kinds": [Words(*get_args(NodeKind))],
        "given": Either(_SCALER, None),
        "statistics": Either(_SCALER, None),
        "d_random": Natural,
    },
    {"partners": Either(_SCALER, None), "rhythm": Either(_SCALER, None)},
)
_PREPROCESSING = ObjectOf(
    {
        "times": {"origin": int, "unit": Natural, "span": float, "steps": bool},
        "events": {
            "scaler": _SCALER,
            "vocabularies": [{"column": str, "words": [str]}],
            "time_origin": Words(*get_args(TimeOrigin)),
        },
        "nodes": _NODES,
    },
    {
        "tree_nodes": Either(_NODES, None),
        "pair_statistics": Either(_RANKS, None),
        "rank_inputs": Either(_RANKS, None),
        "neighbour_labels": Either({"classes": [str], "keys": list, "targets": list}, None),
        "events_per_unit": Either(float, None),
    },
)
FACTS = ObjectOf(
    {
        "data_digest": str,
        "seed": int,
        "threads": int,
        "versions": ObjectOf({"gtea": str, "torch": str}, others=str),
        "created": str,
        "training_seconds": float,
    },
    {"arithmetic": str, "seconds": Every(float)},
)
"""Where a model comes from: a part of the manifest."""


def config_faults(content: Any) -> Iterator[str]:
    """What is wrong with the content of config.json. Each test relies on those before it."""
    fault = misshapen(content, _CONFIG, "config")
    if fault is not None:
        yield fault
        return
    classes, positive = content.get("classes"), content.get("positive")
    if content["task"] == "nodes" and (classes is None or "positive" not in content):
        yield "config.classes and config.positive must be given for a model of accounts (got none)"
    elif classes is not None and (len(classes) < 2 or len(set(classes)) < len(classes)):
        yield f"config.classes must be two or more different names (got {len(classes)})"
    elif content["task"] == "links" and classes is not None and len(classes) != 2:
        yield f"config.classes must be two for a model of links (got {len(classes)})"
    elif positive is not None and positive not in (classes or ()):
        yield f"config.positive must be one of the classes (got {positive!r:.60})"
    elif content["task"] == "nodes" and (positive is None) != (len(classes) != 2):
        yield "config.positive must be given for two classes, and not for more"
    values = content.get("class_values")
    if values is not None and len(values) != len(classes or (0, 1)):
        yield f"config.class_values must be as many as the classes (got {len(values)})"
    try:
        config_from_json(content["run"])
        InputSpec(**content["input"])
    except UsageError as error:
        yield f"config: {error}"


def preprocessing_faults(content: Any, config: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the content of preprocessing.json, given a sound config.json."""
    fault = misshapen(content, _PREPROCESSING, "preprocessing")
    if fault is not None:
        yield fault
        return
    faults = list(_part_faults(content, config))
    yield from faults
    if not faults:
        yield from _size_faults(Preprocessing.from_json(content), InputSpec(**config["input"]))


def _part_faults(content: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    times, rate = content["times"], content.get("events_per_unit")
    if times["unit"] < 1 or times["span"] < 0:
        yield "preprocessing.times must have a unit above 0 and a span that is not negative"
    if rate is not None and rate <= 0:
        yield f"preprocessing.events_per_unit must be above 0 (got {rate})"
    yield from _scaler_faults(content["events"]["scaler"], "events.scaler")
    if content["events"]["scaler"]["names"][-1:] != ["gap"]:
        yield "preprocessing.events.scaler.names must end in gap"
    for name in ("nodes", "tree_nodes"):
        if content.get(name) is not None:
            yield from _node_faults(content[name], name)
    for name in ("pair_statistics", "rank_inputs"):
        if content.get(name) is not None:
            yield from _rank_faults(content[name], name)
    if (content.get("pair_statistics") or {"names": list(PAIR_STATISTICS)})["names"] != list(PAIR_STATISTICS):
        yield "preprocessing.pair_statistics.names must be the statistics of this version of gtea"
    run = config_from_json(config["run"])
    if content.get("tree_nodes") is not None and not (entry_of(run.model).has_trees and config["task"] == "nodes"):
        yield "preprocessing.tree_nodes must be null for a model without trees of accounts"
    if content.get("neighbour_labels") is not None:
        yield from _label_faults(content["neighbour_labels"], config)


def _scaler_faults(scaler: Mapping[str, Any], name: str) -> Iterator[str]:
    if len({len(column) for column in scaler.values()}) != 1 or len(set(scaler["names"])) < len(scaler["names"]):
        yield f"preprocessing.{name} must have different names, and one number of each kind for each"
    if any(std <= 0 for std in scaler["std"]) or any(small < 0 for small in scaler["small"]):
        yield f"preprocessing.{name} must have std above 0, and small not below 0"


def _node_faults(nodes: Mapping[str, Any], name: str) -> Iterator[str]:
    kinds = nodes["kinds"]
    if not kinds or len(set(kinds)) < len(kinds):
        yield f"preprocessing.{name}.kinds must name one or more kinds, each once (got {kinds!r:.60})"
    for kind in _SCALED_KINDS:
        if (nodes.get(kind) is not None) != (kind in kinds):
            yield f"preprocessing.{name}.{kind} must be given if it is one of the kinds, and only then"
        elif nodes.get(kind) is not None:
            yield from _scaler_faults(nodes[kind], f"{name}.{kind}")
    if (nodes["d_random"] > 0) != ("random" in kinds) or nodes["d_random"] > _MAX_RANDOM:
        d_random = nodes["d_random"]
        yield f"preprocessing.{name}.d_random must fit the kinds, and be at most {_MAX_RANDOM} (got {d_random})"


def _rank_faults(ranks: Mapping[str, Any], name: str) -> Iterator[str]:
    if len(ranks["names"]) != len(ranks["knots"]):
        yield f"preprocessing.{name} must have knots for each name"
    if any((np.diff(knots) <= 0).any() for knots in ranks["knots"]):
        yield f"preprocessing.{name}.knots must be ascending"


def _label_faults(labels: Mapping[str, Any], config: Mapping[str, Any]) -> Iterator[str]:
    """Compiled code takes targets for indices. There may be millions, so no value has a step of Python of its own."""
    if config["task"] != "nodes" or labels["classes"] != config["classes"]:
        yield "preprocessing.neighbour_labels.classes must be those of config.json"
        return
    for name, stop in (("keys", 2**64), ("targets", len(labels["classes"]))):
        values = labels[name]
        if not set(map(type, values)) <= {int} or (values and not 0 <= min(values) <= max(values) < stop):
            yield f"preprocessing.neighbour_labels.{name} must be whole numbers from 0 to below {stop}"
            return
    keys = np.array(labels["keys"], dtype=np.uint64)
    if len(keys) != len(labels["targets"]) or (keys[1:] <= keys[:-1]).any():
        yield "preprocessing.neighbour_labels must have ascending keys, and a target for each"


def _size_faults(fitted: Preprocessing, spec: InputSpec) -> Iterator[str]:
    """Sizes that differ from those of config.json, for which the network is built."""
    if fitted.rank_inputs is not None and fitted.rank_inputs.names != fitted.nodes.names:
        yield "preprocessing.rank_inputs.names must be those of the node features"
    found = dataclasses.asdict(input_spec(fitted))
    for name, size in dataclasses.asdict(spec).items():
        if name.startswith("d_") and found[name] != size:
            yield f"preprocessing must have as many columns as config.input.{name} says (got {found[name]} and {size})"


def metrics_faults(content: Any, config: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with the content of metrics.json, given a sound config.json."""
    fault = misshapen(content, _metrics_shape(config), "metrics")
    if fault is not None:
        yield fault
        return
    if ("test" in content) != ("test" in content["split"]):
        yield "metrics.test must be given if there is a test part, and only then"
    if "against_trees" in content and not {"test", "test_trees_alone"} <= set(content):
        yield "metrics.against_trees must stand beside metrics.test and metrics.test_trees_alone"
    ranked = "precision_at_100" in content.get("test", {}) or "precision_at_positives" in content.get("test", {})
    if "test" in content and config["task"] == "nodes" and config["positive"] is not None and not ranked:
        yield "metrics.test must have precision_at_100 or precision_at_positives"
    curves = [stage["reliability"] for part in content.get("calibration", {}).values() for stage in part.values()]
    for curve in curves:
        if not curve["counts"] or len({len(column) for column in curve.values()}) != 1:
            yield "metrics.calibration must have reliability curves of equal columns, not empty"


def _metrics_shape(config: Mapping[str, Any]) -> ObjectOf:
    """The shape of metrics.json for a task. Models of two classes have metrics of rankings, too."""
    accounts, two = config["task"] == "nodes", len(config.get("classes", (0, 1))) == 2
    names = ("accuracy", "macro_f1", *(("prevalence", "average_precision") if two else ()))
    metrics = ObjectOf(dict.fromkeys(names, Number), others=Number)
    part = ObjectOf(
        {"accounts": Natural, "classes": dict.fromkeys(config["classes"], Natural)} if accounts else {"pairs": Natural},
        {"classes": Every(Natural)},
        others=Either(Natural, int, str, [Either(str, None)]),
    )
    figures = {
        **{"log_loss": Number, "calibration_error": Number, **({"brier": Number} if two else {})},
        "reliability": {"predicted": [float], "observed": [float], "counts": [Natural]},
    }
    stages = {"before": figures, "after": figures}
    interval = {"difference": Number, "low": Number, "high": Number}
    unknown = {"rows": Natural, "accounts": Natural, "first": [str]}
    report = ObjectOf({}, {"unknown": unknown, "classes": Every(Natural)}, others=Either(Natural, str, None))
    return ObjectOf(
        {
            "validation": metrics,
            "best_epoch": int,
            "epochs": Natural,
            "split": ObjectOf(
                {"split": str, "train": part, "validation": part},
                {"test": part, "left_out": Every(Natural)},
                others=Either(Natural, str),
            ),
        },
        {
            "test": metrics,
            "test_trees_alone": metrics,
            "test_network_alone": metrics,
            "against_trees": ObjectOf({"average_precision" if two else "accuracy": interval}, others=interval),
            "calibration": ObjectOf({"validation": stages}, {"test": stages}),
            "labels": report,
            "pairs": report,
            "warnings": [{"code": str, "text": str, "remedy": str}],
            "refit_trees": bool,
        },
    )


def old_metrics_faults(content: Any, config: Mapping[str, Any]) -> Iterator[str]:
    """The same for a model of gtea 0.1, of which only the threshold is read."""
    fault = misshapen(content, ObjectOf({}, {"threshold": float}, others=object), "metrics")
    if fault is not None:
        yield fault
