"""The vocabulary of a categorical column: its most frequent words; all others are "other".

The size is bounded, so a column of free text does not become a million network inputs. Words are saved, not codes:
a store renumbers its codes when new words arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Vocabulary:
    """The one-hot columns of a categorical column: one per word, and one for all other words."""

    column: str
    words: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the one-hot columns."""
        return (*(f"{self.column}={word}" for word in self.words), f"{self.column}: other")

    def one_hot_index(self, find: Callable[[str], int], num_codes: int) -> NDArray[np.int64]:
        """For each code of a store, the index of the one-hot column to set.

        Args:
            find: Returns the store's code of a word, or -1.
            num_codes: The number of codes in the store.
        """
        index = np.full(num_codes, len(self.words), dtype=np.int64)
        for i, word in enumerate(self.words):
            if (code := find(word)) >= 0:
                index[code] = i
        return index

    def to_json(self) -> dict[str, Any]:
        """For the model's preprocessing.json."""
        return {"column": self.column, "words": list(self.words)}

    @staticmethod
    def from_json(content: dict[str, Any]) -> Vocabulary:
        """From a model's preprocessing.json."""
        return Vocabulary(content["column"], tuple(content["words"]))


def fit_vocabulary(column: str, codes: NDArray[np.int32], word_of: Callable[[int], str], max_words: int) -> Vocabulary:
    """Fit the vocabulary on the codes of training events: the most frequent words; ties go to the smaller code."""
    found, counts = np.unique(codes, return_counts=True)
    kept = found[np.argsort(-counts, kind="stable")[:max_words]]
    return Vocabulary(column, tuple(word_of(int(code)) for code in kept))
