"""A saved state goes on as if nothing had happened. What does not fit is not used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.live.streams import NAMES, NEW, frame_of, random_model, rows_at, scored_anew, store_on_disk

from gtea.errors import UsageError
from gtea.live.live_scorer import LiveScorer
from gtea.live.saved_state import read_state, write_state
from gtea.runtime.json_shape import Every
from gtea.scoring.scorer import NodeModel

IDENTITY = {"model": "m", "data": "d"}
_NOTHING = hashlib.sha256().hexdigest()
ARRAYS = {"numbers": np.arange(6.0).reshape(2, 3), "flags": np.array([True, False]), "none": np.zeros((0, 4), np.int32)}


def test_what_is_written_is_read(tmp_path: Path) -> None:
    write_state(tmp_path / "s", IDENTITY, {"seen": 3}, ARRAYS)
    found = read_state(tmp_path / "s", IDENTITY, Every(object))
    assert found is not None
    assert found[0] == {"seen": 3}
    for name, array in ARRAYS.items():
        np.testing.assert_array_equal(found[1][name], array)
        assert found[1][name].dtype == array.dtype


def test_another_identity_or_no_file_is_no_state(tmp_path: Path) -> None:
    assert read_state(tmp_path / "s", IDENTITY, Every(object)) is None
    write_state(tmp_path / "s", IDENTITY, {}, ARRAYS)
    assert read_state(tmp_path / "s", {**IDENTITY, "data": "other"}, Every(object)) is None


def test_a_damaged_file_is_no_state(tmp_path: Path) -> None:
    path = tmp_path / "s"
    write_state(path, IDENTITY, {}, ARRAYS)
    whole = path.read_bytes()
    generator = np.random.default_rng(0)
    for _ in range(150):
        damaged = bytearray(whole)
        damaged[int(generator.integers(len(whole)))] ^= 1 << int(generator.integers(8))
        path.write_bytes(damaged if generator.integers(2) else damaged[: int(generator.integers(len(whole)))])
        found = read_state(path, IDENTITY, Every(object))
        assert found is None or path.read_bytes() == whole


@pytest.mark.parametrize(
    "described",
    [
        ["<f8", [0], 0, ""],
        {"dtype": "<f8", "shape": [-1], "offset": 0, "sha256": _NOTHING},
        {"dtype": "|O", "shape": [0], "offset": 0, "sha256": _NOTHING},
        {"dtype": "<f8", "shape": [2**60, 2**60], "offset": 0, "sha256": _NOTHING},
        {"dtype": "<f8", "shape": [0], "offset": 1, "sha256": _NOTHING},
        "x",
    ],
)
def test_hostile_headers_are_no_state(tmp_path: Path, described: Any) -> None:
    document = {
        "format": "gtea-live",
        "format_version": 1,
        "identity": IDENTITY,
        "facts": {},
        "arrays": {"a": described},
    }
    header = json.dumps(document).encode()
    digest = hashlib.sha256(header).digest()
    (tmp_path / "s").write_bytes(len(header).to_bytes(8, "little") + digest + header)
    assert read_state(tmp_path / "s", IDENTITY, Every(object)) is None


@pytest.mark.parametrize("name", ["gtea-l+t", "hybrid", "gtea-tx"])
def test_killed_between_saves_it_replays_to_the_same_numbers(tmp_path: Path, name: str) -> None:
    generator = np.random.default_rng(5)
    rows = rows_at(generator, 50, NAMES, 100, 130, 2)
    store = store_on_disk(rows, tmp_path / "store")
    model = random_model(store, generator, name, nodes=("statistics", "random"), recency=False, max_events=4)
    batches = [rows_at(generator, 8, [*NAMES, *NEW], 120 + 5 * i, 140 + 5 * i, 4) for i in range(6)]
    whole = LiveScorer(model, store, state=tmp_path / "live", allow_any_date=True, per_update=2)
    for i, batch in enumerate(batches):
        whole.update(frame_of(batch))
        if i == 2:
            whole.save({"batch": i})
    resumed = LiveScorer(model, store, state=tmp_path / "live", allow_any_date=True, per_update=2)
    assert (resumed.position, resumed.num_events) == ({"batch": 2}, 24)
    for batch in batches[3:]:
        resumed.update(frame_of(batch))
    expected, found = whole.top(99), resumed.top(99)
    assert found["account"].to_pylist() == expected["account"].to_pylist()
    np.testing.assert_allclose(found["score"].to_numpy(), expected["score"].to_numpy(), atol=1e-7)
    anew = scored_anew_on_disk(model, tmp_path, rows, batches)
    np.testing.assert_allclose(found["score"].to_numpy(), [anew[a] for a in found["account"].to_pylist()], atol=1e-6)


def scored_anew_on_disk(model: NodeModel, folder: Path, rows: Any, batches: Any) -> dict[str, float]:
    store = store_on_disk([*rows, *(row for batch in batches for row in batch)], folder / "all")
    scores = model.scores(model.probabilities(store, store.end, np.arange(store.num_nodes)))
    return dict(zip(store.accounts.to_arrow().to_pylist(), scores.tolist(), strict=True))


def at_offset(offset: int, position: Mapping[str, Any]) -> bool:
    return bool(position["offset"] == offset)


def test_a_state_of_another_store_model_or_position_is_not_used(tmp_path: Path) -> None:
    generator = np.random.default_rng(6)
    rows = rows_at(generator, 40, NAMES, 100, 130, 2)
    store = store_on_disk(rows, tmp_path / "store")
    other = store_on_disk(rows[:-1], tmp_path / "other")
    options: dict[str, Any] = {"nodes": ("statistics",), "recency": False}
    model, stranger = (random_model(store, np.random.default_rng(i), "gtea-l", **options) for i in (1, 2))
    scorer = LiveScorer(model, store, state=tmp_path / "live", allow_any_date=True)
    scorer.update(frame_of(rows_at(generator, 9, NAMES, 120, 160, 2)))
    scorer.save({"offset": 7})
    assert LiveScorer(model, store, state=tmp_path / "live").num_events == 9
    assert LiveScorer(stranger, store, state=tmp_path / "live").num_events == 0
    assert LiveScorer(model, other, state=tmp_path / "live").num_events == 0
    for offset in (7, 8):
        again = LiveScorer(model, store, state=tmp_path / "live", still_fits=partial(at_offset, offset))
        assert again.num_events == 9 * (offset == 7)
        assert again.position == ({"offset": 7} if offset == 7 else {})


def never_asked(position: Mapping[str, Any]) -> bool:
    raise AssertionError(position)


def test_a_state_that_lies_about_its_graph_is_not_used(tmp_path: Path) -> None:
    generator = np.random.default_rng(7)
    store = store_on_disk(rows_at(generator, 40, NAMES, 100, 130, 2), tmp_path / "store")
    model = random_model(store, generator, "gtea-l", nodes=("statistics",), recency=False)
    scorer = LiveScorer(model, store, state=tmp_path / "live", allow_any_date=True)
    scorer.update(frame_of(rows_at(generator, 9, NAMES, 120, 160, 2)))
    scorer.save()
    assert scorer._identity is not None
    found = read_state(tmp_path / "live", scorer._identity, Every(object))
    assert found is not None
    facts, arrays = found
    for name in ("0.slot_edge", "0.edge_stop", "0.node_offset", "0.slot_neighbour", "1.place", "2.level", "scores"):
        array = arrays[name]
        changed = array[:-1] if name in ("2.level", "scores") else np.where(np.arange(len(array)) == 0, 1 << 30, array)
        write_state(tmp_path / "live", scorer._identity, facts, arrays | {name: changed.astype(array.dtype)})
        # Nobody may go on from its position, either: the events before it would be lost.
        assert LiveScorer(model, store, state=tmp_path / "live", still_fits=never_asked).num_events == 0, name
    write_state(
        tmp_path / "live", scorer._identity, facts, arrays | {"0.slot_edge": arrays["0.slot_edge"][:1].reshape(())}
    )
    assert LiveScorer(model, store, state=tmp_path / "live").num_events == 0


def test_a_store_in_memory_has_no_state(tmp_path: Path) -> None:
    from tests.live.streams import store_of_rows

    generator = np.random.default_rng(8)
    store = store_of_rows(rows_at(generator, 40, NAMES, 100, 130, 2), directed=False)
    model = random_model(store, generator, "gtea-l")
    with pytest.raises(UsageError, match="state: goes with a store on disk"):
        LiveScorer(model, store, state=tmp_path / "live")
    with pytest.raises(UsageError, match="save: the scorer has no file for its state"):
        LiveScorer(model, store).save()
    assert scored_anew(model, [], directed=False, loops=True).keys() == {"m", "nobody"}
