"""Settings reach the split."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from gtea.errors import UsageError
from gtea.models.registry import DEFAULT_MODEL, default_config, model_config
from gtea.tasks.split_warnings import split_warnings
from gtea.training.folds import run_folds
from gtea.training.loop import no_report
from gtea.training.request import Fold, LinkRequest, NodeRequest, run_once


def test_shares_of_accounts_and_events_are_settings(payments: Any) -> None:
    settings = ["split.fractions=[0.5, 0.3, 0.2]"]
    nodes = NodeRequest.read(payments.store.path, payments.labels, settings=settings).split()
    assert [len(part.index) for part in nodes.parts.values()] == [100, 60, 40]
    links = LinkRequest.read(payments.store.path, settings=settings).split
    times = payments.store.arrays.event_time
    until, (_, train_stop), (_, validation_stop) = links.graph_until, links.train.window, links.validation.window
    shares = [((times >= start) & (times < stop)).sum() / (times >= until).sum()
              for start, stop in ((until, train_stop), (train_stop, validation_stop))]  # fmt: skip
    assert shares == pytest.approx([0.5, 0.3], abs=0.01)


def test_links_are_asked_of_what_comes_after_the_graph(payments: Any) -> None:
    times = payments.store.arrays.event_time
    half = LinkRequest.read(payments.store.path).split.graph_until
    assert (times < half).mean() == pytest.approx(0.5, abs=0.01)
    asked = int(np.quantile(times, 0.25))
    assert LinkRequest.read(payments.store.path, graph_until=str(asked)).split.graph_until == asked


def test_folds_are_asked_for_by_their_number(payments: Any) -> None:
    by_time = NodeRequest.read(payments.store.path, payments.labels)
    assert by_time.fold is None
    folds = by_time.folds(4)
    assert len(folds) == 4
    for number, expected in enumerate(folds):
        request = NodeRequest.read(payments.store.path, payments.labels, fold=Fold(number, 4))
        assert request.split().describe() == expected.describe()
        found = request.split().test
        assert found is not None
        assert expected.test is not None
        assert np.array_equal(found.index, expected.test.index)
    assert by_time.split().describe() != folds[0].describe()


def test_without_a_name_the_default_model_is_trained(payments: Any) -> None:
    nodes = NodeRequest.read(payments.store.path, payments.labels)
    assert nodes.config == default_config(model_config(DEFAULT_MODEL), "nodes")
    assert LinkRequest.read(payments.store.path).config == default_config(model_config(DEFAULT_MODEL), "links")
    assert (
        NodeRequest.read(payments.store.path, payments.labels, variant="gtea-tx").config.model.encoder == "transformer"
    )
    with pytest.raises(UsageError, match="edgebank: only predicts links"):
        NodeRequest.read(payments.store.path, payments.labels, variant="edgebank")


@pytest.mark.parametrize("value", ["[0.5, 0.5]", "[0.9, 0.2, 0.1]", "0.6", '["a", "b", "c"]'])
def test_shares_that_can_not_be(payments: Any, value: str) -> None:
    with pytest.raises(UsageError, match="fractions"):
        NodeRequest.read(payments.store.path, payments.labels, settings=[f"split.fractions={value}"]).split()


def test_metrics_come_with_warnings_about_the_split(payments: Any, tmp_path: Path) -> None:
    request = NodeRequest.read(payments.store.path, payments.labels, variant="tree")
    expected = [warning.to_json() for warning in split_warnings(request.split(), request.store, request.labels)]
    assert "few_examples" in {warning["code"] for warning in expected}
    assert run_once(request, str(tmp_path / "m"), None, no_report)["warnings"] == expected
    assert json.loads((tmp_path / "m" / "metrics.json").read_text())["warnings"] == expected
    card = (tmp_path / "m" / "MODEL_CARD.md").read_text()
    assert all(f"- Warning: {warning['text']}. {warning['remedy']}" in card for warning in expected)
    assert run_once(request, None, str(tmp_path / "m"), no_report)["warnings"] == expected


def test_folds_have_the_warnings_of_the_first(payments: Any, tmp_path: Path) -> None:
    request = NodeRequest.read(payments.store.path, payments.labels, variant="tree")
    first = split_warnings(request.folds(4)[0], request.store, request.labels)
    result = run_folds(request, 4, str(tmp_path / "m"), None, no_report)
    assert result["warnings"] == [warning.to_json() for warning in first]
    assert [warning.code for warning in first] == ["few_examples"]
    assert json.loads((tmp_path / "m" / "folds.json").read_text())["warnings"] == result["warnings"]


def test_links_too(payments: Any, tmp_path: Path) -> None:
    request = LinkRequest.read(payments.store.path, variant="edgebank")
    expected = [warning.to_json() for warning in split_warnings(request.split, request.store, None)]
    assert "window_lengths" in {warning["code"] for warning in expected}
    assert run_once(request, str(tmp_path / "m"), None, no_report)["warnings"] == expected
