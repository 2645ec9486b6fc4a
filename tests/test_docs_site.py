"""The documentation site: nothing is missing from it, its tutorials run, and it builds without a network."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any, get_type_hints

import click
import pytest
import yaml
from tools import docs_pages

import gtea as package
from gtea.config import RunConfig

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
TUTORIALS = sorted((DOCS / "tutorials").glob("*.md"))
PROSE = sorted(
    path
    for path in [*ROOT.glob("*.md"), *DOCS.rglob("*.md"), *(ROOT / "kernels").glob("*.md")]
    if DOCS / "results" not in path.parents
)


@pytest.fixture(scope="module")
def generated() -> dict[str, str]:
    """The pages that are written from the package."""
    return docs_pages.generated(DOCS)


@pytest.fixture(scope="module")
def nav() -> list[str]:
    """Every page in the navigation."""
    config = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    return list(_leaves(docs_pages.filled(config["nav"], DOCS)))


def _leaves(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
        return
    for item in nav.values() if isinstance(nav, dict) else nav:
        yield from _leaves(item)


def test_every_page_of_the_navigation_exists(nav: list[str], generated: dict[str, str]) -> None:
    made = {*generated, *docs_pages.SHOWN.values()}
    assert [page for page in nav if page not in made and not (DOCS / page).is_file()] == []
    assert [source for source in docs_pages.SHOWN if not (ROOT / source).is_file()] == []


def test_every_page_is_in_the_navigation_once(nav: list[str], generated: dict[str, str]) -> None:
    pages = {str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md")}
    assert pages | {*generated, *docs_pages.SHOWN.values()} == set(nav)
    assert len(nav) == len(set(nav))


def test_the_command_reference_has_every_command_and_option(generated: dict[str, str]) -> None:
    sections = re.split(r"^## ", generated["reference/cli.md"], flags=re.MULTILINE)
    by_name = {section.partition(" {")[0]: section for section in sections}
    found = dict(docs_pages.commands())
    assert {"gtea", "gtea train", "gtea reproduce table1"} <= set(found) <= set(by_name)
    for name, command in found.items():
        for option in command.params:
            if isinstance(option, click.Option):
                assert all(f"`{flag}" in by_name[name] for flag in option.opts), (name, option.opts)
            else:
                assert option.make_metavar(click.Context(command)) in by_name[name]


def test_the_settings_reference_has_every_setting(generated: dict[str, str]) -> None:
    rows = re.findall(r"^\| `([\w.]+)` \|", generated["reference/settings.md"], re.MULTILINE)
    sections = get_type_hints(RunConfig).items()
    assert rows == [f"{section}.{field.name}" for section, kind in sections for field in fields(kind)]


def test_a_settings_meaning_is_the_string_below_its_field() -> None:
    class Example:
        """Settings."""

        first: int = 1
        second: float = 0.5
        """What it means,
        in two lines."""

    assert docs_pages.field_docs(Example) == {"second": "What it means, in two lines."}


def test_the_module_index_has_every_module(generated: dict[str, str]) -> None:
    source = ROOT / "src"
    files = [path.relative_to(source).with_suffix("") for path in (source / "gtea").rglob("*.py")]
    modules = {".".join(file.parts) for file in files if file.name not in ("__init__", "__main__")}
    rows = re.findall(r"^\| `([\w.]+)` \| (.+) \|$", generated["reference/modules.md"], re.MULTILINE)
    assert {name for name, _ in rows} == modules


def test_the_api_reference_has_every_public_name(generated: dict[str, str]) -> None:
    assert set(re.findall(r"heading: gtea\.(\w+)", generated["reference/api.md"])) == set(package.__all__)


def test_every_decision_is_listed(generated: dict[str, str]) -> None:
    listed = re.findall(r"\]\((\d{4}-[\w-]+\.md)\)", generated["decisions/index.md"])
    assert listed == sorted(path.name for path in (DOCS / "decisions").glob("*.md"))


@pytest.mark.parametrize("page", PROSE, ids=lambda path: str(path.relative_to(ROOT)))
def test_prose_is_wrapped(page: Path) -> None:
    long = [number for number, line in _prose(page.read_text()) if len(line) > 120]
    assert long == [], f"{page.name}: lines {long} have more than 120 characters. Wrap them."


def _prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines of a page that can be wrapped, without the targets of their links."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and not line.startswith(("|", "    ")):
            yield number, re.sub(r"\]\([^)]*\)", "]", line)


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS, ids=lambda path: path.stem)
def test_a_tutorial_runs_and_prints_what_it_says(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    gtea: Callable[..., Any],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every block marked ``sh`` or ``python`` runs, on less data than a reader has."""
    pytest.importorskip("torch_geometric", reason="the extra [pyg] is not installed")
    monkeypatch.chdir(tmp_path)
    session: dict[str, Any] = {}
    printed = ""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```", _shortened(page.read_text()), re.DOTALL | re.MULTILINE)
    assert {"sh", "python", "text"} <= {kind for kind, _ in blocks}
    for kind, body in blocks:
        if kind == "sh":
            printed = "".join(_run(gtea, line) for line in body.splitlines())
        elif kind == "python":
            exec(compile(body, page.name, "exec"), session)
            printed = capsys.readouterr().out
        elif printed:
            assert _first_words(body) - _first_words(printed) == set()
            printed = ""  # other blocks of text are files, or commands that only a reader runs


def _shortened(text: str) -> str:
    text, count = re.subn(r"--accounts \d+ --events \d+", "--accounts 300 --events 6000", text)
    assert count == 1
    text = re.sub(r"epochs=\d+", "epochs=1", text)
    return re.sub(r"--folds 5", "--folds 3", text)


def _run(gtea: Callable[..., Any], line: str) -> str:
    words = shlex.split(line)
    assert words[0] == "gtea"
    outcome = gtea(*words[1:])
    assert outcome.code == 0, outcome.err
    return str(outcome.out)


def _first_words(text: str) -> set[str]:
    """What the lines begin with, numbers aside: ``test accuracy``, ``nodes``, ``<gtea.Store``."""
    text = re.sub(r"^(level with|behind) boosted trees", "ahead of boosted trees", text, flags=re.MULTILINE)
    lines = (re.sub(r"^test (\w+)", r"test_\1", line).split() for line in text.splitlines())
    first = (re.sub(r"\d+", "", words[0]) for words in lines if words)
    return {word for word in first if re.search(r"[a-z]", word, re.IGNORECASE)}


@pytest.mark.slow
def test_the_site_builds_strictly_and_asks_no_other_server(tmp_path: Path) -> None:
    # Not --quiet: it hides warnings from --strict too.
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = list(tmp_path.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        loaded = re.findall(r"<(?:script|img|iframe)[^>]*src=\"([^\"]+)\"", page.read_text())
        loaded += re.findall(
            r"<link[^>]*rel=\"(?:stylesheet|preconnect|icon)\"[^>]*href=\"([^\"]+)\"", page.read_text()
        )
        assert [address for address in loaded if "//" in address] == [], page
