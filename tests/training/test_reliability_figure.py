"""The picture of a model's reliability: both curves where they belong, legible, and the same bytes every time."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

import gtea
from gtea.errors import ModelError
from gtea.models.model_folder import SavedModel, load_model
from gtea.training.fit import train_task
from gtea.training.loop import no_report
from gtea.training.node_task import NodeTask
from gtea.training.reliability_figure import reliability_figure

SVG = "{http://www.w3.org/2000/svg}"
BEFORE: dict[str, Any] = {"predicted": [0.05, 0.95], "observed": [0.2, 0.5], "counts": [16, 4]}
AFTER: dict[str, Any] = {"predicted": [0.2, 0.5], "observed": [0.2, 0.5], "counts": [16, 4]}


def part_of(before: dict[str, Any], after: dict[str, Any], **figures: tuple[float, float]) -> dict[str, Any]:
    shown = {"brier": (0.25, 0.125), "log_loss": (0.5, 0.25), "calibration_error": (0.0625, 0.0), **figures}
    stages = (("before", before, 0), ("after", after, 1))
    return {
        stage: {"reliability": curve} | {name: pair[place] for name, pair in shown.items()}
        for stage, curve, place in stages
    }


def model_of(parts: dict[str, Any], positive: str | None = "illicit", task: str = "nodes", **config: Any) -> SavedModel:
    return SavedModel({}, {"task": task, "positive": positive, **config}, {}, {"calibration": parts}, {})


BOTH = {"validation": part_of(BEFORE, AFTER), "test": part_of(BEFORE, AFTER, log_loss=(0.75, 0.5))}


def drawn(model: SavedModel) -> ElementTree.Element:
    figure = reliability_figure(model)
    assert figure is not None
    return ElementTree.fromstring(figure)


def words(root: ElementTree.Element) -> list[str]:
    return [element.text or "" for element in root.iter(f"{SVG}text")]


def panels(root: ElementTree.Element) -> list[ElementTree.Element]:
    return [group for group in root.findall(f"{SVG}g") if group.find(f"{SVG}polyline") is not None]


def test_points_are_where_their_probability_and_share_are() -> None:
    panel = panels(drawn(model_of(BOTH)))[0]
    diagonal = panel.findall(f"{SVG}line")[-1]
    left, bottom, right, top = (float(diagonal.attrib[name]) for name in ("x1", "y1", "x2", "y2"))
    circles = [
        {name: float(circle.attrib[name]) for name in ("cx", "cy", "r")} for circle in panel.iter(f"{SVG}circle")
    ]
    for circle, predicted, observed in zip(circles, AFTER["predicted"], AFTER["observed"], strict=True):
        assert (circle["cx"] - left) / (right - left) == pytest.approx(predicted, abs=1e-3)
        assert (circle["cy"] - bottom) / (top - bottom) == pytest.approx(observed, abs=1e-3)
    assert circles[0]["r"] == pytest.approx(2 * circles[1]["r"])  # 16 examples have four times the area of 4
    squares = [
        {name: float(square.attrib[name]) for name in ("x", "y", "width")} for square in panel.iter(f"{SVG}rect")
    ]
    centres = [(square["x"] + square["width"] / 2 - left) / (right - left) for square in squares]
    assert centres == pytest.approx(BEFORE["predicted"], abs=1e-3)
    assert squares[0]["width"] == pytest.approx(2 * squares[1]["width"], rel=0.02)


def test_a_single_example_can_still_be_seen() -> None:
    few = {**AFTER, "counts": [100_000, 1]}
    radii = [float(c.attrib["r"]) for c in drawn(model_of({"validation": part_of(few, few)})).iter(f"{SVG}circle")]
    assert min(radii) >= 2


def test_it_says_what_calibration_changed() -> None:
    shown = words(drawn(model_of(BOTH)))
    assert shown.count("Brier score 0.2500 → 0.1250") == 2
    assert shown.index("log loss 0.5000 → 0.2500") < shown.index("log loss 0.7500 → 0.5000")
    assert {"validation: 20 accounts", "test: 20 accounts", "observed share of illicit"} <= set(shown)
    assert "Calibration was fitted on the validation part." in shown
    same = model_of({"validation": part_of(AFTER, AFTER, brier=(0.1, 0.1), log_loss=(1, 1), calibration_error=(0, 0))})
    assert "Calibration changed nothing." in words(drawn(same))


def test_without_a_test_part_there_is_one_panel() -> None:
    one, two = drawn(model_of({"validation": BOTH["validation"]})), drawn(model_of(BOTH))
    assert (len(panels(one)), len(panels(two))) == (1, 2)
    assert int(one.attrib["width"]) < int(two.attrib["width"]) - 300


def test_pairs_and_several_classes_have_words_of_their_own() -> None:
    links = words(drawn(model_of(BOTH, None, "links")))
    assert {"test: 20 pairs", "predicted probability of a link"} <= set(links)
    labelled = words(drawn(model_of(BOTH, "fraud", "links")))
    assert "predicted probability of fraud" in labelled
    several = {name: {stage: dict(figures) for stage, figures in part.items()} for name, part in BOTH.items()}
    for part in several.values():
        for figures in part.values():
            del figures["brier"]
    shown = words(drawn(model_of(several, None)))
    assert {"probability of the predicted class", "calibration error 0.0625 → 0.0000"} <= set(shown)
    assert not any("Brier" in text for text in shown)


@pytest.mark.parametrize("name", ["<b>&'\"", "line\nbreak\x00", "a long name " * 9])
def test_any_class_name_can_be_drawn(name: str) -> None:
    one = model_of({"validation": BOTH["validation"]}, name)
    (shown,) = [text for text in words(drawn(one)) if text.startswith("observed share of ")]
    assert len(shown) <= 45
    assert shown.isprintable()
    if len(name) < 20:
        assert shown == f"observed share of {name}".replace("\n", "\\n").replace("\x00", "\\x00")


def test_a_model_without_curves_has_no_picture() -> None:
    assert reliability_figure(replace(model_of({}), metrics={})) is None
    assert reliability_figure(model_of({"validation": {"before": {"log_loss": 1}, "after": {"log_loss": 1}}})) is None


def test_training_and_saving_write_the_same_picture(run_of: Callable[..., NodeTask], tmp_path: Path) -> None:
    run = run_of("m", "train.epochs=1")
    model = train_task(run, no_report)
    content = (run.folder / "reliability.svg").read_bytes()
    assert content.decode() == reliability_figure(model)
    digests = json.loads((run.folder / "manifest.json").read_text())["files"]
    assert digests["reliability.svg"] == hashlib.sha256(content).hexdigest()
    gtea.load(run.folder, run.store).save(tmp_path / "copy")
    assert (tmp_path / "copy" / "reliability.svg").read_bytes() == content
    (run.folder / "reliability.svg").write_bytes(content + b" ")
    with pytest.raises(ModelError, match=r"reliability.svg: was changed or truncated"):
        load_model(run.folder)
