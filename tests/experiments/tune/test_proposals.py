"""What is tried next depends on space, seed and the trials before, and on nothing else."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest

from gtea.errors import UsageError
from gtea.experiments.tune.proposals import Kind, proposer
from gtea.experiments.tune.space import Space
from gtea.experiments.tune.trials import Trial

RANGES = "[train]\nlr = { low = 1e-4, high = 1e-1, log = true }\n[model]\nnum_layers = [1, 2, 3]\n"


def searched(
    kind: Kind, space: Space, trials: int, seed: int = 0, worth: Callable[[dict[str, Any]], float] = lambda s: 0.5
) -> list[Trial]:
    """A search in which trials cost nothing."""
    propose = proposer(kind, space)
    made: list[Trial] = []
    while len(made) < trials and (settings := propose(space, seed, made)) is not None:
        state: Any = "pruned" if len(made) % 4 == 3 else "finished"
        made.append(Trial(len(made) + 1, settings, state, [worth(settings)], 0.0))
    return made


def test_the_grid_is_every_combination_once_the_last_axis_fastest(space_of: Callable[..., Space]) -> None:
    made = [tuple(trial.settings.values()) for trial in searched("grid", space_of(), 100)]
    assert made == [(a, lr) for a in ("sparsemax", "softmax") for lr in (0.001, 0.01, 0.1)]


def test_a_grid_needs_lists(space_of: Callable[..., Space]) -> None:
    with pytest.raises(UsageError, match=r"--search grid: train\.lr must have a list of values \(got a range\)"):
        proposer("grid", space_of(RANGES))


@pytest.mark.parametrize("kind", ["random", "tpe"])
def test_a_small_space_is_used_up_without_repeats(space_of: Callable[..., Space], kind: Kind) -> None:
    if kind == "tpe":
        pytest.importorskip("optuna", reason="Optuna is not installed")
    made = [tuple(trial.settings.values()) for trial in searched(kind, space_of(), 100)]
    assert len(made) == len(set(made)) == 6


@pytest.mark.parametrize("kind", ["random", "tpe"])
def test_the_seed_decides_and_a_search_may_stop_anywhere(space_of: Callable[..., Space], kind: Kind) -> None:
    if kind == "tpe":
        pytest.importorskip("optuna", reason="Optuna is not installed")
    space = space_of(RANGES)
    made = searched(kind, space, 14, worth=lambda s: -s["train.lr"])
    assert made == searched(kind, space, 14, worth=lambda s: -s["train.lr"])
    assert made != searched(kind, space, 14, seed=1, worth=lambda s: -s["train.lr"])
    assert proposer(kind, space)(space, 0, made[:12]) == made[12].settings


def test_random_draws_spread_over_lists_and_over_the_logarithm(space_of: Callable[..., Space]) -> None:
    made = [trial.settings for trial in searched("random", space_of(RANGES), 300)]
    counts = [sum(s["model.num_layers"] == layers for s in made) for layers in (1, 2, 3)]
    assert min(counts) > 70
    thirds = [sum(low <= math.log10(s["train.lr"]) < low + 1 for s in made) for low in (-4, -3, -2)]
    assert sum(thirds) == 300
    assert min(thirds) > 70


def test_tpe_goes_where_it_is_good(space_of: Callable[..., Space]) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")

    def worth(settings: dict[str, Any]) -> float:
        return -abs(math.log10(settings["train.lr"]) + 3.5)

    late = {
        kind: [worth(trial.settings) for trial in searched(kind, space_of(RANGES), 40, worth=worth)[20:]]
        for kind in ("random", "tpe")
    }
    assert sum(late["tpe"]) / 20 > sum(late["random"]) / 20 + 0.3


def test_tpe_takes_lists_words_and_truths_as_values(space_of: Callable[..., Space]) -> None:
    pytest.importorskip("optuna", reason="Optuna is not installed")
    text = '[features]\nnodes = [["statistics"], ["random", "statistics"]]\nrecency = [true, false]\n'
    made = searched("tpe", space_of(text + "[sampling]\nfanout = { low = 1, high = 9, log = true }\n"), 14)
    assert len(made) == 14
    assert {type(trial.settings["sampling.fanout"]) for trial in made} == {int}


def test_tpe_without_optuna_says_how_to_get_it(space_of: Callable[..., Space], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UsageError, match=r"--search tpe: needs Optuna\. Install it with pip install 'gtea\[tune\]'"):
        proposer("tpe", space_of())
