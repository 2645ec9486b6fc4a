"""What may be searched, and what is refused with a word on why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gtea.config import ModelConfig, RunConfig
from gtea.errors import UsageError
from gtea.experiments.tune.space import Choice, Range, Space, paper_space, read_space
from gtea.models.registry import model_config


def test_the_papers_grid_has_729_combinations() -> None:
    space = paper_space(RunConfig())
    assert space.size == 3**6
    assert space.to_json() == {
        "model.d_node, model.d_edge": [32, 64, 128],
        "model.num_encoder_layers": [1, 2, 3],
        "model.num_layers": [1, 2, 3],
        "sampling.batch_size": [32, 64, 128],
        "sampling.fanout": [5, 10, 25],
        "train.lr": [1e-4, 1e-3, 1e-2],
    }


def test_what_is_settled_or_not_there_is_not_searched() -> None:
    assert paper_space(RunConfig(), ["train.lr", "model.d_edge"]).size == 3**4
    assert paper_space(RunConfig(model=model_config("gtea-he"))).size == 3**5
    names = [name for axis in paper_space(RunConfig()).axes for name in axis.names]
    with pytest.raises(UsageError, match="leaves nothing of the paper's grid"):
        paper_space(RunConfig(), names)


def test_a_file_may_have_lists_ranges_and_ties_in_any_order(space_of: Callable[..., Space]) -> None:
    text = '[train]\nlr = { low = 1e-4, high = 1e-2, log = true }\n[model]\n"d_node, d_edge" = [8, 16]\n'
    space = space_of(text + "num_layers = { low = 1, high = 3 }\n")
    assert [axis.label for axis in space.axes] == ["model.d_node, model.d_edge", "model.num_layers", "train.lr"]
    assert [axis.values for axis in space.axes] == [
        Choice((8, 16)),
        Range(1, 3, False, True),
        Range(1e-4, 1e-2, True, False),
    ]
    assert space.size is None
    settings = space.settings([8, 2, 0.005])
    assert settings == {"model.d_node": 8, "model.d_edge": 8, "model.num_layers": 2, "train.lr": 0.005}
    assert space.values(settings) == [8, 2, 0.005]
    other = space_of(
        '[model]\nnum_layers = { low = 1, high = 3 }\n"d_node, d_edge" = [8, 16]\n' + text.split("[model]")[0]
    )
    assert other == space


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 100), st.integers(1, 100), st.booleans(), st.booleans())
def test_every_share_lies_in_the_range(share: float, low: int, more: int, log: bool, whole: bool) -> None:
    value = Range(low, low + more, log, whole).at(share)
    assert low <= value <= low + more
    assert not whole or isinstance(value, int)


def test_both_ends_of_whole_numbers_are_as_likely_as_the_middle() -> None:
    drawn = [Range(1, 3, False, True).at((i + 0.5) / 300) for i in range(300)]
    assert [drawn.count(value) for value in (1, 2, 3)] == [100, 100, 100]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[train]\nlrr = [1]", r"unknown key 'train\.lrr' in space\.toml\. Did you mean 'train\.lr'\?"),
        ("[model]\nnum_layer = { low = 1, high = 2 }", r"unknown key 'model\.num_layer' in space\.toml\. Did you mean"),
        ("", r"space\.toml: must name a setting and its values \(got none\)"),
        ("lr = [1]", r"space\.toml: lr must be in a section"),
        ("[train]\nlr = []", r"train\.lr must have a list of values or a range \(got \[\]\)"),
        ("[train]\nlr = 0.1", r"train\.lr must have a list of values or a range \(got 0\.1\)"),
        ("[train]\nlr = [0.1, 0.1]", r"must list each value once \(got 0\.1 twice\)"),
        ("[train]\nlr = ['a']", r"space\.toml: train\.lr must be of type float \(got 'a'\)"),
        ("[train]\nlr = [100.0]", r"space\.toml: train\.lr must be above 0 and below 10"),
        ("[train]\nlr = { low = 0.1 }", r"must have low, high and optionally log"),
        ("[train]\nlr = { low = 0.1, high = 0.2, lgo = true }", r"must have low, high and optionally log"),
        ("[train]\nlr = { low = 0.2, high = 0.1 }", r"must have low < high \(got low = 0\.2, high = 0\.1\)"),
        ("[model]\ndropout = { low = 0, high = 0.5, log = true }", r"must have 0 < low < high"),
        ("[model]\nencoder = { low = 1, high = 2 }", r"model\.encoder can't have a range, because it is not a number"),
        ("[model]\nd_node = { low = 1.5, high = 2 }", r"must have integer bounds \(got 1\.5 and 2\)"),
        ("[split]\nprotocol = ['paper']", r"split\.protocol can't be searched"),
        ("[features]\nages = [true, false]", r"features\.ages: is now called features\.recency"),
        ("[model]\nfamily = ['gcn', 'tree']", r"model\.family: is set by the model's name \(got 'gcn'"),
        ("[train]\nseed = [1, 2]", r"train\.seed can't be searched"),
        ("[train]\nmetric = ['accuracy']", r"train\.metric can't be searched"),
        ('[model]\nd_node = [8]\n"d_edge, d_node" = [8]', r"model\.d_node must appear once \(got 2 times\)"),
        ("[train\n", r"space\.toml: is not valid TOML"),
    ],
)
def test_spaces_that_can_not_be(space_of: Callable[..., Space], text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        space_of(text)


def test_a_missing_file_and_a_setting_that_is_given_and_searched(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no such file\. Check --space"):
        read_space(tmp_path / "none.toml", RunConfig())
    (tmp_path / "s.toml").write_text("[train]\nlr = [0.1]")
    with pytest.raises(UsageError, match=r"train\.lr: is both set by --set and searched in s\.toml"):
        read_space(tmp_path / "s.toml", RunConfig(), ["train.lr"])


def test_values_are_checked_beside_the_settings_they_will_stand_in(space_of: Callable[..., Space]) -> None:
    base = RunConfig(model=ModelConfig(encoder="transformer", num_heads=4))
    with pytest.raises(UsageError, match=r"space\.toml: model\.num_heads must divide model\.d_edge \(got 4 and 30\)"):
        space_of("[model]\nd_edge = [30]", base)
