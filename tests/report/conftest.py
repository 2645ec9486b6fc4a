"""A browser that touches nothing outside, a case to look at, and a report of a real small model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import torch
from tests.browser import axe, browser
from tests.report.made_up import busy_store, made_up_case
from tests.training.conftest import QUICK

from gtea.config import read_config
from gtea.datasets.payments import PaymentsSpec, write_payments
from gtea.ingestion.ingest import ingest
from gtea.models.registry import default_config, model_config
from gtea.report.case import Case
from gtea.report.report import ReportOptions, write_report
from gtea.store.store import Store
from gtea.tasks.labels import positive_class, read_labels
from gtea.tasks.splits import temporal_split
from gtea.training.fit import train_task
from gtea.training.loop import no_report
from gtea.training.node_task import NodeTask

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

__all__ = ["axe", "browser"]
CPU = torch.device("cpu")


@dataclass(frozen=True)
class SmallReport:
    """A store, a trained model, and a report made from both."""

    store: Store
    model: Path
    out: Path
    record: dict[str, Any]


@pytest.fixture(scope="session")
def small_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Store, Path]:
    """Generated payments and the default model, trained for a second or two."""
    folder = tmp_path_factory.mktemp("small_model")
    transactions, labels_file = write_payments(PaymentsSpec(accounts=200, events=3000, illicit_share=0.4), folder)
    columns: dict[str, Any] = {"src": "payer", "dst": "payee", "time": "timestamp", "features": ["amount"]}
    store = ingest(transactions, **columns, time_unit="s", out=folder / "payments.store")
    labels = read_labels(labels_file, store)
    config = read_config(None, [*QUICK, "train.epochs=1"], default_config(model_config("hybrid"), "nodes"))
    split = temporal_split(labels, store)
    model = folder / "payments.model"
    train_task(NodeTask(store, labels, positive_class(labels), split, config, model, CPU), no_report)
    return store, model


@pytest.fixture(scope="session")
def small_report(small_model: tuple[Store, Path], tmp_path_factory: pytest.TempPathFactory) -> SmallReport:
    store, model = small_model
    out = tmp_path_factory.mktemp("small_report") / "report"
    return SmallReport(store, model, out, write_report(model, store.path, out, ReportOptions(top=12), device=CPU))


@pytest.fixture(scope="session")
def busy_case() -> Case:
    return made_up_case(busy_store(40))


@dataclass
class Opened:
    """A page, and everything it did that it must not do."""

    page: Page
    faults: list[str] = field(default_factory=list)


@pytest.fixture
def visit(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens a file offline, far from home; any console line, error or request fails the test."""
    opened: list[Opened] = []

    def open_file(path: Path, **options: Any) -> Page:
        settings = {"offline": True, "locale": "en-GB", "timezone_id": "Pacific/Auckland", **options}
        page = browser.new_context(**settings).new_page()
        this = Opened(page)
        opened.append(this)
        page.on("console", lambda message: this.faults.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: this.faults.append(f"error: {error}"))
        page.on("request", lambda request: this.faults.append(f"request: {request.url}"))
        page.goto(path.as_uri())
        # A page asks for itself, and for other pages when a link is followed.
        this.faults[:] = [fault for fault in this.faults if fault != f"request: {path.as_uri()}"]
        return page

    yield open_file
    faults = [fault for each in opened for fault in each.faults if not _follows_a_link(fault)]
    for each in opened:
        each.page.context.close()
    assert faults == []


def _follows_a_link(fault: str) -> bool:
    return fault.startswith("request: file://") and fault.endswith(".html")
