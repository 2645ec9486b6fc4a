"""A whole search: it uses only the validation part, and gives the same result after any interruption."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gtea.config import read_config
from gtea.errors import ModelError, UsageError
from gtea.experiments.tune.pruning import MedianRule
from gtea.experiments.tune.search import Search, SearchListener, SearchStatus, train_best, tune
from gtea.experiments.tune.space import Space
from gtea.experiments.tune.trials import Trial, ranked
from gtea.runtime.files import locked
from gtea.training.request import LinkRequest, NodeRequest, run_once

Nodes = Callable[..., NodeRequest]
Spaces = Callable[..., Space]
RULE = MedianRule(trials=1, epochs=1)


class Killed(BaseException):
    """What a kill looks like from inside: nobody catches it."""


def quiet(standing: SearchStatus) -> None:
    pass


def killed_after(reports: int) -> SearchListener:
    seen: list[SearchStatus] = []

    def listener(standing: SearchStatus) -> None:
        seen.append(standing)
        if len(seen) == reports:
            raise Killed

    return listener


def facts(trials: list[Trial]) -> list[Any]:
    """Everything but durations."""
    return [replace(trial, seconds=0.0) for trial in trials]


def best_of_epochs(folder: Path, metric: str) -> float:
    """The best validation metric of a run's epochs: of the network, before it is blended with trees."""
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return max(float(row[f"validation_{metric}"]) for row in rows)


def test_a_search_leaves_its_trials_the_best_settings_and_nothing_else(
    nodes: Nodes, space_of: Spaces, tmp_path: Path
) -> None:
    request, out = nodes(), tmp_path / "t"
    seen: list[SearchStatus] = []
    trials = tune(request, Search("grid", space_of(), 1), out, seen.append)
    assert [trial.state for trial in trials] == ["finished"] * 6
    assert sorted(path.name for path in out.iterdir()) == ["best.toml", "trials", "trials.csv", "tune.json"]
    best = ranked(trials)[0]
    assert best.metric == max(max(trial.curve) for trial in trials)
    config = read_config(out / "best.toml", base=request.config)
    assert (config.train.lr, config.model.attention) == (best.settings["train.lr"], best.settings["model.attention"])
    assert config == replace(request.config, train=config.train, model=config.model)
    assert len(list(csv.reader((out / "trials.csv").read_text().splitlines()))) == 7
    assert (seen[0].number, seen[0].trials, seen[0].best) == (1, 6, None)
    assert (seen[-1].number, seen[-1].best) == (6, max(max(trial.curve) for trial in trials[:5]))


def test_a_trial_is_what_gtea_train_would_do_with_its_settings(nodes: Nodes, space_of: Spaces, tmp_path: Path) -> None:
    request = nodes()
    trials = tune(request, Search("random", space_of(), 2), tmp_path / "t", quiet)
    final = train_best(request, trials, tmp_path / "t")
    best = ranked(trials)[0]
    config = read_config(tmp_path / "t" / "best.toml", base=request.config)
    again = run_once(replace(request, config=config), str(tmp_path / "m"), None, lambda report: None)
    assert final["validation"] == again["validation"]
    assert best_of_epochs(tmp_path / "m", config.train.metric) == best.metric
    assert final["test"] == again["test"]
    one, other = ((folder / "model.safetensors").read_bytes() for folder in (tmp_path / "t" / "model", tmp_path / "m"))
    assert one == other
    assert train_best(request, trials, tmp_path / "t")["test"] == final["test"]  # it is there: no second training
    with pytest.raises(UsageError, match=r"when the run began"):  # other settings get no look at the same test part
        train_best(request, [trial for trial in trials if trial != best], tmp_path / "t")


def test_the_test_part_decides_nothing(nodes: Nodes, space_of: Spaces, data: Path, tmp_path: Path) -> None:
    """With the answers of two test accounts exchanged, every trial comes out the same; the final figures don't."""
    request = nodes()
    test = request.split().test
    assert test is not None
    chosen = {}
    for index in test.index:
        chosen[int(request.labels.targets[index])] = request.store.account(int(request.labels.nodes[index]))
    rows = list(csv.reader((data / "labels.csv").read_text().splitlines()))
    labels = {row[0]: row[1] for row in rows[1:]}
    one, other = chosen.values()
    labels[one], labels[other] = labels[other], labels[one]
    changed = tmp_path / "changed.csv"
    changed.write_text("\n".join([",".join(rows[0][:2]), *(f"{account},{label}" for account, label in labels.items())]))
    search = Search("random", space_of(), 3)
    before = tune(request, search, tmp_path / "a", quiet)
    after = tune(nodes(labels=changed), search, tmp_path / "b", quiet)
    assert facts(before) == facts(after)
    figures = [train_best(request, before, tmp_path / "a"), train_best(nodes(labels=changed), after, tmp_path / "b")]
    assert figures[0]["validation"] == figures[1]["validation"]
    assert figures[0]["test"] != figures[1]["test"]


