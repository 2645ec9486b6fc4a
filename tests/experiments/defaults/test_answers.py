"""What a model answered, from the file that its training left."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.experiments.defaults.conftest import made_answers, save_predictions

from gtea.errors import ModelError
from gtea.experiments.defaults.answers import OWN, majority_answers, read_answers

ACCOUNTS = {
    "part": ["validation", "test", "test", "test"],
    "account": ["v", "a", "b", "c"],
    "target": [1, 0, 1, 0],
    "p_bad": [0.5, 0.9, 0.7, 0.4],
    "p_good": [0.5, 0.1, 0.3, 0.6],
    "network_bad": [0.5, 0.2, 0.7, 0.4],
    "network_good": [0.5, 0.8, 0.3, 0.6],
    "trees_bad": [0.5, 0.9, 0.9, 0.9],
    "trees_good": [0.5, 0.1, 0.1, 0.1],
}


def test_accounts_of_the_test_part_with_the_models_threshold(tmp_path: Path) -> None:
    save_predictions(tmp_path / "m", ACCOUNTS, classes=["bad", "good"], positive="good", threshold=0.3)
    found = read_answers(tmp_path / "m")
    assert list(found) == [OWN, "network", "trees"]
    own = found[OWN]
    assert own.examples["account"].to_pylist() == ["a", "b", "c"]
    assert own.truth.tolist() == [0, 1, 0]
    assert own.probabilities.tolist() == [[0.9, 0.1], [0.7, 0.3], [0.4, 0.6]]
    assert own.predicted.tolist() == [0, 1, 1]  # 0.3 is at the threshold
    assert (own.positive, len(own)) == (1, 3)
    assert found["network"].predicted.tolist() == [1, 0, 1]  # the most probable class
    assert found["trees"].probabilities[:, 1].tolist() == [0.1, 0.1, 0.1]


def test_the_positive_class_may_be_the_first(tmp_path: Path) -> None:
    save_predictions(tmp_path / "m", ACCOUNTS, classes=["bad", "good"], positive="bad", threshold=0.8)
    own = read_answers(tmp_path / "m")[OWN]
    assert own.positive == 0
    assert own.predicted.tolist() == [0, 1, 1]


def test_many_classes_have_no_threshold(tmp_path: Path) -> None:
    columns = {"part": ["test"] * 2, "account": ["a", "b"], "target": [2, 0]}
    columns |= {"p_x": [0.2, 0.5], "p_y": [0.3, 0.2], "p_p": [0.5, 0.3]}
    save_predictions(tmp_path / "m", columns, classes=["x", "y", "p"])
    own = read_answers(tmp_path / "m")[OWN]
    assert own.positive is None
    assert own.predicted.tolist() == [2, 0]


def test_links_have_one_column(tmp_path: Path) -> None:
    columns = {"part": ["test"] * 2, "src": ["a", "b"], "dst": ["c", "d"], "target": [1, 0]}
    columns |= {"p": [0.75, 0.5], "network": [0.25, 0.5], "trees": [1.0, 0.0]}
    save_predictions(tmp_path / "m", columns, classes=None, threshold=0.6)
    found = read_answers(tmp_path / "m")
    assert found[OWN].probabilities.tolist() == [[0.25, 0.75], [0.5, 0.5]]
    assert found[OWN].predicted.tolist() == [1, 0]
    assert found[OWN].examples.column_names == ["src", "dst"]
    assert found["trees"].predicted.tolist() == [1, 0]
    assert found[OWN].positive == 1


def test_a_model_that_is_no_hybrid_has_no_halves(tmp_path: Path) -> None:
    columns = {name: values for name, values in ACCOUNTS.items() if not name.startswith(("network", "trees"))}
    save_predictions(tmp_path / "m", columns, classes=["bad", "good"], positive="good")
    assert list(read_answers(tmp_path / "m")) == [OWN]


def test_models_without_predictions_are_refused(tmp_path: Path) -> None:
    save_predictions(tmp_path / "m", ACCOUNTS, classes=["bad", "ugly"], positive="bad")
    with pytest.raises(ModelError, match=r"predictions\.parquet has no probabilities of its classes\. Train it again"):
        read_answers(tmp_path / "m")
    save_predictions(tmp_path / "m", None, classes=["bad", "good"], positive="bad")
    with pytest.raises(ModelError, match=r"has no predictions\.parquet \(it is a model of an older gtea\)"):
        read_answers(tmp_path / "m")


def test_the_majority_knows_the_class_shares_only() -> None:
    like = made_answers(0, 5)
    found = majority_answers(like, [30, 10])
    assert found.probabilities.tolist() == [[0.75, 0.25]] * 5
    assert found.predicted.tolist() == [0] * 5
    assert found.same_examples(like)
    assert not found.same_examples(made_answers(0, 6))
    assert np.array_equal(majority_answers(like, [1, 1]).probabilities, np.full((5, 2), 0.5))
