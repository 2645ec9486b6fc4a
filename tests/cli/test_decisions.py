"""What users may ask of decisions: --prevalence, --budget and --precision, and the column alert."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.csv as pacsv
import pytest

from gtea.datasets.world import WorldSpec, write_world
from gtea.ingestion.ingest import ingest

Run = Callable[..., Any]
QUICK_HYBRID = tuple(
    word
    for setting in (
        *("model.d_node=8", "model.d_edge=8", "model.d_mlp=8", "model.d_time=4", "train.epochs=2"),
        *("sampling.fanout=4", "sampling.max_events=8"),
    )
    for word in ("--set", setting)
)


@dataclass(frozen=True)
class World:
    """A store with 40 accounts that never had an event, and tables of labels."""

    store: Path
    labels: Path
    three_classes: Path


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    folder = tmp_path_factory.mktemp("world")
    transactions, labels = write_world(WorldSpec(accounts=400, prevalence=0.25, strength=1), folder)
    rows = pacsv.read_csv(labels).to_pylist()
    nodes = folder / "nodes.csv"
    names = [row["account"] for row in rows] + [f"nobody-{number}" for number in range(40)]
    nodes.write_text("account,age\n" + "".join(f"{name},{len(name)}\n" for name in names))
    three = folder / "three.csv"
    three.write_text(
        "account,label\n"
        + "".join(f"{row['account']},{row['label'] if place % 3 else 'other'}\n" for place, row in enumerate(rows))
    )
    columns = {"src": "payer", "dst": "payee", "time": "timestamp", "features": ["amount"], "time_unit": "s"}
    with_nodes = {"nodes": nodes, "node_id": "account", "node_features": ["age"]}
    ingest(transactions, **columns, **with_nodes, out=folder / "s")  # type: ignore[arg-type]
    return World(folder / "s", labels, three)


@pytest.fixture
def train(gtea: Run, world: World) -> Run:
    """Trains trees, which is quick, unless the words say otherwise."""

    def run(*words: object, labels: Path = world.labels, variant: str = "tree") -> Any:
        return gtea("train", world.store, "--labels", labels, "--variant", variant, *words)

    return run


def threshold_of(model: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((model / "thresholds.json").read_text())["threshold"]
    return found


def scored(gtea: Run, model: Path, store: Path, *words: object) -> list[dict[str, str]]:
    out = model.with_suffix(".csv")
    outcome = gtea("score", model, store, "--out", out, *words)
    assert outcome.code == 0, outcome.err
    with out.open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    alerts = sum(row["alert"] == "true" for row in rows)
    assert f"alerts: {alerts:,} with a score of " in outcome.out
    return rows


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--budget", 5, "--precision", 0.5), "--budget, --precision: give one of them at most"),
        (("--prevalence", 0), r"--prevalence: must be between 0 and 1 (got 0.0). Try 0.001."),
        (("--prevalence", 1), r"--prevalence: must be between 0 and 1 (got 1.0)."),
        (("--prevalence", "nan"), r"--prevalence: must be between 0 and 1 (got nan)."),
        (("--budget", 0), "--budget: must be at least 1 alert (got 0). Try 100."),
        (("--precision", 0), "--precision: must be above 0 and at most 1 (got 0.0). Try 0.8."),
        (("--precision", 1.5), "--precision: must be above 0 and at most 1 (got 1.5)."),
    ],
)
def test_impossible_options_are_refused(train: Run, tmp_path: Path, words: tuple[Any, ...], message: str) -> None:
    outcome = train(*words, "--out", tmp_path / "m")
    assert outcome.code == 2
    assert message in outcome.err
    assert not (tmp_path / "m").exists()


@pytest.mark.parametrize("words", [("--prevalence", 0.1), ("--budget", 5), ("--precision", 0.5)])
def test_they_are_for_accounts_of_two_classes(
    gtea: Run, train: Run, world: World, tmp_path: Path, words: tuple[Any, ...]
) -> None:
    several = train(*words, "--out", tmp_path / "m", labels=world.three_classes)
    assert (several.code, several.err) == (2, f"gtea: {words[0]}: needs two classes (got 3). Leave it out.\n")
    links = gtea("train", world.store, "--task", "links", *words, "--out", tmp_path / "m")
    assert (links.code, links.err) == (2, f"gtea: {words[0]}: does not apply to --task links. Leave it out.\n")
    assert not (tmp_path / "m").exists()


def test_a_budget_is_the_number_of_alerts(gtea: Run, train: Run, world: World, tmp_path: Path) -> None:
    model = tmp_path / "m"
    outcome = train("--budget", 330, "--set", "train.refit_trees=false", "--out", model)
    assert outcome.code == 0, outcome.err
    assert "(330 accounts of the store)" in outcome.out
    rows = scored(gtea, model, world.store)
    alerts = [row for row in rows if row["alert"] == "true"]
    assert len(alerts) == threshold_of(model)["num_alerts"] == 330
    # None of it is spent on accounts of which nothing is known, though some of them score as high.
    lowest = min(float(row["score"]) for row in alerts)
    assert any(row["active"] == "false" and float(row["score"]) >= lowest for row in rows)
    assert {row["active"] for row in alerts} == {"true"}
    assert alerts == [row for row in rows if row["active"] == "true"][:330]


def test_a_precision_is_reached_on_the_validation_part(gtea: Run, train: Run, world: World, tmp_path: Path) -> None:
    model = tmp_path / "m"
    outcome = train("--precision", 0.6, "--out", model)
    assert outcome.code == 0, outcome.err
    assert "(the wanted precision on the validation part)" in outcome.out
    threshold = threshold_of(model)
    assert threshold["rule"] == "precision"
    assert 0.6 <= threshold["precision"]["value"] < 0.9
    rows = scored(gtea, model, world.store)
    expected = [float(row["score"]) >= threshold["value"] and row["active"] == "true" for row in rows]
    assert [row["alert"] == "true" for row in rows] == expected
    assert 0 < sum(expected) < 200


def test_a_precision_that_is_not_reached_can_be_lowered(gtea: Run, train: Run, world: World, tmp_path: Path) -> None:
    model, fresh = tmp_path / "m", tmp_path / "fresh"
    hybrid = {"variant": "hybrid"}
    outcome = train(*QUICK_HYBRID, "--precision", 1, "--out", model, **hybrid)
    assert outcome.code == 3
    assert "precision: 1 is not reached with at least 10 alerts among 80 labelled examples" in outcome.err
    assert "Traceback" not in outcome.err
    unfinished = gtea("score", model, world.store, "--out", tmp_path / "s.csv")
    assert "is a run that has not finished. Resume it with gtea train --resume" in unfinished.err
    epochs = (model / "metrics.jsonl").read_text()
    resumed = train(*QUICK_HYBRID, "--precision", 0.3, "--resume", model, **hybrid)
    assert resumed.code == 0, resumed.err
    assert (model / "metrics.jsonl").read_text() == epochs, "the epochs were not repeated"
    assert train(*QUICK_HYBRID, "--precision", 0.3, "--out", fresh, **hybrid).code == 0
    for name in ("model.safetensors", "thresholds.json", "run.json"):
        assert (model / name).read_bytes() == (fresh / name).read_bytes()
    again = train(*QUICK_HYBRID, "--precision", 0.2, "--resume", model, **hybrid)
    assert again.code == 2
    assert "task.decisions.precision was 0.3 when the run began (got 0.2)" in again.err


def test_a_prevalence_changes_probabilities_and_no_decision(
    gtea: Run, train: Run, world: World, tmp_path: Path
) -> None:
    plain, rare = tmp_path / "plain", tmp_path / "rare"
    for model, words in ((plain, ()), (rare, ("--prevalence", 0.01))):
        assert train(*words, "--out", model).code == 0
    before, after = scored(gtea, plain, world.store), scored(gtea, rare, world.store)
    for name in ("account", "rank", "alert", "active"):
        assert [row[name] for row in before] == [row[name] for row in after]
    classes = json.loads((plain / "config.json").read_text())["classes"]
    trained = json.loads((plain / "calibration.json").read_text())["shares"][classes.index("illicit")]
    scores = np.array([float(row["score"]) for row in before])
    odds = scores / (1 - scores) * (0.01 / 0.99) / (trained / (1 - trained))
    assert [float(row["score"]) for row in after] == pytest.approx(odds / (1 + odds), rel=1e-9)
    assert trained > 0.1
    assert all(float(low["score"]) < float(high["score"]) for low, high in zip(after, before, strict=True))
    asked = scored(gtea, plain, world.store, "--prevalence", 0.01)
    assert [(row["account"], row["alert"]) for row in asked] == [(row["account"], row["alert"]) for row in after]
    assert [float(row["score"]) for row in asked] == pytest.approx([float(row["score"]) for row in after], rel=1e-12)


def test_a_precision_is_that_of_the_population(train: Run, tmp_path: Path) -> None:
    plain, rare = tmp_path / "plain", tmp_path / "rare"
    assert train("--precision", 0.3, "--out", plain).code == 0
    outcome = train("--precision", 0.3, "--prevalence", 0.1, "--out", rare)
    assert outcome.code == 0, outcome.err
    assert "on the validation part, if its share of illicit were 0.1 (95 %" in outcome.out
    assert threshold_of(rare)["precision"]["value"] >= 0.3
    assert threshold_of(rare)["num_alerts"] < threshold_of(plain)["num_alerts"]
    never = train("--precision", 0.9, "--prevalence", 0.0001, "--out", tmp_path / "never")
    assert never.code == 3
    assert "precision: 0.9 is not reached" in never.err


def test_a_prevalence_that_can_not_be_scored_with(gtea: Run, train: Run, world: World, tmp_path: Path) -> None:
    model, out = tmp_path / "m", tmp_path / "s.csv"
    assert train("--out", model, labels=world.three_classes).code == 0
    words = ("score", model, world.store, "--out", out, "--prevalence")
    several = gtea(*words, 0.1)
    assert several.code == 2
    assert several.err.startswith("gtea: --prevalence: needs a model of accounts of two classes")
    outside = gtea(*words, 2)
    assert (outside.code, outside.err) == (2, "gtea: --prevalence: must be between 0 and 1 (got 2.0). Try 0.001.\n")
    pairs = gtea(*words, 0.1, "--pairs", tmp_path / "pairs.csv")
    assert (pairs.code, pairs.err) == (2, "gtea: --prevalence: does not apply to --pairs. Leave it out.\n")
    assert not out.exists()


def test_more_than_two_classes_have_a_picture_but_no_alerts(
    gtea: Run, train: Run, world: World, tmp_path: Path
) -> None:
    model = tmp_path / "m"
    assert train("--out", model, labels=world.three_classes).code == 0
    assert json.loads((model / "thresholds.json").read_text()) == {"threshold": None}
    assert "share of predictions that are right" in (model / "reliability.svg").read_text()
    metrics = json.loads((model / "metrics.json").read_text())
    curve = metrics["calibration"]["test"]["after"]["reliability"]
    right = sum(count * share for count, share in zip(curve["counts"], curve["observed"], strict=True))
    assert right / sum(curve["counts"]) == pytest.approx(metrics["test"]["accuracy"])
    outcome = gtea("score", model, world.store, "--out", tmp_path / "s.csv")
    assert outcome.code == 0, outcome.err
    assert "alert" not in outcome.out
    assert "alert" not in (tmp_path / "s.csv").read_text().splitlines()[0]
