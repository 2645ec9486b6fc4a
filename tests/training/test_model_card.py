"""The model card is written from the run's own facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from gtea.config import ModelConfig
from gtea.models.model_folder import SavedModel
from gtea.models.registry import default_config
from gtea.tasks.labels import positive_class, read_labels
from gtea.tasks.splits import temporal_split
from gtea.training.fit import train_task
from gtea.training.loop import no_report
from gtea.training.model_card import model_card
from gtea.training.node_task import NodeTask

Make = Callable[..., NodeTask]


def test_the_model_card_says_what_happened(run_of: Make) -> None:
    run = run_of()
    model = train_task(run, no_report)
    card = (run.folder / "MODEL_CARD.md").read_text()
    assert f"{model.metrics['test']['macro_f1']:.4f}" in card
    assert "- left out: none\n" in card
    counts = model.metrics["split"]["test"]["classes"]
    assert f"- test: {counts['illicit']} of 'illicit', {counts['normal']} of 'normal'; accounts 40;" in card
    assert f"- Epochs: 3; the best one by the validation metric was number {model.metrics['best_epoch'] + 1}\n" in card
    assert run.store.digest in card
    assert "scores are the probability of 'illicit'" in card
    assert not (run.folder / "checkpoint.safetensors").exists()


def test_it_says_what_kind_of_model_it_is(run_of: Make) -> None:
    run = run_of("m", "train.epochs=1", "model.encoder=transformer", "model.time_encoding=false")
    train_task(run, no_report)
    card = (run.folder / "MODEL_CARD.md").read_text()
    assert "GTEA: transformer encoder, without time encoding, sparsemax attention, 2 layers" in card
    assert "A baseline" not in card
    assert "Labels of" not in card


def test_it_warns_of_what_the_split_can_not_show(run_of: Make) -> None:
    model = train_task(run_of("m", "train.epochs=1"), no_report)
    assert "Warning" not in model_card(replace(model, metrics={**model.metrics, "warnings": []}))
    warning = {"code": "few_examples", "text": "test has 2 accounts of 'x'", "remedy": "Add labels."}
    lines = model_card(replace(model, metrics={**model.metrics, "warnings": [warning]})).splitlines()
    place = lines.index("- Warning: test has 2 accounts of 'x'. Add labels.")
    assert lines.index("## Evaluation") < place < lines.index("## Limitations")
    assert (lines[place - 1], lines[place + 1]) == ("", "")


NONE: dict[str, Any] = {"kind": "none"}
FIGURES = {"log_loss": 0.5, "brier": 0.25, "calibration_error": 0.125}
BETTER = {"log_loss": 0.4, "brier": 0.2, "calibration_error": 0.1}
ABOVE_HALF: dict[str, Any] = {
    "value": 0.5,
    "rule": "half",
    "alert_share": 0.05,
    "num_alerts": 10,
    "expected_precision": 0.709,
    "expected_recall": 0.16,
    "precision": {"value": 0.6, "low": 0.3, "high": 0.8},
    "recall": {"value": 0.2, "low": 0.1, "high": 0.4},
    "num_labelled": 200,
}


@pytest.fixture(scope="module")
def model(payments: Any, tmp_path_factory: pytest.TempPathFactory) -> SavedModel:
    """A model with everything that the section on probabilities can tell."""
    labels = read_labels(payments.labels, payments.store)
    config, split = default_config(ModelConfig(family="tree"), "nodes"), temporal_split(labels, payments.store)
    folder = tmp_path_factory.mktemp("models") / "m"
    task = NodeTask(payments.store, labels, positive_class(labels), split, config, folder, torch.device("cpu"))
    found = train_task(task, no_report)
    return with_facts(found, calibration=NONE, threshold=ABOVE_HALF, validation={"illicit": 45, "normal": 155})


def with_facts(
    model: SavedModel,
    *,
    calibration: dict[str, Any] | None = None,
    threshold: dict[str, Any] | None = None,
    validation: dict[str, int] | None = None,
    blend: list[float] | None = None,
    population: list[float] | None = None,
    **metrics: Any,
) -> SavedModel:
    """The model with other facts."""
    parts = {part: {"before": FIGURES, "after": BETTER} for part in ("validation", "test")}
    split = model.metrics["split"]
    if validation is not None:
        split = {**split, "validation": {**split["validation"], "classes": validation}}
    correction = dict(model.calibration or {})
    if calibration is not None:
        correction["calibration"] = calibration
    return replace(
        model,
        calibration={**correction, "population": population},
        thresholds=model.thresholds if threshold is None else {"threshold": threshold},
        metrics={**model.metrics, "split": split, "calibration": parts, **metrics},
        weights=model.weights if blend is None else {**model.weights, "blend.weights": torch.tensor(blend)},
    )


def section(model: SavedModel) -> str:
    """The section on probabilities."""
    return model_card(model).partition("## Probabilities and decisions")[2].partition("\n## ")[0]


def test_it_says_what_calibration_changed(model: SavedModel) -> None:
    assert "| log loss | 0.5000 | 0.4000 | 0.5000 | 0.4000 |" in section(model)
    assert "| Brier score | 0.2500 | 0.2000 | 0.2500 | 0.2000 |" in section(model)
    assert "| calibration error | 0.1250 | 0.1000 | 0.1250 | 0.1000 |" in section(model)
    assert "reliability.svg" in section(model)


@pytest.mark.parametrize(
    ("calibration", "text"),
    [
        (NONE, "none, because none was better"),
        ({"kind": "temperature", "temperature": 1.834, "prior": [0.5, 0.5]}, "a temperature of 1.83 that log odds are"),
        ({"kind": "temperature", "temperature": 0.8, "prior": [0.5, 0.5]}, "divided by: it was too modest"),
        ({"kind": "sigmoid", "slope": 0.725, "intercept": -0.2}, "log odds times 0.725, plus -0.2 (sigmoid)"),
        ({"kind": "isotonic", "knots": [0, 1], "values": [0, 1], "mixed": 0}, "an ascending curve of 2 points"),
    ],
)  # fmt: skip
def test_it_says_how_probabilities_are_calibrated(model: SavedModel, calibration: dict[str, Any], text: str) -> None:
    (line,) = [line for line in section(with_facts(model, calibration=calibration)).splitlines() if "fitted to" in line]
    assert line.startswith("- Calibration, fitted to the validation part: ")
    assert text in line


def test_it_says_which_population_probabilities_are_for(model: SavedModel) -> None:
    assert "population" not in section(model)
    shown = section(with_facts(model, population=[0.001, 0.999]))
    assert "Probabilities and threshold are for a population with 0.001 of 'illicit'." in shown
    assert (
        "- Alerts among the validation accounts, corrected to the population, with 95 % intervals: precision" in shown
    )


def test_it_says_what_each_of_a_hybrids_models_counts(model: SavedModel) -> None:
    assert "Blend" not in section(model)
    three = section(with_facts(model, blend=[0.482, 0.0, 0.471]))
    assert "- Blend: network 0.48, trees on own features 0.00, trees on all features 0.47." in three
    assert "- Blend: network 0.76, trees 0.44." in section(with_facts(model, blend=[0.76, 0.44]))


def test_it_says_if_the_validation_part_could_hardly_tell(model: SavedModel) -> None:
    assert "small" not in section(model)
    few = section(with_facts(model, validation={"illicit": 29, "normal": 171}))
    assert "is small (29 of 'illicit'): it could hardly tell what is best (calibration, threshold)" in few
    hybrid = section(with_facts(model, validation={"illicit": 29, "normal": 171}, blend=[0.5, 0.5]))
    assert "(blend, calibration, threshold)" in hybrid
    three = {"a": 20, "b": 20, "c": 19}
    assert "(59 examples of 3 classes)" in section(with_facts(model, validation=three))
    assert "small" not in section(with_facts(model, validation={**three, "c": 20}))


def test_it_says_what_is_an_alert_and_what_to_expect(model: SavedModel) -> None:
    shown = section(model)
    assert "- Alert: a probability of 0.5 or more (one half: the validation part gives no better one)." in shown
    assert "Accuracy and F1 above are at this threshold" in shown
    assert "- Alerts to expect: 5.00% (by the validation accounts); by their probabilities, 70.9% of the" in shown
    assert "precision 60.0% (30.0% to 80.0%), recall 20.0% (10.0% to 40.0%)" in shown
    unknown = {**ABOVE_HALF, "rule": "budget", "num_alerts": 1234, "precision": None, "recall": None}
    budget = section(with_facts(model, threshold=unknown))
    assert "(by the wanted number of alerts)." in budget
    assert "at the best for macro-F1 on the validation part, or one half" in budget
    assert "5.00% (1,234 accounts of the store)" in budget
    assert "recall" not in budget


def test_it_says_how_far_a_hybrid_is_ahead_of_its_trees(model: SavedModel) -> None:
    assert "Against its trees" not in section(model)
    found = {"average_precision": {"difference": 0.0159, "low": -0.0023, "high": 0.0353}}
    shown = section(with_facts(model, against_trees=found))
    assert (
        "- Against its trees alone, on the test part, with 95 % intervals: "
        "average precision +0.0159 (-0.0023 to +0.0353)" in shown
    )


def test_models_of_0_1_have_no_such_section(model: SavedModel) -> None:
    assert not section(replace(model, calibration=None))
    metrics = {name: value for name, value in model.metrics.items() if name != "calibration"}
    assert not section(replace(model, metrics=metrics))


def test_link_models_say_what_their_probabilities_are_for(model: SavedModel) -> None:
    config = {name: value for name, value in model.config.items() if name not in ("classes", "positive")}
    links = replace(model, config={**config, "task": "links"})
    split = {part: {"pairs": 29} for part in ("train", "validation", "test")}
    card = model_card(replace(links, metrics={**links.metrics, "split": split}))
    assert "- train: pairs 29\n" in card
    assert "(29 of 'links')" in card
    assert "by the validation pairs" in card
    assert "in which half of the pairs are links" in card
    assert "highest accuracy" not in card
    labelled = replace(links, config={**links.config, "classes": ["no", "yes"], "positive": "yes"})
    assert "in which the classes have the shares of the labelled pairs" in model_card(labelled)
