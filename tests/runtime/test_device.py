"""Devices, denormals, and the settings that come from the environment because they change no result."""

from __future__ import annotations

import threading
from collections.abc import Callable

import pytest
import torch

from gtea.errors import UsageError
from gtea.runtime.device import checkpoint_seconds, flush_denormals, loader_workers, resolve_device, silent_seconds

TINY = torch.finfo(torch.float32).tiny


def halved() -> float:
    """Half of the smallest number in usual form."""
    return float(torch.full((1,), TINY) * 0.5)


def test_they_are_zero_inside_and_as_before_afterwards() -> None:
    assert halved() > 0
    with flush_denormals():
        assert halved() == 0
        with flush_denormals():
            assert halved() == 0
        assert halved() == 0  # the inner one leaves what it found
    assert halved() > 0


def test_a_failure_puts_things_back() -> None:
    with pytest.raises(KeyError), flush_denormals():
        raise KeyError
    assert halved() > 0


def test_a_thread_that_is_there_already_does_not_notice() -> None:
    ask = threading.Event()
    found: list[float] = []

    def halve_when_asked() -> None:
        ask.wait()
        found.append(halved())

    thread = threading.Thread(target=halve_when_asked)
    thread.start()
    with flush_denormals():
        ask.set()
        thread.join()
    assert found[0] > 0


SETTINGS = pytest.mark.parametrize(
    ("name", "read", "default"),
    [
        ("GTEA_WORKERS", loader_workers, 1),
        ("GTEA_CHECKPOINT_SECONDS", checkpoint_seconds, 30),
        ("GTEA_SILENT_SECONDS", silent_seconds, 1800),
    ],
)


@SETTINGS
def test_settings_from_the_environment(
    monkeypatch: pytest.MonkeyPatch, name: str, read: Callable[[], float], default: int
) -> None:
    monkeypatch.delenv(name, raising=False)
    assert read() == default
    monkeypatch.setenv(name, "")
    assert read() == default
    for value in ("0", "4", " 7 "):
        monkeypatch.setenv(name, value)
        assert read() == int(value)


@SETTINGS
@pytest.mark.parametrize("value", ["many", "-1", "nan", "1,5", "0x2", "-inf", " "])
def test_rubbish_in_the_environment_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, read: Callable[[], float], default: int, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(UsageError) as error:
        read()
    kind = "a whole number" if name == "GTEA_WORKERS" else "a number"
    assert str(error.value) == f"{name}: must be {kind}, 0 or more (got {value!r}). Unset it to use {default}."


def test_workers_are_whole_and_checkpoints_may_be_fractions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", "0.5")
    assert checkpoint_seconds() == 0.5
    monkeypatch.setenv("GTEA_CHECKPOINT_SECONDS", "inf")
    assert checkpoint_seconds() == float("inf")
    monkeypatch.setenv("GTEA_SILENT_SECONDS", "inf")
    assert silent_seconds() == 1e8
    for value in ("1.5", "inf"):
        monkeypatch.setenv("GTEA_WORKERS", value)
        with pytest.raises(UsageError, match="GTEA_WORKERS: must be a whole number"):
            loader_workers()


def test_devices() -> None:
    assert resolve_device("cpu") == torch.device("cpu")
    assert resolve_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")
    with pytest.raises(UsageError, match=r"--device: must be auto, cpu or cuda \(got 'tpu'\)\. Try auto\."):
        resolve_device("tpu")
    if not torch.cuda.is_available():
        with pytest.raises(UsageError, match="--device cuda: no usable GPU was found"):
            resolve_device("cuda")
