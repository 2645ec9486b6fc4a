"""docs/paper-to-code.md points at files and tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docs" / "paper-to-code.md").read_text()


def test_every_file_and_test_it_names_exists() -> None:
    named = re.findall(r"`((?:src|tests)/[\w/]+\.py)(?:::(\w+))?`", TEXT)
    assert len(named) > 50
    for path, test in named:
        assert (ROOT / path).is_file(), path
        assert not test or f"def {test}(" in (ROOT / path).read_text(), f"{path}::{test}"


def test_every_module_of_the_model_is_named() -> None:
    plumbing = {"groups", "segments"}
    modules = {path for path in (ROOT / "src/gtea/nn").rglob("*.py") if path.stem not in {"__init__", *plumbing}}
    assert [str(path) for path in modules if f"`{path.relative_to(ROOT)}`" not in TEXT] == []
