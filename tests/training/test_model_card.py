"""The model card is written from the run's own facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

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
    assert "Warning" not in model_card(model)
    warning = {"code": "few_examples", "text": "test has 2 accounts of 'x'", "remedy": "Add labels."}
    lines = model_card(replace(model, metrics={**model.metrics, "warnings": [warning]})).splitlines()
    place = lines.index("- Warning: test has 2 accounts of 'x'. Add labels.")
    assert lines.index("## Evaluation") < place < lines.index("## Limitations")
    assert (lines[place - 1], lines[place + 1]) == ("", "")
