"""One thread per test process: tests run side by side, and spinning OpenMP teams slow each other down thirtyfold."""

from __future__ import annotations

import pytest
import torch


@pytest.fixture(autouse=True, scope="session")
def one_thread() -> None:
    torch.set_num_threads(1)
