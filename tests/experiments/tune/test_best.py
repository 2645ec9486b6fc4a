"""best.toml says the same as the configuration it was made from."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.config import ModelConfig, RunConfig, read_config
from gtea.experiments.tune.best import write_best
from gtea.experiments.tune.trials import Trial
from gtea.models.registry import model_config


@pytest.mark.parametrize(
    "settings",
    [
        [],
        ["train.lr=1e-05", "train.weight_decay=1e30", "model.time_encoding=false"],
        ['features.nodes=["statistics", "random"]', "split.fractions=[0.5, 0.25, 0.25]", "train.metric=roc_auc"],
    ],
)
@pytest.mark.parametrize("model", ["hybrid", "gtea-tx", "gcn"])
def test_it_reads_back_whatever_the_variant(tmp_path: Path, model: str, settings: list[str]) -> None:
    config = read_config(None, settings, RunConfig(model=model_config(model)))
    trial = Trial(3, {"train.lr": config.train.lr}, "finished", [0.25, 0.5], 1.0)
    write_best(tmp_path / "best.toml", config, trial, 7)
    assert read_config(tmp_path / "best.toml", base=RunConfig(ModelConfig(family=config.model.family))) == config
    text = (tmp_path / "best.toml").read_text()
    assert text.startswith(
        f"# Validation {config.train.metric} 0.5000 (trial 3 of 7, epoch 1).\n# Selected on the validation"
    )
