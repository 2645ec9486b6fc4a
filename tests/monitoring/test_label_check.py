"""Labels against the scores from before they were known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from gtea.errors import DataError
from gtea.monitoring.label_check import check_labels
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store

OPTIONS = ScoringOptions()


def opened(trained: tuple[Path, Path]) -> tuple[Store, NodeModel]:
    return Store.open(trained[0]), NodeModel.open(trained[1], torch.device("cpu"))


def test_each_label_is_compared_with_the_score_of_the_day_before(trained: tuple[Path, Path]) -> None:
    store, model = opened(trained)
    names = [f"u{number:03}" for number in range(200)]
    known = [600 + number for number in range(200)]
    labels = ["big" if number % 2 else "small" for number in range(200)]
    table = pa.table({"account": [*names, "nobody"], "label": [*labels, "big"], "known_at": [*known, 601]})
    found = check_labels(table, model, store.as_of("750"), 10, OPTIONS)
    predicted, truth, unborn = [], [], 0
    for name, time, label in zip(names, known, labels, strict=True):
        cut, node = time // 10 * 10, store.node(name)
        if time >= 750:
            continue
        if not store.as_of(cut).has_events(np.array([node]))[0]:
            unborn += 1
            continue
        predicted.append(model.probabilities(store, cut, np.array([node]))[0, model.positive_column])
        truth.append(label == "big")
    assert (found["used"], found["no_event_before"], found["known_later"]) == (len(truth), unborn, 50)
    assert (found["unknown"], found["trained_with"]) == (1, None)
    assert found["predicted"] == pytest.approx(np.mean(predicted))
    assert found["observed"] == pytest.approx(np.mean(truth))
    assert found["brier"] == pytest.approx(np.mean((np.array(predicted) - truth) ** 2))


def test_labels_without_a_time_are_compared_as_of_the_cut(trained: tuple[Path, Path]) -> None:
    store, model = opened(trained)
    table = pa.table({"account": ["u001", "u002", "u003"], "label": ["big", "small", "big"]})
    found = check_labels(table, model, store.as_of(), 10, OPTIONS)
    nodes = np.array([store.node(name) for name in ("u001", "u002", "u003")])
    assert found["predicted"] == pytest.approx(model.probabilities(store, store.end, nodes)[:, 1].mean())


def test_nothing_to_compare_is_said(trained: tuple[Path, Path]) -> None:
    store, model = opened(trained)
    table = pa.table({"account": ["u001", "u002"], "label": ["big", "small"], "known_at": [900, 900]})
    found = check_labels(table, model, store.as_of(), 10, OPTIONS)
    assert (found["used"], found["known_later"]) == (0, 2)
    foreign = pa.table({"account": ["u001", "u002"], "label": ["x", "y"]})
    with pytest.raises(DataError, match=r"labels: the model knows the classes .* \(got 'x', 'y'\)"):
        check_labels(foreign, model, store.as_of(), 10, OPTIONS)
