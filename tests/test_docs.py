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


@pytest.mark.parametrize("page", ["ARCHITECTURE.md", "SECURITY.md", "docs/threat-model.md"])
def test_every_test_that_a_page_names_is_there(page: str) -> None:
    named = re.findall(r"`(?:tests/)?([\w/]*test_[\w*]+\.py)(?:::(\w+))?`", (ROOT / page).read_text())
    assert len(named) > 5
    for path, name in named:
        files = list((ROOT / "tests").glob(path))
        assert files, path
        assert all(f"def {name}" in file.read_text() for file in files), name


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text()
    import click

    for name in cli.list_commands(click.Context(cli)):
        assert f"gtea {name}" in text or name == "demo"


@pytest.fixture
def readme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The README with the same lines on less data: a reader has minutes, a test has seconds."""
    monkeypatch.chdir(tmp_path)
    text = (ROOT / "README.md").read_text()
    for long, short in (
        ("--accounts 5000 --events 100000", "--accounts 300 --events 6000"),
        ("accounts=5000, events=100_000", "accounts=300, events=6_000"),
        ("epochs=15", "epochs=1"),
    ):
        assert long in text
        text = text.replace(long, short)
    return text


@pytest.mark.slow
def test_the_readmes_four_lines_of_shell_run(gtea: Callable[..., Any], readme: str) -> None:
    shell = re.search(r"## From the shell\n\n```\n(.*?)```", readme, re.S)
    assert shell is not None
    lines = shell[1].strip().splitlines()
    assert len(lines) == 4
    for line in lines:
        outcome = gtea(*shlex.split(line)[1:])
        assert outcome.code == 0, outcome.err


@pytest.mark.slow
def test_the_readmes_python_runs(readme: str, capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", readme, re.S)
    assert len(block.splitlines()) <= 12
    exec(compile(block, "README.md", "exec"), {})
    assert re.search(r"accuracy on the accounts that it has not seen: [01]\.\d+", capsys.readouterr().out)
    assert Path("payments.model/manifest.json").exists()


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 130
    assert len((ROOT / "ARCHITECTURE.md").read_text().splitlines()) <= 100
