"""Settings from defaults, a TOML file and the command line, in that order."""

from __future__ import annotations

from pathlib import Path

import pytest

from gtea.config import FeaturesConfig, ModelConfig, RunConfig, config_from_json, read_config, with_settings
from gtea.config.run_config import _RENAMED
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
            "features.nodes must be one of 'given', 'statistics', 'random', 'partners', 'rhythm' (got 'magic')",
        ),
        ("[features]\nnodes = 5\n", "features.nodes must be a list (got 5)"),
        ("x = " + "[" * 3000, "run.toml: is not valid TOML"),
        ("[train]\nseed = " + "1" * 5000, "run.toml: is not valid TOML"),
        ("[train]\nlr = 0x" + "f" * 4000, "train.lr must be a number of at most 64 bits (got 16000 bits)"),
        ("[train]\nweight_decay = inf\n", "train.weight_decay must be a finite number (got inf)"),
        ("[sampling]\nfanout = 0\n", "sampling.fanout must be at least 1 (got 0)"),
        ("[train]\nweight_decay = -1.0\n", "train.weight_decay must be at least 0 (got -1.0)"),
        ("[sampling]\nfanout = 16385\n", "sampling.fanout must be at most 16384 (got 16385). Try 16384."),
        ("[features]\nd_random = 0\n", "features.d_random must be at least 1 (got 0). Try 1."),
        ('[features]\ntime_origin = "epoch"\n', "features.time_origin must be one of 'pair', 'calendar' (got 'epoch')"),
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


OLD_SETTINGS = {
    "features.ages": "is now called features.recency",
    "features.flows": "is now called features.net_flow",
    "features.pairs": "is now called features.pair_statistics",
    "features.ranks": "is now called features.rank_inputs",
    "features.known": "is now called features.neighbour_labels",
    "features.clock": "is now called features.time_origin",
    "features.gaps": "is gone: events always carry the time since the pair's previous event",
    "model.tree_beside": "is gone: the model with boosted trees is now called hybrid",
    "train.workers": "is now called GTEA_WORKERS, an environment variable",
    "train.checkpoint_seconds": "is now called GTEA_CHECKPOINT_SECONDS, an environment variable",
    "train.clip_norm": "is gone: gradients are always clipped",
    "split.kind": "is gone: use --folds",
    "split.folds": "is gone: use --folds",
    "split.fold": "is gone: use --folds",
    "split.graph_fraction": "is gone: use --graph-until",
}


def test_every_old_setting_is_tested_here() -> None:
    assert set(OLD_SETTINGS) == set(_RENAMED)


@pytest.mark.parametrize(("name", "message"), OLD_SETTINGS.items())
def test_old_settings_are_refused_with_what_to_use_instead(tmp_path: Path, name: str, message: str) -> None:
    """From the command line, from a file, and by name."""
    section, key = name.split(".")
    (tmp_path / "run.toml").write_text(f"[{section}]\n{key} = 1\n")
    with pytest.raises(UsageError) as by_option:
        read_config(None, [f"{name}=1"])
    with pytest.raises(UsageError) as by_file:
        read_config(tmp_path / "run.toml")
    with pytest.raises(UsageError) as by_name:
        with_settings(RunConfig(), {name: 1}, "space.toml")
    assert str(by_option.value).startswith(f"{name}: {message}")
    assert str(by_option.value).endswith(f"(in --set {name}).")
    assert str(by_file.value).startswith(f"{name}: {message}")
    assert str(by_file.value).endswith("(in run.toml).")
    assert str(by_name.value).startswith(f"{name}: {message}")


@pytest.mark.parametrize(
    "name", [old.split()[3].rstrip(",") for old in OLD_SETTINGS.values() if old.startswith("is now")]
)
def test_new_names_are_settings_or_environment_variables(name: str) -> None:
    section, _, key = name.partition(".")
    assert name.startswith("GTEA_") or (section == "features" and hasattr(FeaturesConfig(), key))


def test_the_family_is_set_by_the_models_name_alone() -> None:
    with pytest.raises(UsageError) as error:
        read_config(None, ["model.family=tree"])
    assert str(error.value) == (
        "model.family: is set by the model's name (got 'tree' in --set model.family). Pass --variant tree."
    )
    assert read_config(None, ["model.family=gtea"]) == RunConfig()
    with pytest.raises(UsageError, match=r"Pass --variant gtea-l\+t\."):  # there is no variant gtea
        read_config(None, ["model.family=gtea"], RunConfig(ModelConfig(family="hybrid")))
