"""What CI installs: every package pinned, and every file but torch's known by its digest."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator

import pytest
from packaging.requirements import Requirement
from tools import hashes


def required(name: str, extras: frozenset[str], seen: set[tuple[str, frozenset[str]]]) -> Iterator[str]:
    """Every package that another needs here, directly or not; what torch needs differs by machine, like torch."""
    if (name, extras) in seen or name in hashes.DIFFERS_BY_MACHINE:
        return
    seen.add((name, extras))
    for text in importlib.metadata.requires(name) or []:
        wanted = Requirement(text)
        applies = wanted.marker is None or any(wanted.marker.evaluate({"extra": extra}) for extra in ("", *extras))
        if applies and hashes.canonical(wanted.name) != "gtea-kernels":
            yield hashes.canonical(wanted.name)
            yield from required(hashes.canonical(wanted.name), frozenset(wanted.extras), seen)


def test_everything_that_is_installed_is_pinned() -> None:
    pinned = {hashes.canonical(name) for name in hashes.pins(hashes.PINNED.read_text())}
    assert set(required("gtea", frozenset({"dev"}), set())) - {"gtea"} - pinned == set()


def test_the_same_versions_have_digests_all_but_torch() -> None:
    pinned, hashed = (hashes.pins(path.read_text()) for path in (hashes.PINNED, hashes.HASHED))
    assert hashed == {name: version for name, version in pinned.items() if name not in hashes.DIFFERS_BY_MACHINE}
    blocks = hashes.HASHED.read_text().split("==")[1:]
    assert all("    --hash=sha256:" in block for block in blocks)


@pytest.mark.parametrize(
    ("file", "wanted"),
    [
        ("a_b-1.2-py3-none-any.whl", True),
        ("a_b-1.2.tar.gz", True),
        ("a_b-1.2-cp312-cp312-manylinux_2_28_x86_64.whl", True),
        ("a_b-1.2-cp39-abi3-macosx_11_0_arm64.whl", True),
        ("a_b-1.2-cp310-cp310-manylinux_2_28_x86_64.whl", False),
        ("a_b-1.2-cp313-cp313t-manylinux_2_28_x86_64.whl", False),
        ("a_b-1.2-cp312-cp312-win_amd64.whl", False),
        ("a_b-1.2-cp312-cp312-musllinux_1_2_x86_64.whl", False),
        ("a_b-1.20-py3-none-any.whl", False),
        ("a_b-1.2.1.tar.gz", False),
    ],
)
def test_files_of_other_versions_and_systems_are_left_out(file: str, wanted: bool) -> None:
    assert hashes.is_wanted(file, "A.b", "1.2") is wanted
