"""What happened on a day, as numbers to compare: the scores of the accounts that were active, and what models read.

An account is active on a day if it has an event on it. All is seen as of the end of the day.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from gtea.features.node_features import NodeFeatures
from gtea.monitoring.days import Day
from gtea.scoring.new_events import EventsSince
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import NodeModel
from gtea.store.store import Store

_MOST_ACCOUNTS = 20_000
"""Of a day, of which features are computed: evenly spaced among the active ones. Scores are of all."""


@dataclass(frozen=True)
class DayValues:
    """One day in numbers."""

    day: Day
    nodes: NDArray[np.int64]
    """The active accounts."""
    num_events: int
    scores: NDArray[np.float64]
    alerts: int | None
    """None if the model has no threshold."""
    unseen: int
    """Active accounts that had no event before the training cut."""
    columns: Mapping[str, NDArray[np.float64]]
    """By name: numeric columns of the day's events, inputs of the model, and what accounts did on the day."""
    words: Mapping[str, NDArray[np.int64]]
    """Codes of the categorical columns of the day's events."""


def day_values(store: Store, model: NodeModel, day: Day, training_cut: int, options: ScoringOptions) -> DayValues:
    """Look at one day."""
    view = store.as_of(day.stop)
    events = EventsSince(view, day.start)
    nodes = np.flatnonzero(events.counts)
    scores = model.scores(model.probabilities(store, day.stop, nodes, options)) if len(nodes) else np.empty(0)
    rows = events.rows()
    columns = {f"event {name}": store.arrays.event_features[rows, i] for i, name in enumerate(store.features)}
    columns["events of an account"] = events.counts[nodes]
    columns["counterparties of an account"] = events.num_counterparties[nodes]
    columns |= _inputs(store, model, day, nodes)
    words = {f"event {name}": store.arrays.event_categories[rows, i] for i, name in enumerate(store.categorical)}
    return DayValues(
        day,
        nodes,
        len(rows),
        scores,
        None if model.threshold is None else int((scores >= model.threshold.value).sum()),
        int((~store.as_of(training_cut).has_events(nodes)).sum()),
        {name: np.asarray(values, dtype=np.float64) for name, values in columns.items()},
        {name: np.asarray(codes, dtype=np.int64) for name, codes in words.items()},
    )


def _inputs(store: Store, model: NodeModel, day: Day, nodes: NDArray[np.int64]) -> dict[str, NDArray[np.float64]]:
    """What the model reads of the accounts, but for random vectors, which do not drift."""
    fitted = model.preprocessing.tree_nodes or model.preprocessing.nodes
    kept = [place for place, name in enumerate(fitted.names) if not name.startswith("random_")]
    if not kept:
        return {}
    some = nodes[:: max(1, -(-len(nodes) // _MOST_ACCOUNTS))]
    if not len(some):
        return {f"input {fitted.names[place]}": np.empty(0) for place in kept}
    rows = NodeFeatures(store.as_of(day.stop), fitted).compute(some)
    return {f"input {fitted.names[place]}": rows[:, place].astype(np.float64) for place in kept}
