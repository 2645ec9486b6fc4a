"""A scikit-learn classifier of accounts."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from gtea.estimators.base import GTEAEstimator, open_store
from gtea.estimators.inputs import find_accounts, read_targets, read_weights
from gtea.explain.explainer import Explainer
from gtea.explain.explanation import Explanation
from gtea.scoring.attention_weights import attention_of
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import NodeModel
from gtea.store.time_units import Instant
from gtea.tasks.labels import labels_from_arrays, positive_class
from gtea.tasks.splits import validation_split
from gtea.training.node_task import NodeTask


class GTEAClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GTEAEstimator):  # type: ignore[misc]
    """Classify accounts by the histories of their pairs.

    An example is an account id. Everything else comes from the graph, which clones share. The default model, a hybrid,
    averages the logits of GTEA and of boosted trees on the account's own features.

    ``as_of`` applies to preprocessing, training, validation and prediction: all of them see only events before it. In
    cross-validation, all folds therefore see the same graph and differ only in their labels. To evaluate a model on
    accounts that appear later, as in production, use ``gtea train``, which splits by time.

    ``fit`` holds out a validation part to choose the best epoch: the accounts with the latest first events or, if this
    leaves a part without one of the classes, the latest accounts of each class. The validation metric is the setting
    ``train.metric`` (log-likelihood for the default model). Accounts without an event before ``as_of`` can be scored,
    but are not used in training.

    Parameters that are None have the model's default in ``gtea train``.

    Args:
        graph: A store or its path. A path is opened by ``fit``. Pass a path for parallel searches (``n_jobs``).
        model: ``"hybrid"`` (GTEA and boosted trees), ``"gtea"``, or a baseline: ``"tree"``, ``"strong-tree"``,
            ``"gcn"``, ``"graphsage"``, ``"gat"``, ``"ecconv"``, ``"egnn"`` or ``"tgat"``.
        as_of: The cut: ISO 8601 text, a datetime, or a stored time as an integer. None means just after the last event.
        encoder: The encoder of a pair's history: ``"lstm"``, ``"transformer"`` or ``"statistics"``.
        time_encoding: Whether the encoder reads the times of events.
        attention: How neighbours are weighted: ``"sparsemax"``, ``"softmax"`` or ``"entmax15"``.
        num_layers: The number of layers, which is the number of hops a node sees, from 1 to 3.
        d_node: The size of a node embedding.
        d_edge: The size of an edge embedding.
        fanout: The maximum number of neighbours sampled per node in training.
        max_events: The number of latest events read of each history. 0 reads all.
        batch_size: The number of accounts per training batch.
        lr: The learning rate.
        epochs: The maximum number of epochs.
        patience: Training stops after this many epochs without a better validation metric.
        validation_fraction: The share of the accounts that is held out to choose the best epoch.
        features: The sources of node features: ``"given"`` (the node table), ``"statistics"`` (of an account's own
            events), ``"random"``, or a list of these. None uses the node table if there is one, and statistics
            otherwise.
        settings: Other settings of ``gtea train --set`` by their dotted names, such as ``{"model.dropout": 0.1}``.
        sampled: Whether to predict from a sample of the neighbours, as in training, instead of all of them. This is
            approximate, but faster for a few accounts in a large graph with hubs.
        device: ``"auto"`` (a GPU if there is one), ``"cpu"`` or ``"cuda"``.
        random_state: The seed. The same seed, data and number of threads give the same model.

    Attributes:
        classes_: The labels, sorted. They are the columns of ``predict_proba``.
        store_: The open store.
        cut_: The default cut of predictions, as a stored time.
        model_: The trained model. ``model_.saved.metrics`` holds the validation metrics.
        n_features_in_: The number of ids per example, 1.

    Examples:
        >>> import tempfile
        >>> import gtea
        >>> from gtea.datasets.payments import PaymentsSpec, generate_payments
        >>> payments, labels = generate_payments(PaymentsSpec(accounts=300, events=6000))
        >>> path = tempfile.mkdtemp() + "/payments.store"
        >>> store = gtea.ingest(
        ...     payments, src="payer", dst="payee", time="timestamp", features=["amount"], out=path
        ... )
        >>> accounts, y = labels["account"].to_numpy(), labels["label"].to_numpy()
        >>> model = gtea.GTEAClassifier(store, epochs=2).fit(accounts, y)
        >>> [str(name) for name in model.classes_]
        ['illicit', 'normal']
        >>> model.predict_proba(accounts[:3]).shape
        (3, 2)
    """

    _task = "nodes"
    _model = NodeModel
    _columns = 1
    model_: NodeModel

    def fit(self, accounts: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on labelled accounts.

        Args:
            accounts: Account ids: a list, array, series, or a frame with one column. An account that occurs twice
                counts twice.
            y: The label of each account: strings, integers or booleans.
            sample_weight: The weight of each account in the loss. An account with weight 0 is ignored. The validation
                metrics are not weighted.

        Returns:
            The fitted estimator.
        """
        store, config = open_store(self.graph), self._config()
        nodes = find_accounts(store, accounts)
        given, weights = read_targets(y, len(nodes), "accounts"), read_weights(sample_weight, len(nodes))
        rows = np.flatnonzero(weights)
        labels = labels_from_arrays(nodes[rows], given.targets[rows], given.names, store, "y", weights[rows])
        split = validation_split(labels, store, fraction=self.validation_fraction, as_of=self.as_of)
        positive = positive_class(labels)
        return self._train(
            store,
            split.train.as_of,
            lambda *folder_and_device: NodeTask(store, labels, positive, split, config, *folder_and_device),
        )._set_classes(given)

    def predict_proba(self, accounts: Any, *, as_of: Instant | None = None) -> NDArray[np.float64]:
        """Return one row of probabilities per account. The columns are those of ``classes_``.

        Args:
            accounts: Account ids, as in ``fit``.
            as_of: The cut. Defaults to the cut of the estimator, ``cut_``.
        """
        cut = self._cut(as_of)
        return self.model_.probabilities(
            self.store_, cut, find_accounts(self.store_, accounts), ScoringOptions(self.sampled)
        )

    def transform(self, accounts: Any, *, as_of: Instant | None = None) -> NDArray[np.float64]:
        """Return the embedding z of each account, of shape [num_accounts, d_node].

        Args:
            accounts: Account ids, as in ``fit``.
            as_of: The cut. Defaults to the cut of the estimator, ``cut_``.
        """
        cut = self._cut(as_of)
        return self.model_.embeddings(
            self.store_, cut, find_accounts(self.store_, accounts), ScoringOptions(self.sampled)
        )

    def attention_weights(self, account: str, *, as_of: Instant | None = None) -> dict[str, float]:
        """The attention weight of each of an account's neighbours, exactly, the largest first.

        Weights are not negative and sum to one; sparsemax gives most neighbours exactly zero. They tell which edges the
        network read, not why the score is what it is.

        Args:
            as_of: See the graph as of another time than the estimator's own.
        """
        (node,) = find_accounts(self.store_, [account])
        found = attention_of(self.model_, self.store_, self._cut(as_of), np.array([node]))
        order = np.argsort(-found.alpha, kind="stable")
        return {self.store_.account(int(found.neighbour[i])): float(found.alpha[i]) for i in order}

    def explain(self, account: str, *, as_of: Instant | None = None) -> Explanation:
        """Why an account has its score: for each counterparty, the score had the two never dealt with each other.

        Args:
            as_of: See the graph as of another time than the estimator's own.
        """
        return Explainer(self.model_, self.store_, self._cut(as_of)).explain(account)

    @property
    def _n_features_out(self) -> int:
        """The number of names that ``get_feature_names_out`` returns."""
        return int(self.model_.config.model.d_node)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        return tags
