"""Where the default model stands in one table: the figures of every model, and the differences to the best tree."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from gtea.errors import ModelError
from gtea.experiments.defaults.answers import HALVES, Answers
from gtea.experiments.defaults.resampling import paired_interval, statistic
from gtea.models.registry import DEFAULT_MODEL
from gtea.tasks.metrics import Floats, expected_calibration_error
from gtea.tasks.uncertainty import Interval

Verdict = Literal["ahead", "level", "behind"]
RIVALS = ("tree", "strong-tree")
MAJORITY = "majority"
CANDIDATES = (DEFAULT_MODEL, *HALVES, *RIVALS, MAJORITY)
"""The models of a table: the default, its halves, its rivals, and somebody who knows the class shares only."""
RANKING = ("average_precision", "accuracy")
"""The first metric of a table: average precision, or accuracy with more than two classes."""
CALIBRATION = "calibration_error"
BY_CHANCE = "calibration_error_by_chance"
"""The calibration error that the same probabilities would have if they were exactly right: it is above 0 by chance."""
_MIN_CALIBRATION_EXAMPLES = 500
"""With fewer, the calibration error of perfect probabilities is of the size of the errors that matter."""
_NUM_DRAWS = 100


@dataclass(frozen=True)
class Difference:
    """The default model minus the best of its rivals in one metric."""

    rival: str
    """The rival with the higher mean over the runs."""
    interval: Interval

    @property
    def verdict(self) -> Verdict:
        """Level if the interval includes zero."""
        if self.interval.low > 0:
            return "ahead"
        return "behind" if self.interval.high < 0 else "level"

    def to_json(self) -> dict[str, Any]:
        """Return the fields and the verdict by name."""
        interval = self.interval
        bounds = {"difference": interval.value, "low": interval.low, "high": interval.high}
        return {"rival": self.rival, **bounds, "verdict": self.verdict}


@dataclass(frozen=True)
class Standing:
    """The results of one table."""

    runs: tuple[int, ...]
    """The seeds of the runs in which all models were trained."""
    num_examples: int
    """The size of the test part (of the first run)."""
    num_positive: int | None
    """The positives among them; None with more than two classes."""
    figures: Mapping[str, Mapping[str, tuple[float, ...]]]
    """By model and metric, one figure per run."""
    differences: Mapping[str, Difference]
    """By metric."""

    @property
    def ranking(self) -> str:
        """The first metric of this table."""
        return next(name for name in RANKING if name in self.differences)

    def mean(self, model: str, metric: str) -> float | None:
        """The mean of a figure over the runs; None if there is no such figure."""
        values = self.figures.get(model, {}).get(metric)
        return float(np.mean(values)) if values else None

    def to_json(self) -> dict[str, Any]:
        """All figures, with their means."""
        figures = {
            model: {metric: {"mean": float(np.mean(values)), "each": list(values)} for metric, values in found.items()}
            for model, found in self.figures.items()
        }
        return {
            "metric": self.ranking,
            "seeds": list(self.runs),
            "test": {"examples": self.num_examples, "positive": self.num_positive},
            "figures": figures,
            "differences": {metric: found.to_json() for metric, found in self.differences.items()},
        }


def standing_of(answers: Mapping[int, Mapping[str, Answers]], *, same_examples: bool) -> Standing:
    """Compare the models of a table.

    Args:
        answers: By seed, the answers of each model. All models of a seed have the same test examples.
        same_examples: Whether all seeds have the same test examples; for links, the same positives.
    """
    runs = [answers[seed] for seed in sorted(answers)]
    first = runs[0][DEFAULT_MODEL]
    for models in runs:
        ours = models[DEFAULT_MODEL]
        others = [name for name, found in models.items() if not found.same_examples(ours)]
        if others or (same_examples and not np.array_equal(ours.truth, first.truth)):
            raise _other_examples(others)
    figures = {
        model: _transposed([figures_of(models[model]) for models in runs]) for model in CANDIDATES if model in runs[0]
    }
    positive = None if first.positive is None else int((first.truth == first.positive).sum())
    differences = {
        metric: _difference(metric, runs, figures, same_examples=same_examples)
        for metric in figures[DEFAULT_MODEL]
        if metric not in (CALIBRATION, BY_CHANCE)
    }
    return Standing(tuple(sorted(answers)), len(first), positive, figures, differences)


def figures_of(answers: Answers) -> dict[str, float]:
    """The figures of one model in one run."""
    ranking = RANKING[1] if answers.positive is None else RANKING[0]
    once = np.ones(len(answers), np.int64)
    figures = {name: statistic(name, answers)(once) for name in (ranking, "log_likelihood", "macro_f1")}
    if len(answers) >= _MIN_CALIBRATION_EXAMPLES:
        truth, probabilities = _events(answers)
        figures[CALIBRATION] = expected_calibration_error(truth, probabilities)
        figures[BY_CHANCE] = _error_by_chance(probabilities)
    return figures


def _events(answers: Answers) -> tuple[NDArray[np.bool_], Floats]:
    """What a probability is about, and the probability: the positive class or, of more than two, the predicted one."""
    if answers.positive is None:
        return answers.probabilities.argmax(axis=1) == answers.truth, answers.probabilities.max(axis=1)
    return answers.truth == answers.positive, answers.probabilities[:, answers.positive]


def _error_by_chance(probabilities: Floats) -> float:
    """The mean calibration error over classes that are drawn with these probabilities."""
    rng = np.random.default_rng(0)
    drawn = rng.random((_NUM_DRAWS, len(probabilities))) < probabilities
    return float(np.mean([expected_calibration_error(truth, probabilities) for truth in drawn]))


def _transposed(runs: Sequence[Mapping[str, float]]) -> dict[str, tuple[float, ...]]:
    """One list per metric instead of one record per run."""
    return {metric: tuple(run[metric] for run in runs if metric in run) for metric in runs[0]}


def _difference(
    metric: str,
    runs: Sequence[Mapping[str, Answers]],
    figures: Mapping[str, Mapping[str, tuple[float, ...]]],
    *,
    same_examples: bool,
) -> Difference:
    rival = max(RIVALS, key=lambda name: float(np.mean(figures[name][metric])))
    ours, theirs = ([models[name] for models in runs] for name in (DEFAULT_MODEL, rival))
    return Difference(rival, paired_interval(metric, ours, theirs, same_examples=same_examples))


def _other_examples(models: Sequence[str]) -> ModelError:
    rule = (
        f"{', '.join(models)}: must have the test examples of {DEFAULT_MODEL}"
        if models
        else f"{DEFAULT_MODEL}: must have the same test examples for every seed"
    )
    return ModelError(f"{rule}, in the same order (got others). Delete the runs of this table to repeat them.")
