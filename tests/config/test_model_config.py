"""Configurations: the paper's variants, and what is refused in which words."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from typing import Any

import pytest

from gtea.config import InputSpec, ModelConfig
from gtea.errors import UsageError
from gtea.models.registry import BASELINES, GTEA_VARIANTS, model_config


def test_variants_of_the_paper() -> None:
    made = {name: (model_config(name).encoder, model_config(name).time_encoding) for name in GTEA_VARIANTS}
    assert made == {
        "gtea-l": ("lstm", False),
        "gtea-l+t": ("lstm", True),
        "gtea-tx": ("transformer", False),
        "gtea-tx+t": ("transformer", True),
        "gtea-he": ("statistics", False),
    }
    assert {model_config(name).attention for name in GTEA_VARIANTS} == {"sparsemax"}


def test_baselines_are_variants_by_the_names_of_their_families() -> None:
    assert BASELINES == ("gcn", "graphsage", "gat", "ecconv", "egnn", "tgat", "tree", "strong-tree", "edgebank")
    assert {name: model_config(name).family for name in BASELINES} == {name: name for name in BASELINES}
    assert {model_config(name).family for name in GTEA_VARIANTS} == {"gtea"}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"encoder": "transformer", "num_heads": 4, "d_edge": 30},
            "model.num_heads must divide model.d_edge (got 4 and 30). Try d_edge = 32.",
        ),
        (
            {"encoder": "lstn"},
            "model.encoder must be one of 'lstm', 'transformer', 'statistics' (got 'lstn'). Did you mean 'lstm'?",
        ),
        (
            {"attention": "hard"},
            "model.attention must be one of 'sparsemax', 'softmax', 'entmax15' (got 'hard'). Try 'sparsemax'.",
        ),
        (
            {"link_head": "dots"},
            "model.link_head must be one of 'dot', 'pair', 'ordered_pair' (got 'dots'). Did you mean 'dot'?",
        ),
        (
            {"family": "gatt"},
            "model.family must be one of 'hybrid', 'gtea', 'gcn', 'graphsage', 'gat', 'ecconv', 'egnn', 'tgat', "
            "'tree', 'strong-tree', 'edgebank' (got 'gatt'). Did you mean 'gat'?",
        ),
        (
            {"family": "hybrid", "encoder": "transformer", "num_heads": 4, "d_edge": 30},
            "model.num_heads must divide model.d_edge (got 4 and 30). Try d_edge = 32.",
        ),
        (
            {"family": "gat", "d_node": 30},
            "model.num_heads must divide model.d_node (got 4 and 30). Try d_node = 32.",
        ),
        (
            {"family": "tgat", "d_time": 5},
            "model.d_time must be even for tgat, which has a cosine and a sine per frequency (got 5). Try 6.",
        ),
        (
            {"family": "gcn", "link_head": "pair"},
            "model.link_head must be 'dot' for gcn, which has no embedding of a pair's history (got 'pair'). "
            "Leave it out.",
        ),
        ({"num_layers": 4}, "model.num_layers must be from 1 to 3 (got 4). Try 3."),
        ({"num_encoder_layers": 0}, "model.num_encoder_layers must be from 1 to 3 (got 0). Try 1."),
        ({"d_node": 0}, "model.d_node must be from 1 to 65536 (got 0). Try 1."),
        ({"d_time": 1}, "model.d_time must be from 2 to 65536 (got 1). Try 2."),
        ({"node_limit": -1.0}, "model.node_limit must be at least 0 and finite (got -1.0). Try 2."),
        ({"dropout": 1.0}, "model.dropout must be at least 0 and below 1 (got 1.0). Try 0.1."),
    ],
)
def test_what_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as refusal:
        ModelConfig(**changes)
    assert str(refusal.value) == message


def test_heads_only_matter_to_the_transformer() -> None:
    assert ModelConfig(encoder="lstm", num_heads=4, d_edge=30).d_edge == 30


def test_an_unknown_variant_is_refused() -> None:
    with pytest.raises(UsageError, match=r"variant must be one of .* \(got 'gtea-lt'\)\. Did you mean 'gtea-l"):
        model_config("gtea-lt")


@pytest.mark.parametrize("periods", [(0.0, 1.0), (2.0, 1.0), (1.0, float("inf")), (float("nan"), 1.0)])
def test_impossible_periods_are_refused(periods: tuple[float, float]) -> None:
    with pytest.raises(UsageError, match=r"input.shortest_period must be above 0 and at most input.longest_period"):
        InputSpec(1, 1, *periods)


def test_negative_sizes_are_refused() -> None:
    with pytest.raises(UsageError, match=r"input.d_node_features must be from 0 to 16777216 \(got -1\)"):
        InputSpec(-1, 1, 1.0, 2.0)


def test_neighbour_labels_are_some_of_the_head_inputs() -> None:
    assert InputSpec(1, 1, 1.0, 2.0, d_head_inputs=6, d_neighbour_labels=6).d_head_inputs == 6
    with pytest.raises(UsageError, match=r"input.d_head_inputs must be from 6 to 16777216 \(got 5\)"):
        InputSpec(1, 1, 1.0, 2.0, d_head_inputs=5, d_neighbour_labels=6)


def test_a_hybrid_reads_histories_as_a_gtea_does() -> None:
    reading = {name for name in (*GTEA_VARIANTS, *BASELINES, "hybrid") if model_config(name).reads_histories}
    assert reading == {*GTEA_VARIANTS, "hybrid"}
    assert ModelConfig(family="hybrid", link_head="ordered_pair").link_head == "ordered_pair"


def test_configurations_are_frozen() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        ModelConfig().d_node = 5  # type: ignore[misc]


def test_reading_a_configuration_needs_no_torch() -> None:
    command = [sys.executable, "-c", "import sys; import gtea.config; print('torch' in sys.modules)"]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "False"
