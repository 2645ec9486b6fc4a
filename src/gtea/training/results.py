"""What a training returns, ready for JSON."""

from __future__ import annotations

from typing import Any, NotRequired, TypedDict


class TaskOutputs(TypedDict):
    """The task and what its outputs mean, for the model's config.json."""

    task: str
    classes: NotRequired[list[str]]
    positive: NotRequired[str | None]
    """The class whose probability is the score."""


class TaskMetrics(TypedDict):
    """The metrics of each part, as of its own cut."""

    validation: dict[str, float]
    test: NotRequired[dict[str, float]]
    test_trees_alone: NotRequired[dict[str, float]]
    """Those of a hybrid's trees without its network."""
    test_network_alone: NotRequired[dict[str, float]]
    """Those of a hybrid's network without its trees."""
    against_trees: NotRequired[dict[str, dict[str, float]]]
    """How far a hybrid is ahead of its trees alone on the test part: difference, low and high of each metric."""
    calibration: NotRequired[dict[str, Any]]
    """By part, before and after calibration: log loss, Brier score, calibration error, reliability curve."""
    labels: NotRequired[dict[str, Any]]
    """Which labels were read and left out."""
    pairs: NotRequired[dict[str, Any]]
    """Which labelled pairs were read."""
    warnings: NotRequired[list[dict[str, str]]]
    """What the split can't show: code, text and remedy of each warning."""


class TrainingResult(TypedDict):
    """A trained model in short."""

    out: str
    model: str
    """The family: hybrid, gtea, or a baseline."""
    task: str
    classes: list[str] | None
    positive: str | None
    seconds: float
    epochs: int
    best_epoch: int
    refit_trees: NotRequired[bool]
    """Whether its trees were fitted again with the validation part. Models of gtea 0.1 don't say."""
    split: dict[str, Any]
    validation: dict[str, float]
    test: NotRequired[dict[str, float]]
    test_trees_alone: NotRequired[dict[str, float]]
    test_network_alone: NotRequired[dict[str, float]]
    against_trees: NotRequired[dict[str, dict[str, float]]]
    calibration: NotRequired[dict[str, Any]]
    threshold: dict[str, Any] | None
    """The threshold of the positive class and what to expect of it; None with more than two classes."""
    prevalence: float | None
    """The share of positives in the population, if it was given: what probabilities and threshold are for."""
    labels: NotRequired[dict[str, Any]]
    warnings: NotRequired[list[dict[str, str]]]


class MeanAndStd(TypedDict):
    """A metric over folds."""

    mean: float
    std: float


class FoldsResult(TypedDict):
    """The models of some folds in short."""

    out: str
    folds: int
    test: dict[str, MeanAndStd]
    each: list[dict[str, float]]
    labels: dict[str, Any]
    split: dict[str, Any]
    warnings: list[dict[str, str]]
    """Those of the first fold: all folds are alike."""
