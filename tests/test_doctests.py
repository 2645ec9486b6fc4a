"""Examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib
import logging
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src"
MODULES = sorted(
    ".".join(path.relative_to(SOURCE).with_suffix("").parts).removesuffix(".__init__")
    for path in SOURCE.glob("gtea/**/*.py")
    if ">>>" in path.read_text(encoding="utf-8")
)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings_run(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    logging.getLogger("gtea").setLevel(logging.ERROR)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    found = doctest.testmod(importlib.import_module(name))
    assert found.attempted
    assert not found.failed
