"""Settings from defaults, a TOML file and the command line, in that order."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.config import RunConfig, config_from_json, read_config, with_settings
from gtea.errors import UsageError


def test_later_settings_win(tmp_path: Path) -> None:
    path = tmp_path / "run.toml"
    path.write_text('[train]\nlr = 0.5\nepochs = 7\n[features]\nnodes = ["statistics", "random"]\n')
    config = read_config(path, ["train.lr=1", "model.encoder=transformer"])
    assert (config.train.lr, config.train.epochs, config.model.encoder) == (1.0, 7, "transformer")
    assert config.features.nodes == ("statistics", "random")
    assert config.sampling == RunConfig().sampling


def test_what_is_saved_can_be_read_again() -> None:
    config = read_config(None, ["features.nodes=random", "train.schedule=cosine"])
    assert config_from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[train]\nlrr = 1\n", "unknown key 'train.lrr' in run.toml. Did you mean 'train.lr'?"),
        ("lr = 1\n", "unknown key 'lr' in run.toml"),
        ("[train\n", "run.toml: is not valid TOML"),
        ("[train]\nlr = true\n", "train.lr must be of type float (got True)"),
        (
            '[features]\nnodes = ["magic"]\n',
            "features.nodes must be one of 'given', 'statistics', 'random' (got 'magic')",
        ),
        ("[features]\nnodes = 5\n", "features.nodes must be a list (got 5)"),
        ("[sampling]\nfanout = 0\n", "sampling.fanout must be at least 1 (got 0)"),
        ("[train]\nweight_decay = -1.0\n", "train.weight_decay must be at least 0 (got -1.0)"),
    ],
)
def test_files_that_can_not_be(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "run.toml").write_text(content)
    with pytest.raises(UsageError) as error:
        read_config(tmp_path / "run.toml")
    assert message in str(error.value)


def test_settings_by_their_names_are_checked_like_any_other() -> None:
    assert with_settings(RunConfig(), {"train.lr": 1, "model.num_layers": 3}, "space.toml").train.lr == 1.0
    with pytest.raises(UsageError, match=r"unknown key 'trian\.lr' in space\.toml\. Did you mean 'train\.lr'\?"):
        with_settings(RunConfig(), {"trian.lr": 1}, "space.toml")
