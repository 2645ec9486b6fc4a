"""Words that were replaced must not come back: one word for one thing, and the field's own terms.

Identifiers, strings, comments, docstrings and prose are searched alike. snake_case and CamelCase are split into words,
and a phrase is found across line breaks and comment markers.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SEARCHED = (
    *("src/**/*.py", "src/**/*.toml"),
    *("docs/**/*.md", "mkdocs.yml", "README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"),
    *(f"kernels/**/*.{kind}" for kind in ("py", "pyi", "hpp", "cpp", "inl")),
)
BUILT = {"build", "site", "__pycache__"}
"""Folders of generated files."""

INSTEAD = {
    r"foretell\w*|foretold": "predict",
    r"mend|mends|mended|mending": "fix",
    r"tiny numbers?": "denormals",
    r"surroundings": "subgraph",
    r"paired looks?|both looks": "slot, both slots of an edge",
    r"a look at": "slot, or a verb",
    r"lessons?": "objective",
    r"judge|judges|judged|judging|judgement": "evaluate, test",
    r"at rest": "in eval mode",
    r"(?<!model\.)trees? beside": "hybrid",
    r"trees? first": "hybrid",
    r"gtea\+tree": "hybrid",
    r"(?<!random )(?<!isolation )forests?": "boosted trees",
    r"no number(?! of)": "NaN",
    r"(?<!Adam's )moments?(?! estimates?)": "instant, cut, time",
    r"features\.(?:ages|flows|known|clock|ranks|pairs|gaps)\b|model\.tree_beside\b": "the setting's new name",
}
"""What must not be written, and what to write instead. A space stands for any break between two words."""

NO_CLASS = re.compile(r"\bclass \w*Neighbourhoods?\b")
"""A class for the nodes around some seeds is a subgraph."""

OLD_NAMES = re.compile(r"gtea\+tree|tree_beside|(?:features|model)\.\w+")
"""Names of 0.1, which the changelog may use as often as it likes: it says what they are called now."""


@dataclass(frozen=True)
class Allowed:
    """An exception: this text may stand so many times in this file."""

    file: str
    text: str
    times: int
    reason: str


ALLOWED = (
    *(
        Allowed("src/gtea/config/run_config.py", name, 1, "the table of renamed settings")
        for name in (
            *(f"features.{old}" for old in ("ages", "flows", "known", "clock", "ranks", "pairs", "gaps")),
            "model.tree_beside",
        )
    ),
    Allowed("src/gtea/config/run_config.py", "gtea+tree", 1, "the table of renamed settings"),
    Allowed("src/gtea/models/model_folder.py", "tree_beside", 1, "opens models of 0.1"),
    Allowed("src/gtea/models/model_folder.py", "tree_first", 1, "refuses models of 0.1"),
    Allowed("src/gtea/features/scaling.py", "moments", 1, "statistical moments"),
    Allowed("src/gtea/training/checkpoint.py", "moments", 3, "Adam's moments"),
    Allowed("src/gtea/training/checkpoint.py", "moment", 2, "Adam's moments"),
    Allowed("docs/results.md", "gtea+tree", 1, "says once what hybrid was called in 0.1"),
    Allowed("docs/decisions/0027-packages-and-words.md", "features.ages", 1, "the table of renamed settings"),
    Allowed("docs/decisions/0027-packages-and-words.md", "features.ranks", 1, "the table of renamed settings"),
    Allowed("docs/decisions/0027-packages-and-words.md", "features.gaps", 1, "the table of renamed settings"),
    Allowed("docs/decisions/0027-packages-and-words.md", "model.tree_beside", 1, "the table of renamed settings"),
)

_BREAK = r"[\s_\-#/*>]{1,12}"


def pattern(words: str) -> re.Pattern[str]:
    """Whole words, in any case, with any break where there is a space; look-behinds stay as they are."""
    parts = re.split(r"(\(\?<?![^)]*\))", words)
    loose = "".join(part if part.startswith("(?") else part.replace(" ", _BREAK) for part in parts)
    return re.compile(rf"(?<![A-Za-z])(?:{loose})(?![A-Za-z])", re.IGNORECASE)


PATTERNS = {pattern(words): instead for words, instead in INSTEAD.items()}


def split_names(text: str) -> str:
    """CamelCase as Camel_Case; lines stay where they are."""
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", text)


def forbidden(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, found text and what to write instead, for each forbidden word."""
    searched = split_names(text)
    for words, instead in PATTERNS.items():
        for match in words.finditer(searched):
            yield searched.count("\n", 0, match.start()) + 1, " ".join(match[0].split()), instead
    for match in NO_CLASS.finditer(text):
        yield text.count("\n", 0, match.start()) + 1, match[0], "subgraph"


def searched_files() -> list[Path]:
    """Every file that is read by people, without what tools make."""
    found = {path for glob in SEARCHED for path in ROOT.glob(glob)}
    return sorted(path for path in found if not BUILT & set(path.relative_to(ROOT).parts))


def faults(path: Path) -> list[str]:
    """Forbidden words in a file and in its name, less those that are allowed there."""
    name = path.relative_to(ROOT).as_posix()
    left = {allowed.text.lower(): allowed.times for allowed in ALLOWED if allowed.file == name}
    found = [f"{name}: the file's name has {text!r}; write: {instead}" for _, text, instead in forbidden(name)]
    for line, text, instead in forbidden(path.read_text(encoding="utf-8")):
        if left.get(text.lower(), 0) > 0:
            left[text.lower()] -= 1
        elif name != "CHANGELOG.md" or not OLD_NAMES.fullmatch(text):
            found.append(f"{name}:{line}: {text!r}; write: {instead}")
    return found


def test_no_forbidden_word() -> None:
    files = searched_files()
    assert len(files) > 200
    found = [fault for path in files for fault in faults(path)]
    assert not found, "\n".join(["", *found])


def test_every_exception_names_a_file() -> None:
    assert [allowed.file for allowed in ALLOWED if not (ROOT / allowed.file).is_file()] == []


@pytest.mark.parametrize(
    "text",
    [
        "scores are foretold",
        "class ForetellLinks:",
        "def mend_report():",
        "# where tiny\n    # numbers are zero",
        "tiny_numbers.hpp",
        "TINY_NUMBERS",
        "its Surroundings",
        "class SampledNeighbourhood:",
        "a paired look",
        "PairedLooks",
        "take a look\nat it",
        "self.lessons()",
        "judged by",
        "JudgedBy",
        "a network at rest",
        "tree_beside",
        "the tree first",
        "--variant gtea+tree",
        "a forest of trees",
        "a loss that is no number",
        "at any moment",
        "features.known=true",
        "config.features.ranks",
    ],
)
def test_a_forbidden_word_is_found(text: str) -> None:
    assert list(forbidden(text))


@pytest.mark.parametrize(
    "text",
    [
        "recommended",
        "amendment",
        "commends",
        "a random forest",
        "an isolation forest",
        "Adam's moments",
        "first moment estimates",
        "momentum",
        "features.pair_statistics",
        "features.ranks_of",
        "no number of threads",
        "one tree. First",
        "restful",
        "the neighbourhood of a node",
    ],
)
def test_other_words_are_not(text: str) -> None:
    assert not list(forbidden(text))
