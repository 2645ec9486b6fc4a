"""GTEA as a scikit-learn classifier: accounts in, probabilities and embeddings out."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from gtea.estimators.base import GTEAEstimator, opened_store
from gtea.estimators.inputs import find_accounts, read_targets, read_weights
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import NodeModel
from gtea.store.time_units import Instant
from gtea.tasks.labels import labels_from_arrays, positive_class
from gtea.tasks.splits import validation_split
from gtea.training.node_task import NodeTask


class GTEAClassifier(ClassNamePrefixFeaturesOutMixin, TransformerMixin, GTEAEstimator):  # type: ignore[misc]
    """Classifies accounts by the histories of their pairs, with a boosted tree on their own features beside.

    An example is an account id; all else comes from the graph, which clones share. ``as_of`` applies to everything:
    preprocessing, training, validation and prediction see the graph as it was just before that moment, and nothing
    later. Under cross-validation the folds thus differ in whose labels are known, not in what is seen of the graph;
    to judge as in use, on accounts that appear later, use ``gtea train``, which splits by time.

    ``fit`` keeps the weights that do best (log-likelihood) on a validation part of the accounts it is given: those
    whose first event is the latest, or the latest of each class where a class would else be missing. Accounts without
    an event before ``as_of`` can be scored but don't train.

    Parameters that are None have the default that ``gtea train`` has for the model.

    Args:
        model: "hybrid" (GTEA and boosted trees), "gtea" alone, or a model to compare with, such as "tree".
        graph: A store or its path; a path is opened in ``fit``. Parallel searches (``n_jobs``) want a path.
        as_of: The cut; None stands for just after the last event.
        features: What is known about an account itself: "given", "statistics", "random", or several. None stands for
            the node table where there is one, and statistics where there is none.
        settings: Any other setting of ``gtea train --set`` by its dotted name: ``{"model.dropout": 0.1}``.
        validation_fraction: The share of the accounts that chooses the best epoch.
        sampled: Predict from a sample of the neighbours, as in training, and not exactly, from all of them: quicker
            for a few accounts of a large graph with hubs.
        random_state: A seed. The same seed, data and number of threads give the same model.

    Attributes:
        classes_: The labels, sorted; the columns of ``predict_proba``.
        store_: The open store.
        cut_: The stored time at and after which nothing was seen.
        model_: The trained model.
    """

    _task = "nodes"
    _model = NodeModel
    _columns = 1
    model_: NodeModel

    def fit(self, accounts: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on labelled accounts.

        Args:
            accounts: Ids: a list, array, series, or one column of a frame. One that is named twice counts twice.
            y: The label of each, of any one kind: text, whole numbers, booleans.
            sample_weight: How much each counts in the loss. With 0, it is as if it had not been named. The validation
                part counts every account alike.
        """
        store, config = opened_store(self.graph), self._config()
        nodes = find_accounts(store, accounts)
        given, weights = read_targets(y, len(nodes), "accounts"), read_weights(sample_weight, len(nodes))
        rows = np.flatnonzero(weights)
        labels = labels_from_arrays(nodes[rows], given.targets[rows], given.names, store, "y", weights[rows])
        split = validation_split(labels, store, fraction=self.validation_fraction, as_of=self.as_of)
        positive = positive_class(labels)
        return self._trained(
            store, split.train.as_of, lambda *place: NodeTask(store, labels, positive, split, config, *place)
        )._labelled(given)

    def predict_proba(self, accounts: Any, *, as_of: Instant | None = None) -> NDArray[np.float64]:
        """One row of probabilities for each account, columns as in ``classes_``.

        Args:
            as_of: See the graph as of another moment than the estimator's own.
        """
        cut = self._cut(as_of)
        return self.model_.probabilities(
            self.store_, cut, find_accounts(self.store_, accounts), ScoringOptions(self.sampled)
        )

    def transform(self, accounts: Any, *, as_of: Instant | None = None) -> NDArray[np.float64]:
        """The embedding z of each account, [num_accounts, d_node], as of ``as_of`` or else the estimator's own cut."""
        cut = self._cut(as_of)
        return self.model_.embeddings(
            self.store_, cut, find_accounts(self.store_, accounts), ScoringOptions(self.sampled)
        )

    @property
    def _n_features_out(self) -> int:
        """How many names ``get_feature_names_out`` gives."""
        return int(self.model_.config.model.d_node)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.string = True
        tags.input_tags.one_d_array = True
        return tags
