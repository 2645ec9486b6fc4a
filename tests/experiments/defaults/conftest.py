"""Answers that were made up, models that were never trained, and a suite whose trainings are all there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from tests.models.documents import CONFIG, FACTS, PREPROCESSING, metrics_of

from gtea.experiments.defaults.answers import Answers
from gtea.experiments.defaults.suite import TRAINED, Suite, SuiteResult
from gtea.experiments.defaults.suite_tables import SplitCheck, Table
from gtea.experiments.runs.jobs import Job, Outcome, save_outcome
from gtea.experiments.runs.subject import Subject, own_subject
from gtea.models.model_folder import SavedModel, parquet_file, save_model
from gtea.tasks.split_warnings import SplitWarning
from gtea.tasks.thresholds import budget_threshold

CLASSES = ["bad", "good"]
WARNING = SplitWarning("few_examples", "test has 3 accounts of 'bad': that is few", "Add labels.")


def made_answers(seed: int, size: int = 40, num_classes: int = 2, noise: float = 1.0) -> Answers:
    """Probabilities that are right more often than not, with ties. The truth is the same for every seed."""
    truth = np.random.default_rng(99).integers(num_classes, size=size)
    rng = np.random.default_rng(seed)
    logits = (2 * np.eye(num_classes)[truth] + 2 * noise * rng.normal(size=(size, num_classes))).round() / 2
    probabilities = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    examples = pa.table({"account": [f"a{i}" for i in range(size)]})
    positive = 1 if num_classes == 2 else None
    return Answers(examples, truth, probabilities, probabilities.argmax(axis=1), positive)


def save_predictions(
    folder: Path,
    columns: dict[str, Any] | None,
    *,
    classes: Sequence[str] | None,
    positive: str | None = None,
    threshold: float | None = None,
) -> None:
    """A model folder with these predictions, and nothing to predict with."""
    alert = None if threshold is None else budget_threshold([threshold], 1).to_json()
    outputs = {"task": "links"} if classes is None else {"task": "nodes", "classes": [*classes], "positive": positive}
    table = None if columns is None else parquet_file(pa.table(columns))
    config, metrics = {**CONFIG, **outputs}, metrics_of(classes)
    model = SavedModel({}, config, PREPROCESSING, metrics, FACTS, {}, {"threshold": alert}, table)
    save_model(folder, model, "")


def outcome_of(job: Job, state: Any = "finished") -> Outcome:
    """The outcome of a job that was never done."""
    return Outcome(
        job.subject.name, job.subject.task, job.protocol, job.model, job.repeat.fold, job.repeat.seed, state,
        None if state == "finished" else "it diverged", {"accuracy": 0.5, "macro_f1": 0.5}, {}, 0, 1, 2.0, False, 1,
        "torch", job.settings, job.config.to_json(), job.data_digest,
        {"train": {"classes": {"bad": 30, "good": 70}} if job.subject.task == "nodes" else {"pairs": 9}},
        {"gtea": "0", "torch": "0"}, "2026-11-18T00:00:00+00:00",
    )  # fmt: skip


def leave(job: Job, out: Path, right: float, *, size: int = 600) -> None:
    """Leave an outcome and a model whose probabilities lean towards the truth by so much."""
    save_outcome(job.outcome_file(out), outcome_of(job))
    truth = np.arange(size) % 4 // 3
    rng = np.random.default_rng([job.repeat.seed, len(job.model)])
    chance = np.clip(0.25 + right * (truth - 0.25) + rng.normal(0, 0.1, size), 0.01, 0.99)
    columns: dict[str, Any] = {"part": ["test"] * size, "account": [f"a{i}" for i in range(size)], "target": truth}
    columns |= {"p_bad": 1 - chance, "p_good": chance}
    if job.model == TRAINED[0]:
        columns |= {f"{half}_{name}": values for half in ("network", "trees")
                    for name, values in (("bad", 1 - chance), ("good", chance))}  # fmt: skip
    save_predictions(job.model_folder(out), columns, classes=CLASSES, positive="good")


def tables_of(subject: Subject) -> list[Table]:
    """Its accounts by time and in folds."""
    return [Table(subject, "time", folds=False), Table(replace(subject, name="tiny:folds"), "folds", folds=True)]


def suite_of(tables: list[Table], out: Path) -> Suite:
    """A suite whose trainings are all there: the default is ahead in the first table and behind in the second."""
    suite = Suite(tables, 2, out)
    for (table, model, _), job in suite.jobs.items():
        leave(job, out, 0.6 if (model == TRAINED[0]) == (table == "tiny") else 0.2)
    return suite


@pytest.fixture
def two_tables(subject: Subject) -> list[Table]:
    return tables_of(subject)


@pytest.fixture(scope="session")
def suite(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Suite:
    """A finished suite. Not to be changed."""
    subject = own_subject(data / "tiny.store", data / "labels.csv")
    return suite_of(tables_of(subject), tmp_path_factory.mktemp("suite"))


@pytest.fixture(scope="session")
def result(suite: Suite) -> SuiteResult:
    checks = {"tiny": SplitCheck(None, (WARNING,)), "tiny:folds": SplitCheck(None)}
    found = suite.run(checks, lambda status: None, lambda found: None)
    assert found is not None
    return found
