"""Generated data sets: made once, made again if the numbers are others, and of the kind that their names say."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gtea.datasets.world import WorldSpec
from gtea.experiments.runs.generated import GENERATED, TINY_WORLD, WORLDS, generate
from gtea.experiments.runs.subject import named_subject
from gtea.runtime.progress import no_progress


def test_it_is_made_once_and_again_with_other_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    spec = GENERATED[TINY_WORLD]
    assert isinstance(spec, WorldSpec)
    monkeypatch.setitem(GENERATED, TINY_WORLD, replace(spec, accounts=60))
    folder = tmp_path / "world"
    generate(TINY_WORLD, folder, no_progress)
    made = (folder / "dataset.json").stat().st_mtime_ns
    assert len((folder / "labels.csv").read_text().splitlines()) == 61
    generate(TINY_WORLD, folder, no_progress)
    assert (folder / "dataset.json").stat().st_mtime_ns == made
    monkeypatch.setitem(GENERATED, TINY_WORLD, replace(spec, accounts=70))
    generate(TINY_WORLD, folder, no_progress)
    assert len((folder / "labels.csv").read_text().splitlines()) == 71
    assert sorted(path.name for path in folder.iterdir()) == ["dataset.json", "labels.csv", "store"]
    assert [path.name for path in tmp_path.iterdir() if not path.name.startswith(".")] == ["world"]


def test_a_world_is_a_data_set_with_its_illicit_accounts_as_positives(tmp_path: Path) -> None:
    found = named_subject(TINY_WORLD, tmp_path, protocol="temporal")
    assert (found.name, found.task, found.positive) == (TINY_WORLD, "nodes", "illicit")
    assert found.store == tmp_path / "data" / "world-tiny" / "store"


def test_worlds_are_all_different_and_have_enough_illicit_accounts() -> None:
    assert len({repr(spec) for spec in WORLDS.values()}) == len(WORLDS) == 13
    assert {spec.signal for spec in WORLDS.values()} == {"own", "partners", "histories", "order"}
    for name, spec in WORLDS.items():
        assert spec.illicit >= 50, name
        assert spec.events <= 200_000, name
        if "prevalence" in name:
            assert spec.prevalence == float(name.partition("-")[2])
