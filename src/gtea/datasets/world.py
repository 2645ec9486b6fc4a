"""Synthetic worlds of payments in which one known signal tells illicit accounts from normal ones.

They are for testing a model on data that nobody has tuned it on: what it finds if the signal is of one kind, weak, rare
or drifting. :mod:`gtea.datasets.payments` has one signal only, which is easy to find if one knows where.

    ==========  =========================================================================================
    signal      what illicit accounts do
    ==========  =========================================================================================
    own         pay more often, more at a time, and in amounts that vary more
    partners    deal with large accounts, which are a quarter of all and make more and larger payments
    histories   get payments back from the partner they paid, within hours; others from another partner
    order       collect three small receipts before one large payment; others make the payment before them
    ==========  =========================================================================================

Each is a tendency that both classes have to some degree. In all worlds but the first, an account's own numbers (counts,
amounts, gaps, directions, partners) have the same distribution in both classes by construction: see
:mod:`gtea.datasets.world_events` for why, and :mod:`gtea.datasets.world_signals` for how each signal is planted. In the
world of order, the receipts and the payment have different partners, so that no history of a pair shows the order.

Measured with 5,000 accounts, a prevalence of 0.2 and a strength of 0.7 (ROC-AUC, mean of seeds 0 to 2). The detectors
are those of tests/datasets/test_world.py. The last one compares partners, and therefore also sees histories.

    =============================================  =====  ========  =========  =====
    signal                                         own    partners  histories  order
    =============================================  =====  ========  =========  =====
    boosted trees on an account's own statistics   0.87   0.51      0.50       0.51
    size of the partners paid                      0.53   0.89      0.50       0.50
    payments returned by the same partner          0.48   0.50      0.86       0.51
    receipts from others before a payment          0.51   0.51      0.77       0.82
    =============================================  =====  ========  =========  =====

100,000 events of 5,000 accounts are generated and written in 0.1 s; 20 million events of 1 million accounts in 14 s
with 2 GB of memory.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

import numpy as np
import pyarrow as pa

from gtea.datasets.synthetic import Events, require, shuffled_ids, stream, transaction_tables, write_files
from gtea.datasets.world_accounts import Period, Population, Start, form_population
from gtea.datasets.world_events import World, world_events
from gtea.datasets.world_signals import Signal, plant
from gtea.errors import UsageError

_SEPARATION = 3.0  # of the classes at strength 1, in standard deviations
_HUB_REACH = 0.3  # share of the other accounts that deal with each hub


@dataclass(frozen=True)
class WorldSpec:
    """What to generate. The same spec always gives the same bytes.

    Attributes:
        signal: What tells illicit accounts from normal ones; see the module.
        strength: From 0, where labels are noise, to 1, where the classes hardly overlap.
        prevalence: Share of the labelled accounts that are illicit, rounded to a whole number of accounts; also the
            share of all accounts except the hubs.
        accounts: Distinct accounts in total, including hubs. Each has at least one event.
        events_per_account: Rows divided by accounts. A row has two accounts, so that an account has twice as many.
        labelled: How many accounts have a label, drawn at random within each class. None: all except the hubs.
        days: All events are within this many days from 1 January 2024.
        start: ``spread``: accounts appear throughout the first three quarters of the period; ``together``: all in its
            first fiftieth, as in simulators.
        growth: Where an account's activity ends, between a quarter of the period after its first event (0) and the end
            of the period (1). With growth, an account that appeared early has a longer history at the end than as of
            an early cut.
        drift: How much everybody changes over the period, illicit or not. At 1, payments become three times as frequent
            and 2.7 times as large, and among the last accounts the classes are less far apart by up to half.
        prior_shift: How much the share of illicit accounts rises from the first to the last to appear. At 1, from
            none to twice the prevalence.
        hubs: Accounts that deal with three in ten of all others, such as exchanges. They carry no label.
    """

    signal: Signal = "own"
    strength: float = 0.7
    prevalence: float = 0.05
    accounts: int = 5_000
    events_per_account: float = 20
    labelled: int | None = None
    days: int = 365
    start: Start = "spread"
    growth: float = 0.0
    drift: float = 0.0
    prior_shift: float = 0.0
    hubs: int = 0
    seed: int = 0

    def __post_init__(self) -> None:
        _require_name("signal", self.signal, get_args(Signal))
        _require_name("start", self.start, get_args(Start))
        for name, example in (("strength", "0.7"), ("growth", "0.5"), ("drift", "0.5"), ("prior_shift", "0.5")):
            value = getattr(self, name)
            require(0 <= value <= 1, f"{name}: must be between 0 and 1", value, example)
        rate = self.events_per_account
        require(0.001 <= self.prevalence <= 0.5, "prevalence: must be from 0.001 to 0.5", self.prevalence, "0.05")
        require(4 <= rate <= 10_000, "events_per_account: must be between 4 and 10000", rate, "20")
        require(30 <= self.days <= 20_000, "days: must be between 30 and 20000", self.days, "365")
        require(self.seed >= 0, "seed: must not be negative", self.seed, "0")
        require(self.hubs >= 0, "hubs: must not be negative", self.hubs, "0")
        require(self.clients >= 50, "accounts: must be 50 or more, not counting hubs", self.clients, "5000")
        most = int(self.events / 2 / self.hub_degree)
        require(self.hubs <= most, "hubs: must not take more than half of the events", self.hubs, f"{most} or fewer")
        self._require_labels()

    def _require_labels(self) -> None:
        limit = f"labelled: must be at most {self.clients}, the accounts that are not hubs"
        require(self.labels <= self.clients, limit, self.labels, str(self.clients))
        if self.illicit < 1:
            raise UsageError(
                f"labelled: at least one must be illicit (got {self.labels} labels at a prevalence of "
                f"{self.prevalence}). Ask for {math.ceil(1 / self.prevalence)} or more labels, or a higher prevalence."
            )

    @property
    def clients(self) -> int:
        """Number of accounts that aren't hubs."""
        return self.accounts - self.hubs

    @property
    def events(self) -> int:
        """Exact number of rows."""
        return round(self.accounts * self.events_per_account)

    @property
    def labels(self) -> int:
        """Number of accounts with a label."""
        return self.clients if self.labelled is None else self.labelled

    @property
    def illicit(self) -> int:
        """Number of accounts labelled illicit."""
        return round(self.prevalence * self.labels)

    @property
    def hub_degree(self) -> int:
        """Number of distinct accounts that deal with each hub."""
        return math.ceil(_HUB_REACH * self.clients)


