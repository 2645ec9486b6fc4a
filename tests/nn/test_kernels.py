"""The choice between the compiled kernels and PyTorch, and that it can't be seen in the results."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from tests.nn.examples import SPEC, histories_of, seeded

from gtea.errors import UsageError
from gtea.models.registry import model_config
from gtea.nn.edge_encoder import EdgeEncoder
from gtea.nn.encoders.lstm import LSTMEncoder
from gtea.nn.kernels import kernels
from gtea.nn.linear import linear

ROOT = Path(__file__).parents[2]
# CI sets GTEA_KERNELS=on: kernels() then raises where the build no longer works, and nothing is skipped in silence.
needs_kernels = pytest.mark.skipif(
    kernels() is None,
    reason="gtea_kernels is not installed or switched off: pip install ./kernels",
)
Choose = Callable[[str], None]


@pytest.fixture
def choose(monkeypatch: pytest.MonkeyPatch) -> Iterator[Choose]:
    """Sets GTEA_KERNELS as if the process had started with it."""

    def choose(wish: str) -> None:
        monkeypatch.setenv("GTEA_KERNELS", wish)
        kernels.cache_clear()

    yield choose
    monkeypatch.undo()
    kernels.cache_clear()


def test_off_keeps_to_pytorch(choose: Choose) -> None:
    choose("off")
    assert kernels() is None


def test_on_refuses_to_go_without(choose: Choose, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gtea_kernels", None)
    choose("")
    assert kernels() is None
    choose("on")
    with pytest.raises(UsageError) as refusal:
        kernels()
    assert str(refusal.value).startswith("GTEA_KERNELS=on: the package gtea_kernels must be installed (got: ")
    assert str(refusal.value).endswith("('pip install ./kernels' in a clone) or unset it.")


def test_kernels_of_another_gtea_are_not_used(choose: Choose, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gtea_kernels", ModuleType("gtea_kernels"))
    choose("")
    assert kernels() is None
    choose("on")
    with pytest.raises(UsageError, match="it has interface 1, and this gtea uses 2"):
        kernels()


def test_other_wishes_are_refused(choose: Choose) -> None:
    choose("yes")
    with pytest.raises(UsageError) as refusal:
        kernels()
    message = "GTEA_KERNELS must be 'on' or 'off' (got 'yes'). Unset it to use the kernels if they are installed."
    assert str(refusal.value) == message


@needs_kernels
def test_double_precision_goes_to_the_twin(choose: Choose) -> None:
    histories = histories_of([3, 1])
    encoder = LSTMEncoder(2, 4, 1, seeded()).double()
    here = encoder(histories.features, histories.offset)
    choose("off")
    assert torch.equal(encoder(histories.features, histories.offset), here)


def test_both_encoders_at_once_are_each_alone() -> None:
    histories = histories_of([3, 0, 9, 1], dtype=torch.float32)
    one, other = LSTMEncoder(2, 7, 2, seeded(1)), LSTMEncoder(2, 7, 2, seeded(2))
    first, second = one.encode_both(other, histories.features, histories.offset)
    assert torch.equal(first, one(histories.features, histories.offset))
    assert torch.equal(second, other(histories.features, histories.offset))


@needs_kernels
def test_a_mirror_must_be_a_column() -> None:
    compiled, histories = kernels(), histories_of([3, 1], dtype=torch.float32)
    assert compiled is not None
    layers = [tuple(layer) for layer in LSTMEncoder(2, 4, 1, seeded())._layers()]
    for column in (-1, 2):
        with pytest.raises(ValueError, match=rf"column must be one of x \(got {column} of 2\)"):
            compiled.last_h_mirrored(histories.features, histories.offset, [layers], column)


def loss_curve(name: str, num_steps: int) -> torch.Tensor:
    """Learning to tell long histories from short ones, by the edge encoder with its time encoding."""
    encoder = EdgeEncoder(model_config(name), SPEC, seeded())
    head = linear(encoder.d_edge, 1, seeded(1))
    optimiser = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=0.01)
    losses = []
    for step in range(num_steps):
        lengths = torch.randint(0, 12, (40,), generator=seeded(step))
        e_tilde, alpha_tilde = encoder(histories_of(lengths.tolist(), seed=step, dtype=torch.float32))
        logit = head(e_tilde).squeeze(1) + alpha_tilde
        loss = torch.nn.functional.binary_cross_entropy_with_logits(logit, (lengths > 5).float())
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        losses.append(loss.detach())
    return torch.stack(losses)


@needs_kernels
@pytest.mark.parametrize("name", ["gtea-l+t", "gtea-tx+t"])
def test_the_loss_curve_is_that_of_the_twins(choose: Choose, name: str) -> None:
    by_kernels = loss_curve(name, 60)
    choose("off")
    by_twin = loss_curve(name, 60)
    assert by_twin[-10:].mean() < 0.6 * by_twin[0]
    torch.testing.assert_close(by_kernels, by_twin, atol=1e-4, rtol=0)


@needs_kernels
@pytest.mark.slow
def test_the_suite_of_the_encoders_passes_without_kernels() -> None:
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "not compiled"]
    where = [
        "tests/nn/encoders/test_lstm.py",
        "tests/nn/encoders/test_self_attention.py",
        "tests/nn/encoders/test_sequence_encoder.py",
        "tests/nn/test_time2vec.py",
        "tests/nn/test_edge_encoder.py",
    ]
    environment = {**os.environ, "GTEA_KERNELS": "off"}
    outcome = subprocess.run([*command, *where], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout[-2000:]
    assert " passed" in outcome.stdout


@pytest.mark.slow
def test_the_core_stays_within_its_memory(tmp_path: Path) -> None:
    """Built with sanitizers and run on random shapes against plain loops; with gcc also through the binding, on hostile
    arguments.
    """
    compiler = os.environ.get("CXX", "c++")
    if shutil.which(compiler) is None:
        pytest.skip(f"no C++ compiler ({compiler})")
    runtime = subprocess.run([compiler, "-print-file-name=libasan.so"], capture_output=True, text=True).stdout.strip()
    python = {"PYTHON": sys.executable} if Path(runtime).is_absolute() else {}
    command = [str(ROOT / "kernels/tests/check.sh"), str(tmp_path), "10", "1000"]
    outcome = subprocess.run(command, env={**os.environ, **python}, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout[-2000:] + outcome.stderr[-2000:]
    assert "10 cases, 0 failures\n" in outcome.stdout
    if python:
        assert re.search(r"^1024 hostile calls: \d+ computed, \d+ refused, \d+ too large", outcome.stdout, re.MULTILINE)
