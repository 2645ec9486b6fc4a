"""Class shares that differ from training: correct probabilities for them, estimate them, and test for a difference.

All of it assumes label shift: the share of each class changes, and what the accounts of a class look like does not.
Then probabilities for other shares (priors) follow from Bayes' rule without training again:

    p'_c = p_c wanted_c / trained_c, scaled to sum to 1

Shares may be given as counts.

Probabilities have one row per example and one column per class. For two classes they may also be one list: the
probabilities of the second class.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from gtea.errors import DataError
from gtea.tasks.homogeneity import homogeneity_p_value
from gtea.tasks.metrics import Floats, require_finite, require_probabilities

_SMALLEST = float(np.finfo(np.float64).tiny)
_MAX_GAP = 700.0
"""The largest difference of two logits. The exponential of 710 is not finite."""
_SUM_TOLERANCE = 1e-3
_MAX_CONDITION = 1e8


def correct_prior(probabilities: ArrayLike, trained: ArrayLike, wanted: ArrayLike) -> Floats:
    """Return the probabilities for other class shares, in the shape of the input.

    If labels were sampled, for example all frauds and one in a hundred of the rest, pass the true shares as ``wanted``.

    Args:
        probabilities: Probabilities that are right for the shares ``trained``.
        trained: The share of each class in training. A class with share 0 must not be wanted.
        wanted: The share of each class in the data to be scored.
    """
    given = np.asarray(probabilities, dtype=np.float64)
    table = class_table(given)
    corrected = softmax(finite_log(table) + _log_ratios(table.shape[1], trained, wanted))
    return corrected[:, 1] if given.ndim == 1 else corrected


def undo_class_weights(probabilities: ArrayLike, shares: ArrayLike, class_weights: ArrayLike) -> Floats:
    """Return what a model would predict without class weights: in training, they multiply the share of each class."""
    shown = np.asarray(shares, dtype=np.float64)
    return correct_prior(probabilities, shown * np.asarray(class_weights, dtype=np.float64), shown)


def estimate_priors_em(
    probabilities: ArrayLike, train_prior: ArrayLike, *, tolerance: float = 1e-6, max_steps: int = 1000
) -> Floats:
    """Estimate the class shares of unlabelled data by maximum likelihood (Saerens, Latinne and Decaestecker 2002).

    Expectation maximisation: correct the probabilities for the shares, take their mean as the new shares, repeat. The
    probabilities must be calibrated for the shares in training.

    Args:
        probabilities: The probabilities of the unlabelled examples.
        train_prior: The share of each class in training. A class with share 0 keeps it.
        tolerance: Stop when no share changes by more than this part of itself.
        max_steps: Stop after so many steps in any case.
    """
    table = class_table(np.asarray(probabilities, dtype=np.float64))
    _require_rows(table, "probabilities")
    shares = trained = checked_shares(train_prior, table.shape[1], "train_prior")
    ratios = np.divide(np.maximum(table, _SMALLEST), trained, out=np.zeros_like(table), where=trained > 0)
    for _ in range(max_steps):
        joint = ratios * shares
        before, shares = shares, (joint / joint.sum(axis=1, keepdims=True)).mean(axis=0)
        if (np.abs(shares - before) <= tolerance * before).all():
            break
    return shares


def estimate_priors_bbse(
    validation_targets: ArrayLike, validation_predictions: ArrayLike, predictions: ArrayLike
) -> Floats:
    """Estimate the class shares of unlabelled data from mean predictions (Lipton, Wang and Smola 2018, BBSE).

    If M has the mean prediction for each true class in its columns, then the mean prediction for unlabelled data is M
    times its class shares. Unlike ``estimate_priors_em``, this needs no calibrated probabilities. A solution with
    negative shares is clipped at 0, and shares are scaled to sum to 1.

    Args:
        validation_targets: The class of each validation example, as the index of a column.
        validation_predictions: The probabilities of the validation examples.
        predictions: The probabilities of the unlabelled examples.
    """
    known, table = (class_table(np.asarray(each, dtype=np.float64)) for each in (validation_predictions, predictions))
    _require_rows(table, "predictions")
    targets = checked_targets(validation_targets, known)
    if known.shape[1] != table.shape[1] or len(np.unique(targets)) < known.shape[1]:
        raise DataError(
            "validation_targets: must have examples of every class that is predicted "
            f"(got {len(np.unique(targets))} of {table.shape[1]} classes). Add validation examples."
        )
    means = np.column_stack([known[targets == each].mean(axis=0) for each in range(known.shape[1])])
    if not np.linalg.cond(means) < _MAX_CONDITION:
        raise DataError(
            "validation_predictions: must differ between classes (got the same mean prediction for two classes). "
            "Class shares can't be estimated with this model."
        )
    solution = np.maximum(np.linalg.solve(means, table.mean(axis=0)), 0)
    return np.asarray(solution / solution.sum())


def priors_differ(counts_a: ArrayLike, counts_b: ArrayLike) -> float:
    """Return the p-value of Pearson's chi-square test that two parts have the same class shares. Low: they differ.

    Args:
        counts_a: The number of examples of each class in one part.
        counts_b: The same for the other part.
    """
    a, b = np.asarray(counts_a, dtype=np.float64), np.asarray(counts_b, dtype=np.float64)
    for counts in (a, b):
        checked_shares(counts, len(a), "counts_a, counts_b")
    return homogeneity_p_value([a, b])


def class_table(probabilities: Floats) -> Floats:
    """Return validated probabilities with one column per class. A list is that of the second of two classes."""
    table = np.column_stack([1 - probabilities, probabilities]) if probabilities.ndim == 1 else probabilities
    if table.ndim != 2 or table.shape[1] < 2:
        raise DataError(
            "probabilities: must be a list, or a table with one column for each of at least two classes "
            f"(got shape {table.shape}). Pass one row per example."
        )
    require_finite(table)
    require_probabilities(table)
    bad = np.flatnonzero(np.abs(table.sum(axis=1) - 1) > _SUM_TOLERANCE)
    if len(bad):
        raise DataError(
            f"probabilities: each row must sum to 1 (got {table[bad[0]].sum():g} in row {bad[0]}). "
            "Pass the probabilities of all classes."
        )
    return table


def checked_targets(targets: ArrayLike, table: Floats) -> NDArray[np.int64]:
    """Return validated targets: for each row of the table, the index of a column."""
    classes = np.asarray(targets)
    if classes.ndim != 1 or len(classes) != len(table) or not len(classes):
        raise DataError(
            f"targets: must have one class for each of {len(table)} examples, not empty (got shape {classes.shape}). "
            "Pass one target per row of probabilities."
        )
    if classes.dtype.kind not in "biu" or classes.min() < 0 or classes.max() >= table.shape[1]:
        raise DataError(
            f"targets: must be indices of {table.shape[1]} classes (got values from {classes.min()} to {classes.max()})"
            ". Pass integers from 0."
        )
    return classes.astype(np.int64)


def checked_shares(values: ArrayLike, num_classes: int, name: str) -> Floats:
    """Return validated shares that sum to 1, from shares or counts."""
    shares = np.asarray(values, dtype=np.float64)
    if shares.shape != (num_classes,) or not np.isfinite(shares).all() or (shares < 0).any() or not shares.sum() > 0:
        raise DataError(
            f"{name}: must be the share of each of {num_classes} classes, none negative and not all 0 "
            f"(got {shares.tolist()}). Pass one share or count per class."
        )
    return np.asarray(shares / shares.sum())


def finite_log(probabilities: Floats) -> Floats:
    """The logarithm. That of 0 is large, but finite."""
    return np.asarray(np.log(np.maximum(probabilities, _SMALLEST)))


def softmax(logits: Floats) -> Floats:
    """Class probabilities from logits. Of two classes, a larger difference of logits never gets a smaller value."""
    if logits.shape[1] == 2:
        gap = np.clip(logits[:, 1] - logits[:, 0], -_MAX_GAP, _MAX_GAP)
        # Each step is monotone under rounding. Dividing by a sum of exponentials is not.
        return np.column_stack([1 / (1 + np.exp(gap)), 1 / (1 + np.exp(-gap))])
    exponentials = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=1, keepdims=True))


def _log_ratios(num_classes: int, trained: ArrayLike, wanted: ArrayLike) -> Floats:
    """Return log(wanted / trained) of each class; minus infinity for a class that is not wanted."""
    before, after = checked_shares(trained, num_classes, "trained"), checked_shares(wanted, num_classes, "wanted")
    if ((before == 0) & (after > 0)).any():
        raise DataError(
            "trained: must be above 0 for each class that is wanted "
            f"(got {before.tolist()} and {after.tolist()}). Train with examples of each class."
        )
    ratios = np.full(num_classes, -np.inf)
    kept = after > 0
    ratios[kept] = np.log(after[kept]) - np.log(before[kept])
    return ratios


def _require_rows(table: Floats, name: str) -> None:
    if not len(table):
        raise DataError(f"{name}: must not be empty (got no rows). Score some examples first.")
