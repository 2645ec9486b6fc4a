"""A scikit-learn classifier of pairs of accounts: will they have an event?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from gtea.errors import DataError
from gtea.estimators.base import SETTINGS, GraphLike, GTEAEstimator, open_store
from gtea.estimators.inputs import Targets, find_pairs, read_targets, read_weights
from gtea.explain.explainer import Explainer
from gtea.explain.explanation import Explanation
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
    """Predict which pairs of accounts will have an event.

    An example is an ordered pair of account ids. Everything else comes from the graph, which clones share. The default
    model, a hybrid, averages the logits of GTEA and of boosted trees on statistics of the pair.

    There are two training methods:

    - ``fit(pairs, y)`` learns from labelled pairs. This is what cross-validation, grid search and calibration call. The
      model sees only events before ``as_of``, and ``y`` should describe what happened from then on.
      ``gtea.link_examples(store, as_of=...)`` creates such pairs from the store. With ``as_of=None`` the model sees the
      whole store, including any events from which ``y`` was derived; use it only for labels from another source.
    - ``fit_store()`` learns from the store alone. It splits the events by time, as ``gtea train --task links`` does.

    ``fit`` holds out a stratified random sample of the pairs to choose the best epoch. The validation metric is the
    setting ``train.metric`` (average precision by default). Pairs with an account that has no event before ``as_of``
    can be scored, but are not used in training.

    Parameters that are None have the model's default in ``gtea train --task links``.

    Args:
        graph: A store or its path. A path is opened by ``fit``. Pass a path for parallel searches (``n_jobs``).
        model: ``"hybrid"`` (GTEA and boosted trees), ``"gtea"``, or a baseline: ``"tree"``, ``"strong-tree"``,
            ``"edgebank"``, ``"gcn"``, ``"graphsage"``, ``"gat"``, ``"ecconv"``, ``"egnn"`` or ``"tgat"``.
        as_of: The cut: ISO 8601 text, a datetime, or a stored time as an integer. None means just after the last event.
        encoder: The encoder of a pair's history: ``"lstm"``, ``"transformer"`` or ``"statistics"``.
        time_encoding: Whether the encoder reads the times of events.
        attention: How neighbours are weighted: ``"sparsemax"``, ``"softmax"`` or ``"entmax15"``.
        num_layers: The number of layers, which is the number of hops a node sees, from 1 to 3.
        d_node: The size of a node embedding.
        d_edge: The size of an edge embedding.
        link_head: How a pair is scored. ``"ordered_pair"`` reads both embeddings and the history of the pair.
            ``"pair"`` reads the same, but ignores which account comes first. ``"dot"`` is the dot product of the
            embeddings, as in the paper.
        fanout: The maximum number of neighbours sampled per node in training.
        max_events: The number of latest events read of each history. 0 reads all.
        batch_size: The number of pairs per training batch.
        lr: The learning rate.
        epochs: The maximum number of epochs.
        patience: Training stops after this many epochs without a better validation metric.
        validation_fraction: The share of the pairs that is held out to choose the best epoch in ``fit``.
        features: The sources of node features: ``"given"`` (the node table), ``"statistics"`` (of an account's own
            events), ``"random"``, or a list of these. None uses the node table if there is one, and statistics
            otherwise.
        settings: Other settings of ``gtea train --set`` by their dotted names, such as ``{"model.dropout": 0.1}``.
        sampled: Whether to predict from a sample of the neighbours, as in training, instead of all of them. This is
            approximate, but faster for a few pairs in a large graph with hubs.
        device: ``"auto"`` (a GPU if there is one), ``"cpu"`` or ``"cuda"``.
        random_state: The seed. The same seed, data and number of threads give the same model.

    Attributes:
        classes_: The two labels, sorted. They are the columns of ``predict_proba``. The second one means a link; its
            probability is the score of ``gtea score --pairs``.
        store_: The open store.
        cut_: The default cut of predictions, as a stored time.
        model_: The trained model. ``model_.saved.metrics`` holds its metrics, and ``model_.threshold.value`` the lowest
            probability that ``predict`` takes for a link. It was chosen on the validation part.
        n_features_in_: The number of ids per example, 2.

    Examples:
        >>> import tempfile
        >>> import gtea
        >>> from gtea.datasets.payments import PaymentsSpec, generate_payments
        >>> payments, _ = generate_payments(PaymentsSpec(accounts=300, events=6000))
        >>> path = tempfile.mkdtemp() + "/payments.store"
        >>> store = gtea.ingest(
        ...     payments, src="payer", dst="payee", time="timestamp", features=["amount"], out=path
        ... )
        >>> pairs, y = gtea.link_examples(store, as_of="2024-04-01", until="2024-05-01")
        >>> model = gtea.GTEALinkPredictor(store, as_of="2024-04-01", epochs=2).fit(pairs, y)
        >>> later, _ = gtea.link_examples(store, as_of="2024-05-01")
        >>> model.predict_proba(later[:3], as_of="2024-05-01").shape
        (3, 2)
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
            pairs: Source and destination ids: a list of pairs, or an array or frame with two columns. A pair that
                occurs twice counts twice.
            y: The label of each pair, of two classes: strings, integers or booleans. The second class in sort order
                means a link, such as 1 or True.
            sample_weight: The weight of each pair in the loss. A pair with weight 0 is ignored. The validation metrics
                are not weighted.

        Returns:
            The fitted estimator.
        """
        store, config = open_store(self.graph), self._config()
        src, dst = find_pairs(store, pairs)
        given, weights = _two_classes(read_targets(y, len(src), "pairs")), read_weights(sample_weight, len(src))
        rows = np.flatnonzero(weights)
        labelled = pairs_from_arrays(src[rows], dst[rows], given.targets[rows], given.names, store, "y", weights[rows])
        split = split_pairs(
            labelled, store, fraction=self.validation_fraction, seed=config.train.seed, as_of=self.as_of
        )
        return self._train(
            store,
            split.train.as_of,
            lambda *folder_and_device: PairTask(store, labelled, split, config, *folder_and_device),
        )._set_classes(given)

    def fit_store(self, *, graph_until: Instant | None = None, protocol: LinkProtocol = "temporal") -> Self:
        """Train on the events before ``as_of``, without labels.

        Events before ``graph_until`` are the graph. Later events are split by time into windows for training,
        validation and test. Each pair with an event in a window gets a negative, a pair without any event so far;
        training draws new negatives in every epoch. The metrics are in ``model_.saved.metrics``. The classes are 0 and
        1. Predictions use all events before ``as_of``.

        Args:
            graph_until: The end of the graph. Defaults to the end of the first half of the events.
            protocol: Which graph each window sees: as of its own start ("temporal"), or as of the start of the first
                window ("paper").

        Returns:
            The fitted estimator.
        """
        store, config = open_store(self.graph), self._config()
        windows = config.split.train_windows
        split = split_links(store, graph_until=graph_until, protocol=protocol, train_windows=windows, as_of=self.as_of)
        return self._train(
            store,
            store.as_of(self.as_of).cut,
            lambda *folder_and_device: LinkTask(store, split, config, *folder_and_device),
        )

    def predict_proba(self, pairs: Any, *, as_of: Instant | None = None) -> NDArray[np.float64]:
        """Return one row of probabilities per pair. The columns are those of ``classes_``.

        Args:
            pairs: Pairs of ids, as in ``fit``.
            as_of: The cut. Defaults to the cut of the estimator, ``cut_``.
        """
        cut = self._cut(as_of)
        link = self.model_.probabilities(
            self.store_, cut, *find_pairs(self.store_, pairs), ScoringOptions(self.sampled)
        )
        return np.stack([1 - link, link], axis=1)

    def explain(self, src: str, dst: str, *, as_of: Instant | None = None) -> Explanation:
        """Why a pair has its score: for each counterparty of either end, the score had the two never dealt.

        Args:
            as_of: See the graph as of another time than the estimator's own.
        """
        return Explainer(self.model_, self.store_, self._cut(as_of)).explain(src, dst)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.classifier_tags.multi_class = False
        return tags


def _two_classes(given: Targets) -> Targets:
    if len(given.names) != 2:
        raise DataError(
            f"y: must be of two classes, no link and link (got {len(given.names)}: {', '.join(given.names[:10])}). "
            "Pass labels of both classes, such as 0 and 1."
        )
    return given
