"""Fuzzing guided by coverage, for the readers that are pure Python. Needs atheris, which is not among gtea's packages.

    python -m tests.fuzz.guided manifest -max_total_time=300      # or settings, instants, layout

Anything that is not a GteaError ends it and leaves the input in a file ``crash-...``.
"""

from __future__ import annotations

import contextlib
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import atheris

with atheris.instrument_imports(include=["gtea"]):
    from gtea.config import read_config
    from gtea.errors import GteaError
    from gtea.ingestion.table_files import read_layout
    from gtea.store.manifest import read_manifest
    from gtea.store.time_units import parse_instant

from tests.fuzz.folders import Files
from tests.fuzz.forging import forge_store


def _manifest(content: bytes, folder: Path) -> None:
    """As it is, and as somebody would write it who knows of its digest."""
    _read_manifest(content, folder)
    with contextlib.suppress(ValueError, TypeError, RecursionError):
        inner = {"format": "gtea-store", "format_version": 2, **dict(json.loads(content))}
        forged: Files = forge_store({"s/manifest.json": json.dumps(inner).encode()}, "s")
        found = forged["s/manifest.json"]
        assert isinstance(found, bytes)
        _read_manifest(found, folder)


def _read_manifest(content: bytes, folder: Path) -> None:
    (folder / "manifest.json").write_bytes(content)
    with contextlib.suppress(GteaError):
        read_manifest(folder)


def _settings(content: bytes, folder: Path) -> None:
    (folder / "settings.toml").write_bytes(content)
    with contextlib.suppress(GteaError):
        read_config(folder / "settings.toml", [content[:40].decode("utf-8", "replace")])


def _instants(content: bytes, folder: Path) -> None:
    text = content[1:].decode("utf-8", "replace")
    unit = ("s", "us", "ns", "step")[content[0] % 4] if content else "s"
    with contextlib.suppress(GteaError):
        parse_instant(text, unit, "step" if unit == "step" else "s")


def _layout(content: bytes, folder: Path) -> None:
    (folder / "events.csv").write_bytes(content)
    with contextlib.suppress(GteaError):
        read_layout(folder / "events.csv", ["src", "dst", "time"])


READERS: dict[str, Callable[[bytes, Path], None]] = {
    "manifest": _manifest, "settings": _settings, "instants": _instants, "layout": _layout,
}  # fmt: skip


def main() -> None:
    """Fuzz the reader that is named first; the other words are libFuzzer's."""
    reader = READERS[sys.argv.pop(1)]
    with tempfile.TemporaryDirectory() as folder:
        atheris.Setup(sys.argv, lambda content: reader(content, Path(folder)))
        atheris.Fuzz()


if __name__ == "__main__":
    main()
