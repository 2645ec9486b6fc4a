"""What workers say to each other, who is refused, and what happens when one dies."""

from __future__ import annotations

import os
import signal
import time
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from gtea.config import ModelConfig, RunConfig, TrainConfig
from gtea.errors import DataError, UsageError
from gtea.training.workers import ALONE, Workers, require_shareable

from .worlds import in_workers


def test_shares_are_neighbours_and_differ_by_one_at_most() -> None:
    for count in range(1, 6):
        for parts in range(count, 12):
            shares = [Workers(number, count).share_of(parts) for number in range(count)]
            assert [part for share in shares for part in share] == list(range(parts))
            assert max(map(len, shares)) - min(map(len, shares)) <= 1


def test_alone_nothing_is_sent() -> None:
    rows = torch.arange(6.0).reshape(3, 2)
    assert ALONE.gather(rows, 3) is rows
    assert ALONE.from_leader(lambda: object) is object
    assert ALONE.each_says({"a": 1}) == [{"a": 1}]
    ALONE.require_alike({}, "here")
    with pytest.raises(UsageError, match="wrong"), ALONE.together():
        raise UsageError("wrong")


def exchange(workers: Workers) -> dict[str, Any]:
    own = torch.tensor([[float(part), 0.1 * part] for part in workers.share_of(5)])
    led = [workers.from_leader(lambda: {"loss": float("inf"), "who": workers.number}), workers.number]
    said = workers.each_says({"words": "x" * (1 + workers.number)})
    return {"rows": workers.gather(own, 5).tolist(), "led": led, "said": said, "bytes": said_bytes(workers)}


def said_bytes(workers: Workers) -> list[bytes]:
    return [workers.bytes_from_leader(content if workers.leads else b"") for content in (b"", b"\x00\xff" * 3)]


def test_everybody_gets_all_rows_in_order_and_the_leaders_words() -> None:
    found = in_workers(3, exchange)
    rows = torch.tensor([[float(part), 0.1 * part] for part in range(5)]).tolist()
    for number, each in enumerate(found):
        assert each["rows"] == rows
        assert each["led"] == [{"loss": float("inf"), "who": 0}, number]
        assert each["said"] == [{"words": "x"}, {"words": "xx"}, {"words": "xxx"}]
        assert each["bytes"] == [b"", b"\x00\xff" * 3]


def differ(workers: Workers) -> None:
    facts = {"config": {"train": {"lr": 0.1 + 0.1 * workers.number}}, "data_digest": "a"}
    workers.require_alike(facts, f"host-{workers.number}")


def forget(workers: Workers) -> None:
    network = nn.Linear(1, 1)
    with torch.no_grad():
        network.weight.fill_(1.0)
        network.bias.fill_(float(workers.number))
    workers.require_same_weights(network)


def stumble(workers: Workers, who: int) -> None:
    with workers.together():
        if workers.number == who:
            raise DataError("labels.csv: is empty. Name another file.", "and a second line")


def lead_astray(workers: Workers) -> None:
    def fail() -> None:
        raise UsageError("out: exists. Choose another --out.")

    workers.from_leader(fail)


def test_what_goes_wrong_in_one_ends_all_and_is_told_once() -> None:
    leader, other = in_workers(2, differ)
    assert leader == (
        "UsageError",
        "config.train.lr must be the same in all workers (got 0.2 in worker 1 on host-1, and 0.1 in worker 0 on "
        "host-0). Give them the same store, labels, settings, versions and kind of processor.",
    )
    assert other == 2
    leader, other = in_workers(2, forget)
    assert leader[0] == "ModelError"
    assert "weights must be the same in all workers (got others in worker 1" in leader[1]
    assert other == 5
    leader, other = in_workers(2, stumble, 1)
    assert leader == ("DataError", "worker 1: labels.csv: is empty. Name another file.\nand a second line")
    assert other == 3
    leader, other = in_workers(2, stumble, 0)
    assert leader == ("DataError", "labels.csv: is empty. Name another file.\nand a second line")
    assert other == 3
    assert in_workers(2, lead_astray) == [("UsageError", "out: exists. Choose another --out."), 2]


def die(workers: Workers) -> float:
    started = time.monotonic()
    if workers.number == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    rows: Tensor = workers.gather(torch.zeros(1, 4), 2)
    assert rows.shape == (2, 4)
    return time.monotonic() - started


def test_a_dead_worker_is_noticed() -> None:
    started = time.monotonic()
    (name, text), dead = in_workers(2, die)
    assert dead is None
    assert name == "LostWorkerError"
    assert text.startswith("training: another worker has died, or was silent for too long (")
    assert "\n" not in text
    assert time.monotonic() - started < 120  # and not after the half hour that silence may last


def test_what_workers_can_not_share() -> None:
    config = RunConfig(train=TrainConfig(micro_batches=2))
    require_shareable(config, 2)
    with pytest.raises(UsageError, match=r"got 2 and 3\)\. Try --set train\.micro_batches=3"):
        require_shareable(config, 3)
    with pytest.raises(UsageError, match="--variant tree: is fitted at once and not in steps"):
        require_shareable(RunConfig(model=ModelConfig(family="tree")), 2)
    require_shareable(RunConfig(model=ModelConfig(family="tree")), 1)
