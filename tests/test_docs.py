"""The documents agree with the code."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gtea.cli.main import cli
from gtea.store.layout import DTYPES

ROOT = Path(__file__).parents[1]
NUMPY_NAMES = {"int64": "<i8", "int32": "<i4", "uint8": "|u1", "float32": "<f4"}


def test_architecture_names_every_module_and_no_other() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    folders = ("data", "store", "tasks", "training", "scoring", "estimators")
    named = set(re.findall(r"`((?:nn|sampling|" + "|".join(folders) + r")/\w+\.py|\w+\.py)`", text))
    source = ROOT / "src" / "gtea"
    there = {str(path.relative_to(source)) for folder in folders for path in (source / folder).glob("*.py")}
    there = {name for name in there if not name.endswith("__init__.py")}
    assert there - named == set()
    assert [name for name in named if not (source / name).exists()] == []


def test_store_format_documents_every_array_with_its_type() -> None:
    documented: dict[str, str] = {}
    for line in (ROOT / "docs" / "store-format.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) > 4 and cells[1].startswith("`"):
            kinds = cells[2].split(", ")
            names = re.findall(r"`(\w+)`", cells[1])
            documented |= {name: NUMPY_NAMES.get(kinds[min(i, len(kinds) - 1)], "") for i, name in enumerate(names)}
    assert {name: documented.get(name) for name in DTYPES} == DTYPES
    assert {"node_id_offset", "node_id_bytes", "vocabulary_k_offset"} <= set(documented)


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text()
    import click

    for name in cli.list_commands(click.Context(cli)):
        assert f"gtea {name}" in text or name == "demo"


@pytest.mark.slow
def test_the_readmes_own_lines_run(gtea: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text()
    shell = re.search(r"## From the shell\n+```\n(.*?)```", text, re.S)
    assert shell is not None
    # The same lines on less data: a reader has minutes, a test has seconds.
    small = shell[1].replace("--accounts 5000 --events 100000", "--accounts 300 --events 6000")
    lines = small.replace("train.epochs=15", "train.epochs=1").strip().splitlines()
    assert len(lines) == 4
    for line in lines:
        outcome = gtea(*shlex.split(line)[1:])
        assert outcome.code == 0, outcome.err
    python = re.search(r"```python\n(.*?)```", text, re.S)
    assert python is not None
    code = (
        python[1]
        .replace('out="payments.store"', 'out="other.store"')
        .replace('open("payments.store")', 'open("other.store")')
    )
    exec(compile(code, "README.md", "exec"), {})
