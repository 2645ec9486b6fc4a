from __future__ import annotations

import json

import numpy as np

from gtea.features.vocabulary import Vocabulary, fit_vocabulary

WORDS = ["apple", "berry", "cherry", "date"]


def test_the_most_frequent_words_are_known_by_name() -> None:
    codes = np.array([3, 3, 3, 0, 0, 2, 2, 1])
    assert fit_vocabulary("fruit", codes, WORDS.__getitem__, 3).words == ("date", "apple", "cherry")


def test_words_that_only_the_future_knows_are_not() -> None:
    assert fit_vocabulary("fruit", np.array([1]), WORDS.__getitem__, 3).words == ("berry",)
    assert fit_vocabulary("fruit", np.array([], dtype=np.int32), WORDS.__getitem__, 3).words == ()


def test_codes_are_those_of_the_store_at_hand() -> None:
    vocabulary = Vocabulary("fruit", ("date", "apple", "gone"))
    assert vocabulary.names == ("fruit=date", "fruit=apple", "fruit=gone", "fruit: other")
    find = {word: code for code, word in enumerate(WORDS)}
    assert vocabulary.one_hot_index(lambda word: find.get(word, -1), 4).tolist() == [1, 3, 3, 0]


def test_a_vocabulary_survives_json() -> None:
    vocabulary = Vocabulary("fruit", ("date", "äpple"))
    assert Vocabulary.from_json(json.loads(json.dumps(vocabulary.to_json()))) == vocabulary
