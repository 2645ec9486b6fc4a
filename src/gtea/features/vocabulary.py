"""The words of a categorical column that a model knows by name; all others are "other".

The most frequent words of the training window, and no more than a bound: a column of free text must not make a
network of a million inputs. Kept as words, not codes, because a store renumbers its codes when new words arrive.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Vocabulary:
    """A categorical column as one-hot columns: its words, and one for all others."""

    column: str
    words: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the one-hot columns."""
        return (*(f"{self.column}={word}" for word in self.words), f"{self.column}: other")

    def places(self, find: Callable[[str], int], num_codes: int) -> NDArray[np.int64]:
        """For each code of a store, the one-hot column that it sets.

        Args:
            find: The store's code of a word, or -1.
        """
        places = np.full(num_codes, len(self.words), dtype=np.int64)
        for place, word in enumerate(self.words):
            if (code := find(word)) >= 0:
                places[code] = place
        return places

    def to_json(self) -> dict[str, Any]:
        """As it stands in a model's file."""
        return {"column": self.column, "words": list(self.words)}

    @staticmethod
    def from_json(content: dict[str, Any]) -> Vocabulary:
        """The vocabulary of a model's file."""
        return Vocabulary(content["column"], tuple(content["words"]))


def fit_vocabulary(column: str, codes: NDArray[np.int32], word_of: Callable[[int], str], max_words: int) -> Vocabulary:
    """The most frequent words among the codes of training events; of equally frequent ones the first in the store."""
    found, counts = np.unique(codes, return_counts=True)
    kept = found[np.argsort(-counts, kind="stable")[:max_words]]
    return Vocabulary(column, tuple(word_of(int(code)) for code in kept))
