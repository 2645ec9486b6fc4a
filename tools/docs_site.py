"""MkDocs hook of the documentation site: adds the generated pages, fills in folders, and mends links to the repository.

Pages outside of ``docs/`` that readers want (ARCHITECTURE.md and so on) are shown, too. A link from any page to a file
of the repository that is not part of the site leads to the repository; one to a file that doesn't exist stays as it is,
and fails the strict build.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

import docs_pages
from docs_pages import SHOWN

ROOT = Path(__file__).resolve().parents[1]
PICTURES = (".png", ".svg")
_LINK = re.compile(r"(\]\()([^)\s#]+)((?:#[^)\s]*)?\))")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Put every page of a folder where the navigation names the folder."""
    config.nav = docs_pages.filled(config.nav, Path(config.docs_dir))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that are written from the package, those of the root, and pictures from outside of ``docs/``."""
    for name, text in docs_pages.generated(Path(config.docs_dir)).items():
        files.append(File.generated(config, name, content=text))
    for source, name in SHOWN.items():
        files.append(File.generated(config, name, content=(ROOT / source).read_text(encoding="utf-8")))
    for picture in _pictures_elsewhere(files):
        files.append(File.generated(config, f"repository/{picture}", abs_src_path=str(ROOT / picture)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Let links to the repository's files work on the site."""
    here = page.file.src_uri
    source = next((root for root, name in SHOWN.items() if name == here), f"docs/{here}")

    def mended(match: re.Match[str]) -> str:
        return f"{match[1]}{_target(match[2], source, here, str(config.repo_url))}{match[3]}"

    return _LINK.sub(mended, markdown)


def _target(link: str, source: str, here: str, repository: str) -> str:
    if re.match(r"[a-z]+:|/", link):
        return link
    path = os.path.normpath(Path(source).parent / link)
    if path.startswith("docs/") and path.endswith((".md", *PICTURES)):
        wanted = path.removeprefix("docs/")
    elif path in SHOWN:
        wanted = SHOWN[path]
    elif path.endswith(PICTURES) and (ROOT / path).is_file():
        wanted = f"repository/{path}"
    elif (ROOT / path).exists():
        return f"{repository.rstrip('/')}/blob/main/{path}"
    else:
        return link
    return os.path.relpath(wanted, Path(here).parent)


def _pictures_elsewhere(files: Files) -> set[str]:
    """Pictures of the repository that pages show from outside of ``docs/``."""
    found = set()
    for file in files.documentation_pages():
        for _, link, _ in _LINK.findall(file.content_string):
            path = os.path.normpath(Path("docs", file.src_uri).parent / link)
            if path.endswith(PICTURES) and not path.startswith("docs/") and (ROOT / path).is_file():
                found.add(path)
    return found
