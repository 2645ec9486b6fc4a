"""Event features: direction, scaled numeric columns and one-hot categories.

``EventPreprocessing`` holds what was fitted on the training window. It is frozen and saved with the model.
``EventEncoder`` applies it to a store, whose columns may be in another order and whose categories may have other codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from gtea.config import TimeOrigin
from gtea.errors import ModelError
from gtea.features.scaling import ColumnScaler, TimeScaler
from gtea.features.vocabulary import Vocabulary
from gtea.store.histories import RaggedEvents
from gtea.store.store import Store
from gtea.store.time_units import stored_per_second

SENT = 0
"""The index of the column ``sent`` in ``Histories.features``: +1 for an event sent by the target, -1 for received."""


@dataclass(frozen=True)
class EventPreprocessing:
    """How event columns become network inputs."""

    scaler: ColumnScaler
    """Scales the numeric columns and, last, the time since the pair's previous event in seconds or steps."""
    vocabularies: tuple[Vocabulary, ...]
    time_origin: TimeOrigin = "pair"
    """Zero of ``Histories.time``: the pair's first event (``pair``) or the first event of the data (``calendar``)."""

    @property
    def names(self) -> tuple[str, ...]:
        """The column names of ``Histories.features``."""
        words = (name for vocabulary in self.vocabularies for name in vocabulary.names)
        return ("sent", *self.scaler.names, *words)

    def to_json(self) -> dict[str, Any]:
        """For the model's preprocessing.json."""
        words = [vocabulary.to_json() for vocabulary in self.vocabularies]
        scaler = self.scaler.to_json()
        return {"scaler": scaler, "vocabularies": words, "time_origin": self.time_origin}

    @staticmethod
    def from_json(content: dict[str, Any]) -> EventPreprocessing:
        """From a model's preprocessing.json."""
        words = tuple(Vocabulary.from_json(each) for each in content["vocabularies"])
        return EventPreprocessing(ColumnScaler.from_json(content["scaler"]), words, content["time_origin"])


class EncodedEvents(NamedTuple):
    """Encoded histories as NumPy arrays; see ``gtea.nn.batch.Histories``."""

    offset: NDArray[np.int64]
    time: NDArray[np.float32]
    features: NDArray[np.float32]


class EventEncoder:
    """Encodes the raw events of one store."""

    def __init__(self, store: Store, events: EventPreprocessing, times: TimeScaler) -> None:
        names = events.scaler.names[:-1]
        self._events = events
        self._times = times
        self._unit = store.unit
        self._numeric = columns_of(store.features, names, "event features")
        columns = columns_of(store.categorical, [each.column for each in events.vocabularies], "categorical columns")
        self._one_hot = []
        for column, vocabulary in zip(columns, events.vocabularies, strict=True):
            table = store.vocabularies[column]
            self._one_hot.append((int(column), vocabulary.one_hot_index(table.find, len(table)), len(vocabulary.names)))

    def encode(self, events: RaggedEvents) -> EncodedEvents:
        """Scale the events; the feature columns are ``EventPreprocessing.names``."""
        numbers = numeric_columns(events.features[:, self._numeric], events.gap, self._unit)
        features = np.zeros((len(events.time), len(self._events.names)), dtype=np.float32)
        features[:, SENT] = np.where(events.sent, 1, -1)
        features[:, 1 : 1 + numbers.shape[1]] = self._events.scaler.transform(numbers)
        start, rows = 1 + numbers.shape[1], np.arange(len(features))
        for column, index, width in self._one_hot:
            features[rows, start + index[events.categories[:, column]]] = 1
            start += width
        if self._events.time_origin == "pair":
            pair_start = np.repeat(events.pair_start, np.diff(events.offset))
            times = self._times.transform_spans(events.time - pair_start, self._unit)
        else:
            times = self._times.transform(events.time, self._unit)
        return EncodedEvents(events.offset, times, features)


def numeric_columns(features: NDArray[np.float32], gap: NDArray[np.int64], unit: str) -> NDArray[np.floating[Any]]:
    """The raw numeric columns in the scaler's order: features, then the time gap in seconds or steps."""
    return np.column_stack([features, gap / stored_per_second(unit)])


def columns_of(available: Sequence[str], wanted: Sequence[str], subject: str) -> NDArray[np.int64]:
    """The indices in ``available`` of the columns that the model was trained with."""
    missing = [name for name in wanted if name not in available]
    if missing:
        raise ModelError(
            f"{subject}: the model needs {', '.join(missing)} (the store has {', '.join(available) or 'none'}). "
            "Ingest with the columns of the training data."
        )
    return np.array([available.index(name) for name in wanted], dtype=np.int64)
