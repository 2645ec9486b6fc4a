"""gtea: learning on temporal graphs in which every pair of accounts has a history of events.

    >>> import gtea
    >>> store = gtea.ingest(
    ...     "payments.csv", src="payer", dst="payee", time="timestamp", out="payments.store"
    ... )  # doctest: +SKIP
    >>> view = store.as_of("2024-01-31")  # doctest: +SKIP

In gtea, an edge is a pair of accounts and owns a history of events. In much of the literature on temporal graphs, an
edge is a single event.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

# Read at the first product of matrices. Without it, MKL's results depend on where in memory a matrix lies, on some
# processors: the same rows would get other last bits in another process or part.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")
# Read when torch or scikit-learn is loaded. Threads that wait must not spin: on a busy machine that takes several times
# the processor time of the work itself.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

if TYPE_CHECKING:
    from gtea.estimators.classifier import GTEAClassifier
    from gtea.estimators.link_predictor import GTEALinkPredictor
    from gtea.estimators.loading import load
    from gtea.ingestion.append import append
    from gtea.ingestion.ingest import ingest
    from gtea.interop import to_pyg
    from gtea.live.live_scorer import LiveScorer
    from gtea.store.store import Store
    from gtea.store.view import View
    from gtea.tasks.link_examples import link_examples

__all__ = [
    "GTEAClassifier",
    "GTEALinkPredictor",
    "LiveScorer",
    "Store",
    "View",
    "append",
    "ingest",
    "link_examples",
    "load",
    "open",
    "to_pyg",
]

_MODULES = {
    "GTEAClassifier": "gtea.estimators.classifier",
    "GTEALinkPredictor": "gtea.estimators.link_predictor",
    "LiveScorer": "gtea.live.live_scorer",
    "Store": "gtea.store.store",
    "View": "gtea.store.view",
    "append": "gtea.ingestion.append",
    "ingest": "gtea.ingestion.ingest",
    "link_examples": "gtea.tasks.link_examples",
    "load": "gtea.estimators.loading",
    "to_pyg": "gtea.interop",
}


def open(path: str) -> Store:
    """Open a store. This takes milliseconds, regardless of its size."""
    from gtea.store.store import Store

    return Store.open(path)


def __getattr__(name: str) -> object:
    """Import public names on first use, so that ``import gtea`` and ``gtea --help`` are fast."""
    import importlib

    if name in _MODULES:
        return getattr(importlib.import_module(_MODULES[name]), name)
    if name == "__version__":
        return importlib.import_module("importlib.metadata").version("gtea")
    raise AttributeError(f"module 'gtea' has no attribute {name!r}")
