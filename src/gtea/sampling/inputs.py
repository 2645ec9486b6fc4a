"""What a run's configuration asks of sampling: the preprocessing, the widths of the inputs, the batches."""

from __future__ import annotations

from gtea.config import InputSpec, RunConfig
from gtea.errors import UsageError
from gtea.sampling.collate import Collator
from gtea.sampling.events import EventCollator
from gtea.sampling.fitting import fit_preprocessing
from gtea.sampling.known import KnownLabels
from gtea.sampling.node_features import NodeKind
from gtea.sampling.preprocessing import Preprocessing
from gtea.store.store import Store

_MINUTE_IN_DAYS = 1 / 1440


def preprocessing_for(
    store: Store, cut: int, config: RunConfig, *, accounts_alone: bool = False, known: KnownLabels | None = None
) -> Preprocessing:
    """Learnt from what is before the cut, and nothing else.

    Args:
        accounts_alone: For a model that knows accounts by their own features only: by default these are statistics
            besides the node table, where there is one.
        known: Labels of accounts, to be looked up if the configuration says so.
    """
    features = config.features
    if features.known and known is None:
        raise UsageError("features.known: looks up labels of accounts, and links have none (got true). Leave it out.")
    return fit_preprocessing(
        store.as_of(cut),
        nodes=features.nodes or _default_kinds(store, accounts_alone),
        d_random=features.d_random,
        ages=features.ages,
        flows=features.flows,
        with_gap=features.gaps,
        clock=features.clock,
        pairs=features.pairs,
        ranks=features.ranks,
        known=known if features.known else None,
    )


def _default_kinds(store: Store, accounts_alone: bool) -> tuple[NodeKind, ...]:
    if store.node_features is None:
        return ("statistics",)
    return ("given", "statistics") if accounts_alone else ("given",)


def input_spec(preprocessing: Preprocessing) -> InputSpec:
    """Widths of the inputs, and the periods from which the time encoding's frequencies start."""
    times = preprocessing.times
    shortest = 1 / times.unit if times.steps else _MINUTE_IN_DAYS
    pairs, ranks = (0 if asked is None else len(asked.names) for asked in (preprocessing.pairs, preprocessing.ranks))
    known = 0 if preprocessing.known is None else len(preprocessing.known.names)
    return InputSpec(
        preprocessing.d_node,
        preprocessing.d_event,
        shortest,
        max(times.span, 2 * shortest),
        pairs,
        ranks + known,
        known,
    )


def collator_for(
    store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig, *, with_degrees: bool = False
) -> Collator:
    """Batches of a store as of a cut, as the configuration wants them."""
    return Collator(
        store.as_of(cut),
        preprocessing,
        fanout=config.sampling.fanout,
        num_layers=config.model.num_layers,
        max_events=config.sampling.max_events,
        strategy=config.sampling.strategy,
        seed=config.train.seed,
        with_degrees=with_degrees,
    )


def event_collator_for(store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig) -> EventCollator:
    """Batches of single events of a store as of a cut, as the configuration wants them."""
    return EventCollator(
        store.as_of(cut),
        preprocessing,
        fanout=config.sampling.fanout,
        num_layers=config.model.num_layers,
        strategy=config.sampling.strategy,
        seed=config.train.seed,
    )