@pytest.mark.parametrize("kind", ["random", "tpe"])
def test_interrupted_anywhere_and_resumed_it_tries_the_same(
    nodes: Nodes, space_of: Spaces, tmp_path: Path, kind: Any
) -> None:
    """Given up trials are among them, and the one that was just about to be given up."""
    if kind == "tpe":
        pytest.importorskip("optuna", reason="Optuna is not installed")
    search = Search(kind, space_of(), 4, seed=4, rule=RULE)
    request = nodes("train.metric=roc_auc")  # finer than classes at a threshold: some fall behind
    counted: list[SearchStatus] = []
    whole = tune(request, search, tmp_path / "whole", counted.append)
    assert {trial.state for trial in whole} == {"finished", "pruned"}
    for reports in range(2, len(counted), 4):
        out = tmp_path / str(reports)
        with pytest.raises(Killed):
            tune(request, search, out, killed_after(reports))
        assert facts(tune(request, search, out, quiet, resume=True)) == facts(whole)
        assert (out / "best.toml").read_bytes() == (tmp_path / "whole" / "best.toml").read_bytes()
        assert not (out / "running").exists()


def test_more_trials_go_on_where_fewer_ended(nodes: Nodes, space_of: Spaces, tmp_path: Path) -> None:
    search = Search("random", space_of(), 4)
    whole = tune(nodes(), search, tmp_path / "whole", quiet)
    few = tune(nodes(), replace(search, trials=2), tmp_path / "t", quiet)
    more = tune(nodes(), search, tmp_path / "t", quiet, resume=True)
    assert more[:2] == few
    assert facts(more) == facts(whole)


def test_what_goes_on_must_be_what_began(nodes: Nodes, space_of: Spaces, data: Path, tmp_path: Path) -> None:
    out, search = tmp_path / "t", Search("random", space_of(), 1)
    tune(nodes(), search, out, quiet)

    def refused(message: str, request: NodeRequest | None = None, **changes: Any) -> None:
        with pytest.raises(UsageError, match=message):
            tune(request or nodes(), replace(search, **changes), out, quiet, resume=True)

    refused("seed was 0 when the run began", seed=1)
    refused("search was 'random'", kind="grid")
    refused("prune was None", rule=RULE)
    refused(r"space\.train\.lr was \[0\.001, 0\.01, 0\.1\] .*got \[0\.5\]", space=space_of("[train]\nlr = [0.5]"))
    refused(r"space\.model\.attention was .*got None", space=space_of("[train]\nlr = [0.001, 0.01, 0.1]"))
    refused(r"config\.train\.epochs was 3 .*got 4", nodes("train.epochs=4"))
    some = tmp_path / "some.csv"
    some.write_text("\n".join((data / "labels.csv").read_text().splitlines()[:-1]))
    refused(r"task\.labels was", nodes(labels=some))
    with pytest.raises(UsageError, match="already holds a search"):
        tune(nodes(), search, out, quiet)
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine").touch()
    with pytest.raises(UsageError, match="full: already exists"):
        tune(nodes(), search, tmp_path / "full", quiet, resume=True)
    (out / "tune.json").write_text("{")
    with pytest.raises(ModelError, match=r"tune\.json: can't be read"):
        tune(nodes(), search, out, quiet, resume=True)


def test_two_searches_can_not_share_a_folder(nodes: Nodes, space_of: Spaces, tmp_path: Path) -> None:
    search = Search("random", space_of(), 1)
    tune(nodes(), search, tmp_path / "t", quiet)
    with (
        locked(tmp_path / "t", UsageError()),
        pytest.raises(UsageError, match="another process is running a search there"),
    ):
        tune(nodes(), replace(search, trials=2), tmp_path / "t", quiet, resume=True)


def test_settings_that_lead_nowhere_fail_and_the_search_goes_on(nodes: Nodes, space_of: Spaces, tmp_path: Path) -> None:
    """Values that are possible one by one, and not together."""
    heads = space_of("[model]\nencoder = ['lstm', 'transformer']\nnum_heads = [3, 4]\n")
    made = tune(nodes("train.epochs=1"), Search("grid", heads, 1), tmp_path / "heads", quiet)
    assert [trial.state for trial in made] == ["finished", "finished", "failed", "finished"]
    assert made[2].reason is not None
    assert "model.num_heads must divide model.d_edge" in made[2].reason
    kept = json.loads((tmp_path / "heads" / "trials" / "0003.json").read_text())
    assert (kept["state"], kept["metric"], kept["epochs"]) == ("failed", None, 0)
    alone = space_of("[model]\nencoder = ['transformer']")
    with pytest.raises(
        ModelError, match=r"no trial finished \(of 1\)\. .* Trial 1 failed with: model\.num_heads must divide"
    ):
        tune(nodes("model.num_heads=3"), Search("grid", alone, 1), tmp_path / "none", quiet)


def test_a_loss_that_is_no_number_fails_its_trial_only(nodes: Nodes, space_of: Spaces, tmp_path: Path) -> None:
    steep = space_of("[train]\nweight_decay = [0.0, 1e38]")
    made = tune(nodes("train.epochs=1"), Search("grid", steep, 1), tmp_path / "t", quiet)
    assert [trial.state for trial in made] == ["finished", "failed"]
    assert made[1].reason is not None
    assert made[1].reason.startswith("training: the loss is nan in epoch")


def test_a_search_for_links(links: LinkRequest, space_of: Spaces, tmp_path: Path) -> None:
    made = tune(links, Search("random", space_of(), 2), tmp_path / "t", quiet)
    assert [trial.state for trial in made] == ["finished", "finished"]
    assert read_config(tmp_path / "t" / "best.toml", base=links.config).train.metric == "average_precision"
    final = train_best(links, made, tmp_path / "t")
    assert 0 < final["validation"]["average_precision"] <= 1
    assert best_of_epochs(tmp_path / "t" / "model", "average_precision") == ranked(made)[0].metric
