"""GTEA as a scikit-learn classifier of pairs: will these two accounts have an event?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError
from gtea.estimators.base import SETTINGS, GraphLike, GTEAEstimator, opened_store
from gtea.estimators.inputs import Targets, find_pairs, read_targets, read_weights
from gtea.models.registry import DEFAULT_MODEL
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import LinkModel
from gtea.store.time_units import Instant
from gtea.tasks.link_split import LinkProtocol, split_links
from gtea.tasks.pair_split import split_pairs
from gtea.tasks.pairs import pairs_from_arrays
from gtea.training.link_task import LinkTask
from gtea.training.pair_task import PairTask


class GTEALinkPredictor(GTEAEstimator):
    """Foretells which pairs of accounts have an event, from what each and both did before, with a boosted tree beside.

    An example is a pair of account ids, from and to; all else comes from the graph, which clones share. There are two
    ways to train:

    - ``fit(pairs, y)`` learns from pairs whose answers are given, and is what cross-validation, grids and calibration
      call. The graph is seen as it was just before ``as_of``, and ``y`` should say what happened from then on:
      ``gtea.link_examples(store, as_of=...)`` makes such pairs from the store itself. With ``as_of=None`` the whole
      store is seen, and answers that were read from its events are seen too; use it for answers from elsewhere.
    - ``fit_store()`` learns from the store alone, by windows of time, as ``gtea train --task links`` does.

    ``fit`` keeps the weights that do best (average precision) on a validation part of the pairs, drawn by chance, each
    class its share. Pairs with an account that has no event before ``as_of`` can be scored but don't train.

    Parameters that are None have the default that ``gtea train --task links`` has for the model.

    Args:
        model: "hybrid" (GTEA and boosted trees), "gtea" alone, or a model to compare with, such as "tree".
        graph: A store or its path; a path is opened in ``fit``. Parallel searches (``n_jobs``) want a path.
        as_of: The cut; None stands for just after the last event.
        link_head: How two embeddings become an answer: "ordered_pair" also reads what the two did together; "pair",
            too, and doesn't care who of them is named first; "dot" is the paper's, and reads the embeddings alone.
        features: What is known about an account itself: "given", "statistics", "random", or several. None stands for
            the node table where there is one, and statistics where there is none.
        settings: Any other setting of ``gtea train --set`` by its dotted name: ``{"model.dropout": 0.1}``.
        validation_fraction: The share of the pairs that chooses the best epoch of ``fit``.
        sampled: Predict from a sample of the neighbours, as in training, and not exactly, from all of them: quicker
            for a few pairs of a large graph with hubs.
        random_state: A seed. The same seed, data and number of threads give the same model.

    Attributes:
        classes_: The two labels, sorted; the columns of ``predict_proba``. The second stands for a link, and its
            probability is the score of ``gtea score --pairs``.
        store_: The open store.
        cut_: The stored time as of which pairs are scored.
        model_: The trained model; ``model_.saved.metrics["threshold"]`` is the probability of a link from which on to
            say so for the highest accuracy on the validation part. ``predict`` names the likelier class.
    """

    _settings: ClassVar = {**SETTINGS, "model": (*SETTINGS["model"], "link_head")}
    _split_settings = ("split.train_windows",)
    _task = "links"
    _model = LinkModel
    _columns = 2
    model_: LinkModel

    def __init__(
        self,
        graph: GraphLike,
        *,
        model: str = DEFAULT_MODEL,
        as_of: Instant | None = None,
        encoder: str | None = None,
        time_encoding: bool | None = None,
        attention: str | None = None,
        num_layers: int | None = None,
        d_node: int | None = None,
        d_edge: int | None = None,
        link_head: str | None = None,
        fanout: int | None = None,
        max_events: int | None = None,
        batch_size: int | None = None,
        lr: float | None = None,
        epochs: int | None = None,
        patience: int | None = None,
        validation_fraction: float = 0.25,
        features: str | Sequence[str] | None = None,
        settings: Mapping[str, Any] | None = None,
        sampled: bool = False,
        device: str = "auto",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        super().__init__(
            graph,
            model=model,
            as_of=as_of,
            encoder=encoder,
            time_encoding=time_encoding,
            attention=attention,
            num_layers=num_layers,
            d_node=d_node,
            d_edge=d_edge,
            fanout=fanout,
            max_events=max_events,
            batch_size=batch_size,
            lr=lr,
            epochs=epochs,
            patience=patience,
            validation_fraction=validation_fraction,
            features=features,
            settings=settings,
            sampled=sampled,
            device=device,
            random_state=random_state,
        )
        self.link_head = link_head

    def fit(self, pairs: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on labelled pairs.

        Args:
            pairs: Ids, from and to: a list of pairs, an array or a frame of two columns. A pair that is named twice
                counts twice.
            y: The label of each, of two classes and any one kind. The second by order stands for a link: 1, True.
            sample_weight: How much each counts in the loss. With 0, it is as if it had not been named. The validation
                part counts every pair alike.
        """
        store, config = opened_store(self.graph), self._config()
        src, dst = find_pairs(store, pairs)
        given, weights = _two_classes(read_targets(y, len(src), "pairs")), read_weights(sample_weight, len(src))
        rows = np.flatnonzero(weights)
        found = pairs_from_arrays(src[rows], dst[rows], given.targets[rows], given.names, store, "y", weights[rows])
        split = split_pairs(found, store, fraction=self.validation_fraction, seed=config.train.seed, as_of=self.as_of)
        return self._trained(
            store, split.train.as_of, lambda *place: PairTask(store, found, split, config, *place)
        )._labelled(given)

    def fit_store(self, *, graph_until: Instant | None = None, protocol: LinkProtocol = "temporal") -> Self:
        """Train on the events before ``as_of``, without labels.

        Events before ``graph_until`` are the graph; the rest is cut by time into windows that train, choose the best
        epoch and judge. For each pair that meets in a window one that never met is drawn, anew in every epoch. The
        figures are in ``model_.saved.metrics``; the classes are 0 and 1. Pairs are then scored as of ``as_of``.

        Args:
            graph_until: By default, where the first half of the events ends.
            protocol: What each window sees: the graph as of its own start ("temporal"), or of the first's ("paper").
        """
        store, config = opened_store(self.graph), self._config()
        windows = config.split.train_windows
        split = split_links(store, graph_until=graph_until, protocol=protocol, train_windows=windows, as_of=self.as_of)
        return self._trained(store, store.as_of(self.as_of).cut, lambda *place: LinkTask(store, split, config, *place))

    def predict_proba(self, pairs: Any, *, as_of: Instant | None = None) -> NDArray[np.float64]:
        """One row of probabilities for each pair, columns as in ``classes_``.

        Args:
            as_of: See the graph as of another moment than the estimator's own.
        """
        cut = self._cut(as_of)
        link = self.model_.probabilities(
            self.store_, cut, *find_pairs(self.store_, pairs), ScoringOptions(self.sampled)
        )
        return np.stack([1 - link, link], axis=1)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.classifier_tags.multi_class = False
        return tags


def _two_classes(given: Targets) -> Targets:
    if len(given.names) != 2:
        raise DataError(
            f"y: must be of two classes, no link and link (got {len(given.names)}: {', '.join(given.names[:10])}). "
            "Give some of both; 0 and 1 will do."
        )
    return given
