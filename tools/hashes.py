"""Write constraints-hashes.txt: what constraints.txt pins, with the digests of the files that may be installed.

    python tools/hashes.py INDEX        # the address of a package index, such as pip's own setting index-url

``make setup`` installs these with ``--require-hashes`` before anything else. Torch is left out: its build, and with it
its digest, differs between machines (CPU, CUDA, a local index). Wheels for systems and Pythons that gtea doesn't
support are left out, too.
"""

from __future__ import annotations

import re
import sys
import urllib.request
from collections.abc import Iterator
from html import unescape
from pathlib import Path

ROOT = Path(__file__).parents[1]
PINNED, HASHED = ROOT / "constraints.txt", ROOT / "constraints-hashes.txt"
DIFFERS_BY_MACHINE = frozenset({"torch"})
S3_SERVER = ROOT / "tests" / "s3-server.txt"
_HEAD = """\
# Written by tools/hashes.py from constraints.txt: the same versions, with the digests of their files; all but torch.
"""
_S3_HEAD = """\
# The S3 server of tests, in an environment of its own (make .s3/.installed). Digests: tools/hashes.py.
"""
_LINK = re.compile(r'<a [^>]*href="[^"#]*#sha256=([0-9a-f]{64})"[^>]*>\s*([^<\s]+)\s*</a>')
_OTHER_SYSTEM = re.compile(r"-(win|pyodide|emscripten|android|ios)|musllinux|-graalpy|-pp\d")
_ONE_PYTHON = re.compile(r"-cp(\d+)-(\w+)-")
_PYTHONS = {"311", "312", "313"}


def pins(text: str) -> dict[str, str]:
    """Name and version of each line of a constraints file."""
    lines = (line.split("#")[0].strip(" \\") for line in text.splitlines() if not line.startswith(" "))
    return dict(line.split("==", 1) for line in lines if line)


def digests(index: str, name: str, version: str) -> list[str]:
    """SHA-256 of every file of a version that a supported machine might install."""
    address = f"{index.rstrip('/')}/{canonical(name)}/"
    request = urllib.request.Request(address, headers={"Accept": "text/html"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        links = _LINK.findall(answer.read().decode())
    found = sorted({digest for digest, file in links if is_wanted(unescape(file), name, version)})
    if not found:
        raise SystemExit(
            f"{name}=={version}: the index must have a file of it, with a sha256 (got none). Change the pin."
        )
    return found


def canonical(name: str) -> str:
    """The name as an index spells it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_wanted(file: str, name: str, version: str) -> bool:
    """Whether a file is one of that version, for a system and a Python that gtea supports."""
    stem = canonical(re.sub(r"(\.tar\.gz|\.zip)$", "", file))
    if file.endswith((".tar.gz", ".zip")):
        return stem == canonical(f"{name}-{version}")
    if not file.endswith(".whl") or not stem.startswith(canonical(f"{name}-{version}-")):
        return False
    python = _ONE_PYTHON.search(file)
    fits = python is None or python[2] == "abi3" or (python[1] in _PYTHONS and not python[2].endswith("t"))
    return fits and not _OTHER_SYSTEM.search(file)


def lines(index: str, pinned: Path) -> Iterator[str]:
    """The file, line by line, of what another one pins."""
    for name, version in pins(pinned.read_text(encoding="utf-8")).items():
        if name not in DIFFERS_BY_MACHINE:
            hashes = [f"    --hash=sha256:{digest}" for digest in digests(index, name, version)]
            yield " \\\n".join([f"{name}=={version}", *hashes]) + "\n"


def main() -> None:
    """Write the files."""
    if len(sys.argv) != 2:
        raise SystemExit("usage: python tools/hashes.py INDEX")
    HASHED.write_text("".join([_HEAD, *lines(sys.argv[1], PINNED)]), encoding="utf-8")
    S3_SERVER.write_text("".join([_S3_HEAD, *lines(sys.argv[1], S3_SERVER)]), encoding="utf-8")


if __name__ == "__main__":
    main()
