"""What a run's configuration asks of sampling: the preprocessing, the widths of the inputs, the batches."""

from __future__ import annotations

from gtea.config import InputSpec, RunConfig
from gtea.sampling.collate import Collator
from gtea.sampling.fitting import fit_preprocessing
from gtea.sampling.node_features import NodeKind
from gtea.sampling.preprocessing import Preprocessing
from gtea.store.store import Store

_MINUTE_IN_DAYS = 1 / 1440


def preprocessing_for(store: Store, cut: int, config: RunConfig) -> Preprocessing:
    """Learnt from what is before the cut, and nothing else."""
    features = config.features
    default: tuple[NodeKind, ...] = ("given",) if store.node_features is not None else ("statistics",)
    return fit_preprocessing(
        store.as_of(cut), nodes=features.nodes or default, d_random=features.d_random, with_gap=features.gaps
    )


def input_spec(preprocessing: Preprocessing) -> InputSpec:
    """Widths of the inputs, and the periods from which the time encoding's frequencies start."""
    times = preprocessing.times
    shortest = 1 / times.unit if times.steps else _MINUTE_IN_DAYS
    return InputSpec(preprocessing.d_node, preprocessing.d_event, shortest, max(times.span, 2 * shortest))


def collator_for(store: Store, cut: int, preprocessing: Preprocessing, config: RunConfig) -> Collator:
    """Batches of a store as of a cut, as the configuration wants them."""
    return Collator(
        store.as_of(cut),
        preprocessing,
        fanout=config.sampling.fanout,
        num_layers=config.model.num_layers,
        max_events=config.sampling.max_events,
        strategy=config.sampling.strategy,
        seed=config.train.seed,
    )
