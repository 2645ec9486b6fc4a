"""How labelled accounts are split if nobody says: by time, or at random where a split by time could teach nothing."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from gtea.errors import DataError, UsageError
from gtea.store.store import Store
from gtea.store.time_units import Instant
from gtea.tasks.labels import Labels
from gtea.tasks.split_warnings import early_training
from gtea.tasks.splits import FRACTIONS, Split, stratified_folds, temporal_split

SplitBy = Literal["auto", "time", "random"]
_FOLDS = 5
"""The first of five folds has 60 % in training, 20 % in validation and 20 % in test, as a split by time has."""


def choose_split(
    labels: Labels,
    store: Store,
    by: SplitBy = "auto",
    *,
    fractions: Sequence[float] = FRACTIONS,
    seed: int = 0,
    as_of: Instant | None = None,
) -> Split:
    """Split labelled accounts by time or at random.

    By time is the default: it shows how well accounts are found that came later. Where nearly all accounts begin at
    once, as the customers of a bank in a year of its payments, training would see the first few days of them. Such a
    table, and one with too few classes in a part, is split at random by ``auto``, with the reason in ``instead``.

    Args:
        labels: The labelled accounts.
        store: The store that holds the accounts.
        by: ``auto``, ``time`` or ``random``.
        fractions: The shares of train, validation and test by time. Whoever sets them has chosen a split by time.
        seed: The seed of the random assignment.
        as_of: The cut of the test part. Defaults to just after the last event.
    """
    own_fractions = tuple(fractions) != FRACTIONS
    if by == "random":
        if own_fractions:
            raise UsageError("split.fractions: are those of a split by time. Leave out these or --split random.")
        return _at_random(labels, store, seed, as_of, "")
    if by == "time" or own_fractions:
        return temporal_split(labels, store, fractions=fractions, as_of=as_of)
    try:
        split = temporal_split(labels, store, fractions=fractions, as_of=as_of)
    except DataError:
        # With too few labels for folds, or none at all, what went wrong by time is the clearer error.
        with contextlib.suppress(DataError):
            return _at_random(labels, store, seed, as_of, "a part has accounts of one class only")
        raise
    early = early_training(split, store, labels)
    if early is not None:
        with contextlib.suppress(DataError):
            return _at_random(labels, store, seed, as_of, early.text)
    return split


def _at_random(labels: Labels, store: Store, seed: int, as_of: Instant | None, instead: str) -> Split:
    split = stratified_folds(labels, store, k=_FOLDS, seed=seed, as_of=as_of)[0]
    return replace(split, name="random", instead=instead)
