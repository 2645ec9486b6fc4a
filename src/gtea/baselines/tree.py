"""Gradient-boosted trees on plain statistics of each account: the rival that has to be beaten.

A tree sees what an account does altogether (how often, with how many, how much, how regularly) and nothing of with
whom and in which order. Where it does as well as a model of pair histories, use the tree.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier

from gtea.sampling.statistics import statistics
from gtea.store.view import View


class TreeBaseline:
    """Trees on the statistics of accounts, each as of the view it is seen in."""

    def __init__(self, seed: int = 0) -> None:
        self._trees = HistGradientBoostingClassifier(random_state=seed, class_weight="balanced")

    def fit(self, view: View, nodes: NDArray[np.int64], targets: NDArray[np.int64]) -> TreeBaseline:
        """Learn from accounts as they were in a view."""
        self._trees.fit(statistics(view, nodes), targets)
        return self

    def probabilities(self, view: View, nodes: NDArray[np.int64]) -> NDArray[np.float64]:
        """One row of class probabilities for each account, as it is in a view."""
        rows: NDArray[np.float64] = self._trees.predict_proba(statistics(view, nodes))
        return rows
