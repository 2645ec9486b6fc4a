"""What a trained model answered to the examples of its test part: probabilities and decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike, NDArray

from gtea.errors import ModelError
from gtea.models.model_folder import SavedModel, load_model
from gtea.tasks.metrics import Floats
from gtea.tasks.thresholds import Threshold

OWN = "p"
HALVES = ("network", "trees")
"""The halves of a hybrid, as ``predictions.parquet`` calls them."""
_NAMES = ("account", "src", "dst")


@dataclass(frozen=True)
class Answers:
    """The answers of one model to the test examples of one run."""

    examples: pa.Table
    """What names the examples: account, or src and dst."""
    truth: NDArray[np.int64]
    probabilities: Floats
    """[num_examples, num_classes]."""
    predicted: NDArray[np.int64]
    positive: int | None
    """The place of the positive of two classes; None with more."""

    def __len__(self) -> int:
        return len(self.truth)

    def same_examples(self, other: Answers) -> bool:
        """Whether both are about the same examples in the same order."""
        return self.examples.equals(other.examples) and np.array_equal(self.truth, other.truth)


def read_answers(folder: Path) -> dict[str, Answers]:
    """Read the answers of a saved model (``OWN``) and, if it is a hybrid, of its halves.

    A model decides by its threshold if it has one, otherwise for the most probable class. Halves have no threshold.
    """
    model = load_model(folder)
    predictions = model.predictions
    if predictions is None:
        raise ModelError(f"{folder}: has no predictions.parquet (it is a model of an older gtea). Train it again.")
    rows = predictions.filter(pc.equal(predictions["part"], "test"))
    classes = model.config.get("classes")
    found = {}
    for prefix in (OWN, *HALVES):
        columns = [prefix] if classes is None else [f"{prefix}_{name}" for name in classes]
        if set(columns) <= set(rows.column_names):
            found[prefix] = _answers(rows, columns, _positive(model.config))
    if OWN not in found:
        raise ModelError(f"{folder}: predictions.parquet has no probabilities of its classes. Train it again.")
    return {**found, OWN: _with_threshold(found[OWN], model)}


def majority_answers(like: Answers, counts: ArrayLike) -> Answers:
    """The answers of somebody who knows only how many training examples each class has.

    Args:
        like: Answers to the same examples.
        counts: The number of training examples of each class.
    """
    numbers = np.asarray(counts, dtype=np.float64)
    probabilities = np.tile(numbers / numbers.sum(), (len(like), 1))
    return replace(like, probabilities=probabilities, predicted=probabilities.argmax(axis=1))


def _positive(config: Mapping[str, Any]) -> int | None:
    classes = config.get("classes")
    if classes is None:  # links
        return 1
    return list(classes).index(config["positive"]) if len(classes) == 2 else None


def _answers(rows: pa.Table, columns: list[str], positive: int | None) -> Answers:
    values = np.stack([rows[name].to_numpy().astype(np.float64) for name in columns], axis=1)
    probabilities = np.hstack([1 - values, values]) if len(columns) == 1 else values
    examples = rows.select([name for name in _NAMES if name in rows.column_names])
    truth = rows["target"].to_numpy().astype(np.int64)
    return Answers(examples, truth, probabilities, probabilities.argmax(axis=1), positive)


def _with_threshold(answers: Answers, model: SavedModel) -> Answers:
    content = (model.thresholds or {}).get("threshold")
    if content is None or answers.positive is None:
        return answers
    alert = answers.probabilities[:, answers.positive] >= Threshold.from_json(content).value
    return replace(answers, predicted=np.where(alert, answers.positive, 1 - answers.positive))
