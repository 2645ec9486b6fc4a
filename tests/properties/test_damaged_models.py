"""Whatever is done to a model folder, it scores with finite probabilities or is refused by a ModelError.

The digests are made anew after most changes, as somebody who means harm would. ``tests/properties/model_mutations.py``
has the ways. The seeds are fixed; to look further, raise ``EXECUTIONS``.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.models.test_model_folder import link_model, node_model, some_pairs
from tests.properties.model_mutations import Files, damaged, signed
from tests.training.test_baselines import CPU, habits, payers, stored

from gtea.cli.train import result_lines
from gtea.errors import ModelError
from gtea.models.model_folder import SavedModel, load_model
from gtea.scoring.options import ScoringOptions
from gtea.scoring.scorer import LinkModel, NodeModel
from gtea.store.store import Store
from gtea.training.model_card import model_card
from gtea.training.reliability_figure import reliability_figure
from gtea.training.request import result_of

EXECUTIONS = 100
"""For each of the two models."""


@pytest.fixture(scope="module")
def shops(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(payers(), tmp_path_factory.mktemp("shops") / "s")


@pytest.fixture(scope="module")
def visits(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return stored(habits(), tmp_path_factory.mktemp("habits") / "s")


@pytest.fixture(scope="module")
def models(shops: Store, visits: Store, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """The files of a hybrid of accounts, which has everything that a model can have, and of one of links."""
    folder = tmp_path_factory.mktemp("models")
    accounts = node_model(shops, folder / "nodes", "hybrid", "features.rank_inputs=true")
    links = link_model(visits, folder / "links", "hybrid")
    return {"nodes": contents(accounts), "links": contents(links)}


def contents(folder: Path) -> Files:
    names = (*json.loads((folder / "manifest.json").read_text())["files"], "manifest.json")
    return {name: (folder / name).read_bytes() for name in names}


@contextmanager
def written(files: Files, original: Files, folder: Path) -> Iterator[Path]:
    """A folder with these files instead of the original ones, which are there before and after."""
    if not folder.exists():
        folder.mkdir()
        for name, content in original.items():
            (folder / name).write_bytes(content)
    changed = [name for name, content in files.items() if content != original[name]]
    for name in changed:
        (folder / name).write_bytes(files[name])
    yield folder
    for name in changed:
        (folder / name).write_bytes(original[name])


def scores(kind: str, folder: Path, store: Store, options: ScoringOptions) -> tuple[SavedModel, NDArray[np.float64]]:
    if kind == "nodes":
        model = NodeModel.open(folder, CPU)
        return model.saved, model.probabilities(store, store.end, np.arange(store.num_nodes), options)
    links = LinkModel.open(folder, CPU)
    return links.saved, links.probabilities(store, store.end, *some_pairs(store), options)


@pytest.mark.parametrize("kind", ["nodes", "links"])
def test_a_damaged_model_scores_or_is_refused(
    kind: str, models: dict[str, Files], shops: Store, visits: Store, tmp_path: Path
) -> None:
    store, refused = (shops, 0) if kind == "nodes" else (visits, 0)
    for seed in range(EXECUTIONS):
        rng = random.Random(seed)
        what, files = damaged(models[kind], rng)
        options = ScoringOptions(sampled=rng.random() < 0.2)
        with written(files, models[kind], tmp_path / "m") as folder:
            try:
                saved, found = scores(kind, folder, store, options)
                assert ((found >= 0) & (found <= 1)).all()
                assert result_lines(result_of(saved, folder))
                assert model_card(saved)
                reliability_figure(saved)
            except ModelError:
                refused += 1
            except Exception as error:
                pytest.fail(f"seed {seed}, {what}: {error!r}")
    assert EXECUTIONS // 2 < refused < EXECUTIONS


@pytest.mark.parametrize("kind", ["nodes", "links"])
def test_damage_without_new_digests_is_always_found(kind: str, models: dict[str, Files], tmp_path: Path) -> None:
    files = models[kind]
    with written(signed(files), files, tmp_path / "m") as folder:
        assert load_model(folder).config
    for seed in range(EXECUTIONS):
        rng = random.Random(seed)
        name = rng.choice(sorted(files))
        content = bytearray(files[name])
        place = rng.randrange(len(content))
        content[place] ^= 1 << rng.randrange(8)
        if name == "manifest.json" and _says_the_same(content, files[name]):
            continue
        changed = {**files, name: bytes(content)}
        with written(changed, files, tmp_path / "m") as folder, pytest.raises(ModelError):
            load_model(folder)


def _says_the_same(content: bytearray, original: bytes) -> bool:
    """Whether a flipped bit only made one white space of another."""
    try:
        return bool(json.loads(content) == json.loads(original))
    except ValueError:
        return False
