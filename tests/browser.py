"""A Chromium of this machine, and axe-core, for tests of pages."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

ROOT = Path(__file__).parents[1]
CHROMIUMS = ("chromium-headless-shell", "chromium", "google-chrome", "microsoft-edge")


def unavailable(reason: str) -> NoReturn:
    """Skip, or fail where a browser is insisted on."""
    if os.environ.get("GTEA_BROWSER") == "on":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A Chromium of this machine: the one that GTEA_CHROMIUM names, or the first on the PATH.

    While it is there, playwright's event loop runs in this thread, and other modules need ones of their own.
    """
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        unavailable("no playwright: pip install playwright")
    found = os.environ.get("GTEA_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        unavailable("no browser: GTEA_CHROMIUM is not set, and none of " + ", ".join(CHROMIUMS) + " is on the PATH")
    with sync_playwright() as driver:
        # A sandbox needs rights that containers do not give.
        started = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture(scope="session")
def axe() -> str:
    """The source of axe-core: a file that GTEA_AXE names, or the one that .ci/run installs."""
    named = os.environ.get("GTEA_AXE")
    path = Path(named) if named else ROOT / ".browser/node_modules/axe-core/axe.min.js"
    if not path.is_file():
        unavailable("no axe-core: run npm install --no-save --prefix .browser axe-core, or name it in GTEA_AXE")
    return path.read_text(encoding="utf-8")


def violations(page: Page, axe: str) -> list[str]:
    page.evaluate(axe)
    found: dict[str, Any] = page.evaluate("axe.run()")
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found["violations"]]
