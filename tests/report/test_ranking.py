from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pyarrow as pa

from gtea.models.model_folder import SavedModel, load_model, parquet_file
from gtea.report.ranking import expected_precision, ranked
from gtea.store.store import Store


def test_equal_scores_keep_the_order_of_accounts() -> None:
    ranking = ranked(np.array([4, 2, 9]), np.array([0.5, 0.5, 0.9]))
    assert ranking.nodes.tolist() == [9, 2, 4]
    assert ranking.rank(4) == 3
    assert len(ranking) == 3


def model_with(predictions: pa.Table | None, saved: SavedModel) -> SavedModel:
    config = {**saved.config, "classes": ["good", "bad"], "positive": "bad"}
    file = None if predictions is None else parquet_file(predictions)
    return dataclasses.replace(saved, config=config, predictions_file=file)


def table(part: str, targets: list[int], probabilities: list[float]) -> pa.Table:
    names = [str(place) for place in range(len(targets))]
    return pa.table({"part": [part] * len(names), "account": names, "target": targets, "p_bad": probabilities})


def test_expected_precision_is_that_of_labelled_accounts_that_score_as_high(small_model: tuple[Store, Path]) -> None:
    saved = load_model(small_model[1])
    probabilities = [0.95 - 0.04 * place for place in range(20)]
    predictions = table("test", [1] * 12 + [0] * 8, probabilities)
    found = expected_precision(model_with(predictions, saved), np.array([0.99, 0.6, 0.2]))
    assert found is not None
    assert (found.part, found.num_labelled) == ("test", 20)
    assert [each.value for each in found.intervals] == [1.0, 1.0, 12 / 19]
    assert found.intervals[0] == found.intervals[1], "of fewer than ten, it is chance"
    assert all(each.low < each.value <= each.high for each in found.intervals)


def test_without_an_evaluated_part_nothing_is_expected(small_model: tuple[Store, Path]) -> None:
    saved = load_model(small_model[1])
    scores = np.array([0.9])
    assert expected_precision(model_with(None, saved), scores) is None
    assert expected_precision(model_with(table("test", [1] * 9, [0.5] * 9), saved), scores) is None
    later = pa.concat_tables([table("test", [1], [0.5]), table("validation", [1] * 10, [0.5] * 10)])
    found = expected_precision(model_with(later, saved), scores)
    assert found is not None
    assert found.part == "validation"
