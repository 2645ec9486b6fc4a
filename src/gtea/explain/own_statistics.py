"""What an account's own numbers say: its score, had one of them been that of the median account.

A statistic is replaced wherever the model reads it of the account itself: by the trees, by the network, and by the
network of its neighbours. What follows from its events otherwise, such as attention, stays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtea.explain.explanation import StatisticEffect, log_odds
from gtea.explain.statistic_words import OtherAccounts, sentence
from gtea.features.account_statistics import statistic_names, statistics
from gtea.features.node_features import NodePreprocessing
from gtea.features.partner_statistics import PartnerStatistics, partner_statistic_names
from gtea.features.preprocessing import evenly_spaced
from gtea.features.rhythm_statistics import rhythm_statistic_names, rhythm_statistics
from gtea.store.view import View

_MAX_ACCOUNTS = 10_000
_KINDS = ("statistics", "partners", "rhythm")
_NUM_NAMED = 6
"""How many statistics an explanation names."""


class AccountPopulation:
    """The statistics of accounts with events before the cut: all, or ten thousand evenly spaced ones."""

    def __init__(self, view: View, kinds: tuple[str, ...]) -> None:
        features = view.store.features
        names = {
            "statistics": statistic_names(features),
            "partners": partner_statistic_names(features),
            "rhythm": rhythm_statistic_names(features),
        }
        self._kinds = tuple(kind for kind in _KINDS if kind in kinds)
        self.names = tuple(name for kind in self._kinds for name in names[kind])
        self._view = view
        self._partners = PartnerStatistics(view)
        active = np.flatnonzero(view.has_events(np.arange(view.store.num_nodes)))
        self._rows = np.sort(self.rows(active[evenly_spaced(len(active), _MAX_ACCOUNTS)]), axis=0)
        middle = len(self._rows) // 2
        self.medians = self._rows[middle] if len(self._rows) else np.zeros(len(self.names))

    def rows(self, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """The statistics of nodes; the columns are ``names``."""
        made = {
            "statistics": lambda: statistics(self._view, nodes),
            "partners": lambda: self._partners.rows(nodes),
            "rhythm": lambda: rhythm_statistics(self._view, nodes),
        }
        parts = [made[kind]() for kind in self._kinds]
        return np.concatenate(parts, axis=1) if parts else np.zeros((len(nodes), 0))

    def percentile(self, column: int, value: float) -> float:
        """The share of accounts with a smaller value, in percent; of equal values one half."""
        standing = self.standing(column, value)
        return (100 + standing.below - standing.above) / 2

    def standing(self, column: int, value: float) -> OtherAccounts:
        """The shares of accounts with a smaller and with a larger value, in percent."""
        values = self._rows[:, column]
        below, not_above = np.searchsorted(values, value), np.searchsorted(values, value, side="right")
        total = max(1, len(values))
        return OtherAccounts(float(100 * below / total), float(100 * (len(values) - not_above) / total))


@dataclass(frozen=True)
class MedianInputs:
    """The scaled medians of the statistics that a model reads, by the column of its node features."""

    columns: dict[str, int]
    values: dict[str, float]

    @staticmethod
    def of(nodes: NodePreprocessing, population: AccountPopulation) -> MedianInputs:
        """The medians of a population as the model reads them."""
        at = {name: i for i, name in enumerate(population.names)}
        values: dict[str, float] = {}
        for kind in _KINDS:
            scaler = getattr(nodes, kind)
            if scaler is not None:
                raw = population.medians[[at[name] for name in scaler.names]][None]
                values |= dict(zip(scaler.names, scaler.transform(raw)[0].tolist(), strict=True))
        return MedianInputs({name: i for i, name in enumerate(nodes.names) if name in values}, values)

    def exchanged(self, row: NDArray[np.float32], names: tuple[str, ...]) -> NDArray[np.float32]:
        """The row, once for each name with that column at the median. A column that is not read stays as it is."""
        rows = np.repeat(row[None], len(names), axis=0)
        for i, name in enumerate(names):
            if name in self.columns:
                rows[i, self.columns[name]] = self.values[name]
        return rows


def statistic_effects(
    population: AccountPopulation,
    node: int,
    names: tuple[str, ...],
    scores: NDArray[np.float64],
    score: float,
    view: View,
) -> tuple[StatisticEffect, ...]:
    """The statistics that move the score most, the strongest first. Of those that are one number, the first is named.

    Args:
        names: The statistics that were exchanged.
        scores: The score with each of them at the median.
        score: The score as it is.
    """
    raw = population.rows(np.array([node]))[0]
    values = dict(zip(population.names, raw.tolist(), strict=True))
    column = {name: i for i, name in enumerate(population.names)}
    effects = np.array([log_odds(score) - log_odds(float(each)) for each in scores])
    steps = view.store.unit == "step"
    found: list[StatisticEffect] = []
    told: set[tuple[str, float]] = set()
    for i in np.argsort(-np.abs(effects), kind="stable"):
        name = names[i]
        # Of two events the shortest, the mean and the longest time between them are one number: it is said once.
        same = (_measures(name, view.store.features), values[name])
        if effects[i] == 0 or len(found) == _NUM_NAMED:
            break
        if same in told:
            continue
        told.add(same)
        words = sentence(name, values, population.standing(column[name], values[name]), view.store.features, steps)
        # Two statistics of one event, or both coordinates of a time of day, may come to the same words.
        if any(words == each.sentence for each in found):
            continue
        percentile = population.percentile(column[name], values[name])
        found.append(
            StatisticEffect(
                name,
                values[name],
                float(population.medians[column[name]]),
                percentile,
                float(scores[i]),
                float(effects[i]),
                words,
            )
        )
    return tuple(found)


def _measures(name: str, features: tuple[str, ...]) -> str:
    """What a statistic measures: those that measure the same, and have the same value, say the same."""
    _, _, rest = name.partition("_")
    if rest == "span" or rest.startswith("gap_"):
        return "time between events"
    for feature in sorted(features, key=len, reverse=True):
        if rest.removeprefix(f"{feature}_") in ("sum", "mean", "min", "max"):
            return f"size of {feature}"
    return rest if name.startswith(("out_", "in_", "both_")) else name
