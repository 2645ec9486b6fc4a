"""The model card is written from the run's own facts."""

from __future__ import annotations

from collections.abc import Callable

from gtea.training.fit import train_task
from gtea.training.loop import no_report
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
