"""Models that go to an object store and come back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cluster.conftest import made_case

from gtea.errors import ModelError
from gtea.models.model_folder import MANIFEST, load_model
from gtea.models.model_transfer import bring_model, send_model
from gtea.runtime.remote_folder import RemoteFolder, parse_remote


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    case = made_case(tmp_path_factory.mktemp("models"), directed=False)
    return case.link_model("gtea-he"), case.link_model("gtea-l")


def test_a_model_comes_back_to_the_byte(place: str, models: tuple[Path, Path]) -> None:
    address = parse_remote(place)
    send_model(models[0], address)
    copy = bring_model(address)
    assert {path.name: path.read_bytes() for path in copy.iterdir()} == {
        path.name: path.read_bytes() for path in models[0].iterdir()
    }
    assert load_model(copy).config["task"] == "links"
    send_model(models[0], address)
    with pytest.raises(ModelError, match=r"has another model, whose readers must not see it change. Choose another"):
        send_model(models[1], address)


@pytest.mark.parametrize("place", ["memory"], indirect=True)
def test_a_manifest_that_names_other_files_brings_none_of_them(
    place: str, models: tuple[Path, Path], tmp_path: Path
) -> None:
    address = parse_remote(place)
    send_model(models[0], address)
    content = json.loads((models[0] / MANIFEST).read_text())
    content["files"] |= {"../../outside": "0" * 64}
    (tmp_path / "m").write_text(json.dumps(content))
    RemoteFolder(address).put(MANIFEST, tmp_path / "m")
    with pytest.raises(ModelError) as told:
        load_model(bring_model(address))
    assert "/tmp/gtea-" not in str(told.value)
    assert not list(tmp_path.rglob("outside"))


@pytest.mark.parametrize("place", ["memory"], indirect=True)
def test_what_is_missing_or_unfinished_is_told(place: str, models: tuple[Path, Path], tmp_path: Path) -> None:
    with pytest.raises(ModelError, match=rf"{place}/manifest.json: is not there. Check the address"):
        bring_model(parse_remote(place))
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "run.json").write_text("{}")
    with pytest.raises(ModelError, match="is a run that has not finished"):
        send_model(tmp_path / "run", parse_remote(place))
