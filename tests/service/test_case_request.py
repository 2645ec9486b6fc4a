from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from gtea.service.case_request import LiveCaseRequest, ServedPlaces


def test_places_are_the_same_from_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    places = ServedPlaces.of(Path("model"), "digest", Path("store"), Path("log"))
    assert places == ServedPlaces(*(str(tmp_path / "model"), "digest", str(tmp_path / "store"), str(tmp_path / "log")))


def test_both_go_through_json() -> None:
    places = ServedPlaces("m", "digest", "s", "l")
    assert ServedPlaces(**json.loads(json.dumps(asdict(places)))) == places
    request = LiveCaseRequest("a\nb", 3, 0.25, None, 1, 2, (1, 1))
    assert asdict(LiveCaseRequest(**json.loads(json.dumps(asdict(request))))) == {
        **asdict(request),
        "score_counts": [1, 1],
    }