def generate_world(spec: WorldSpec) -> tuple[pa.Table, pa.Table]:
    """Generate transactions and labels.

    Returns:
        ``payer, payee, timestamp, amount`` in time order (Unix seconds; amounts in whole cents), and
        ``account, label`` ordered by account; the label is ``illicit`` or ``normal``. Account ids are shuffled, so
        neither an id nor its position carries information.
    """
    ids, accounts = shuffled_ids(spec.accounts, spec.seed), _accounts(spec)
    return pa.concat_tables(transaction_tables(_events(spec, accounts), ids)), _labels(spec, accounts, ids)


def write_world(spec: WorldSpec, out: Path) -> tuple[Path, Path]:
    """Write ``out/transactions.parquet`` and ``out/labels.csv`` and return their paths.

    Both are written to temporary files and renamed, so that a reader never sees an incomplete file.
    """
    ids, accounts = shuffled_ids(spec.accounts, spec.seed), _accounts(spec)
    return write_files(transaction_tables(_events(spec, accounts), ids), _labels(spec, accounts, ids), out)


def _require_name(name: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise UsageError(f"{name}: unknown value (got {value!r}). Try {', '.join(allowed[:-1])} or {allowed[-1]}.")


def _accounts(spec: WorldSpec) -> Population:
    illicit = round(spec.prevalence * spec.clients)
    return form_population(spec.clients, illicit, spec.days, spec.start, spec.growth, spec.prior_shift, spec.seed)


def _events(spec: WorldSpec, accounts: Population) -> Events:
    """All events of the spec, in no particular order."""
    period = Period(spec.days, spec.drift)
    separation = _SEPARATION * spec.strength * period.fading(accounts.first)
    habits = plant(spec.signal, accounts, separation, spec.seed)
    return world_events(World(accounts, period, habits), spec.events, spec.hubs, spec.hub_degree, spec.seed)


def _labels(spec: WorldSpec, accounts: Population, ids: pa.Array) -> pa.Table:
    """Account and label of those that have one, ordered by account."""
    rng = stream(spec.seed, "labels")
    illicit, normal = (rng.permutation(np.flatnonzero(accounts.illicit == kind)) for kind in (True, False))
    labelled = np.concatenate([illicit[: spec.illicit], normal[: spec.labels - spec.illicit]])
    label = np.repeat(["illicit", "normal"], [spec.illicit, spec.labels - spec.illicit])
    return pa.table({"account": ids.take(pa.array(labelled)), "label": label}).sort_by("account")
