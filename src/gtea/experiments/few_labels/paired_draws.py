"""Compare the default model with the trees over several draws of labels, at one number of labels.

All models of a draw have the same labels and the same test accounts, so differences are paired. Their interval is
Student's t over the draws. It is about which accounts happen to be labelled and about chance in training. It is not
about other data: the test accounts of different draws overlap.
"""

from __future__ import annotations

from collections.abc import Mapping

from gtea.experiments.defaults.standing import RIVALS, Difference, Standing
from gtea.experiments.runs.jobs import Outcome
from gtea.models.registry import DEFAULT_MODEL
from gtea.tasks.uncertainty import mean_and_std, mean_interval

METRICS = {
    "average_precision": "average precision",
    "balanced_log_likelihood": "log-likelihood, both classes counting the same",
    "macro_f1": "macro-F1",
    "roc_auc": "ROC-AUC",
}
"""What is compared, with titles."""
COMPARED = (DEFAULT_MODEL, *RIVALS)
"""The models that are trained."""
MIN_DRAWS = 2
"""With one, there is no interval."""


def compare_draws(outcomes: Mapping[int, Mapping[str, Outcome]]) -> Standing | None:
    """Compare the models; None if fewer than two draws have all of them.

    Args:
        outcomes: By draw, the outcome of each model that has finished.
    """
    complete = {draw: found for draw, found in sorted(outcomes.items()) if set(COMPARED) <= set(found)}
    if len(complete) < MIN_DRAWS:
        return None
    figures = {
        model: {metric: tuple(found[model].test[metric] for found in complete.values()) for metric in METRICS}
        for model in COMPARED
    }
    test = next(iter(complete.values()))[DEFAULT_MODEL].split["test"]
    differences = {metric: _difference(metric, figures) for metric in METRICS}
    return Standing(tuple(complete), test["accounts"], test["positive"], figures, differences)


def _difference(metric: str, figures: Mapping[str, Mapping[str, tuple[float, ...]]]) -> Difference:
    rival = max(RIVALS, key=lambda name: mean_and_std(figures[name][metric])[0])
    pairs = zip(figures[DEFAULT_MODEL][metric], figures[rival][metric], strict=True)
    return Difference(rival, mean_interval([ours - theirs for ours, theirs in pairs]))
