from __future__ import annotations

import errno
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from gtea.datasets.payments import PaymentsSpec, generate_payments, write_payments
from gtea.errors import StoreError, UsageError

Array = NDArray[np.float64]
DAY = 86_400
BALANCED = PaymentsSpec(accounts=2_000, events=40_000, illicit_share=0.5, seed=1)


@dataclass(frozen=True)
class Account:
    """One labelled account's own timeline: partner, +1 sent / -1 received, unix second, amount."""

    partner: Array
    sign: Array
    time: Array
    amount: Array

    def pairs(self) -> list[Account]:
        rows = (np.flatnonzero(self.partner == partner) for partner in np.unique(self.partner))
        return [Account(self.partner[r], self.sign[r], self.time[r], self.amount[r]) for r in rows]


@cache
def timelines(spec: PaymentsSpec) -> tuple[list[Account], NDArray[np.bool_]]:
    """Every labelled account's timeline, and whether it is illicit."""
    transactions, labels = generate_payments(spec)
    ids = pc.unique(pa.chunked_array(transactions["payer"].chunks + transactions["payee"].chunks))
    payer, payee = (pc.index_in(transactions[end], ids).to_numpy() for end in ("payer", "payee"))
    owner = np.concatenate([payer, payee])
    time, amount = (np.tile(transactions[name].to_numpy(), 2) for name in ("timestamp", "amount"))
    columns = np.concatenate([payee, payer]), np.repeat([1, -1], len(payer)), time, amount
    order = np.lexsort((time, owner))
    bounds = np.searchsorted(owner[order], np.arange(len(ids) + 1))
    rows = [order[bounds[i] : bounds[i + 1]] for i in pc.index_in(labels["account"], ids).to_numpy()]
    illicit = labels["label"].to_numpy(zero_copy_only=False) == "illicit"
    return [Account(*(column[row] for column in columns)) for row in rows], illicit


def tree_scores(features: Array, illicit: NDArray[np.bool_]) -> tuple[float, float]:
    """Macro-F1 and ROC-AUC of a gradient-boosted tree in five folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import f1_score, roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from threadpoolctl import threadpool_limits

    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    tree = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    with threadpool_limits(1):  # on busy cores its threads wait for each other many times longer than they work
        scores = cross_val_predict(tree, features, illicit, cv=folds, method="predict_proba")[:, 1]
    return f1_score(illicit, scores > 0.5, average="macro"), roc_auc_score(illicit, scores)


def spread(x: NDArray[Any]) -> list[float]:
    if len(x) == 0:
        return [0.0] * 10
    return [len(x), x.sum(), x.mean(), x.std(), *np.quantile(x, [0, 0.1, 0.25, 0.5, 0.75, 1])]


def account_statistics(account: Account) -> list[Any]:
    """All an analyst might compute from one account's own payments, without a look at the order in a pair."""
    sign, time, amount = account.sign, account.time, account.amount
    sent, received = sign > 0, sign < 0
    hour, weekday, date = time // 3600 % 24, time // DAY % 7, time // DAY
    events_with = np.unique(account.partner, return_counts=True)[1]
    share = events_with / events_with.sum()
    dates, events_on = np.unique(date, return_counts=True)
    events_with_on = np.unique(date * 10_000_000 + account.partner, return_counts=True)[1]
    return [
        *(value for x in (amount, amount[sent], amount[received], np.diff(time)) for value in spread(x)),
        *(value for x in (np.diff(time[sent]), np.diff(time[received]), events_with) for value in spread(x)),
        *(np.bincount(hour, minlength=24) / len(time)),
        *(np.bincount(weekday, minlength=7) / len(time)),
        *(time[0], time[-1], time[-1] - time[0]),
        *(np.mean(hour < 6), np.mean(amount % 5 == 0), np.mean(amount % 1 == 0)),
        *(len(np.unique(account.partner[sent])), len(np.unique(account.partner[received]))),
        *(-(share * np.log(share)).sum(), np.mean(sign[1:] != sign[:-1]), np.mean(np.diff(time) < 900)),
        *(len(dates), events_on.max(), len(events_with_on) / len(dates), events_with_on.max()),
    ]


def orderless_pair_statistics(account: Account) -> list[float]:
    """What each pair's amounts and directions look like when their order is lost."""
    pairs = [
        [len(p.sign), p.sign.mean(), *(f(p.sign * p.amount) for f in (np.mean, np.std, np.min, np.max))]
        for p in account.pairs()
    ]
    return [value for f in (np.min, np.median, np.max) for value in f(pairs, axis=0)]


def answered(pair: Account) -> int:
    """Payments that the same partner answered within a quarter of an hour."""
    return int(((pair.sign[1:] != pair.sign[:-1]) & (np.diff(pair.time) < 900)).sum())


def features_of(accounts: list[Account], describe: Callable[[Account], Sequence[float]]) -> Array:
    return np.array([describe(account) for account in accounts])


@pytest.mark.slow
def test_statistics_of_single_accounts_do_not_tell_the_classes_apart() -> None:
    accounts, illicit = timelines(BALANCED)
    features = features_of(accounts, account_statistics)
    assert features.shape[1] > 100
    macro_f1, auc = tree_scores(features, illicit)
    assert macro_f1 < 0.60
    assert 0.4 < auc < 0.6


def test_pair_statistics_without_order_do_not_tell_the_classes_apart() -> None:
    accounts, illicit = timelines(BALANCED)
    macro_f1, _ = tree_scores(features_of(accounts, orderless_pair_statistics), illicit)
    assert macro_f1 < 0.60


@pytest.mark.parametrize("spec", [BALANCED, PaymentsSpec(accounts=2_000, events=40_000, hubs=10)])
def test_reading_pair_histories_tells_the_classes_apart(spec: PaymentsSpec) -> None:
    accounts, illicit = timelines(spec)
    counts = features_of(accounts, lambda a: sorted(map(answered, a.pairs()))[-2:])
    macro_f1, _ = tree_scores(counts, illicit)
    assert macro_f1 >= 0.97


@pytest.mark.parametrize(
    "spec",
    [
        PaymentsSpec(accounts=500, events=10_000),
        PaymentsSpec(accounts=1_003, events=12_345, illicit_share=0.37, seed=3, hubs=2, days=60),
        PaymentsSpec(accounts=9, events=99, illicit_share=0.5),
        PaymentsSpec(accounts=300, events=40_000, illicit_share=0.03, days=365),
    ],
)
def test_the_spec_holds_exactly(spec: PaymentsSpec) -> None:
    transactions, labels = generate_payments(spec)
    payer, payee, time, amount = (column.to_numpy() for column in transactions.columns)
    seen, labelled = set(payer) | set(payee), labels["account"].to_pylist()
    assert transactions.schema.types == [pa.string(), pa.string(), pa.int64(), pa.float64()]
    assert (len(payer), len(seen)) == (spec.events, spec.accounts)
    assert all(re.fullmatch(r"A\d{7}", name) for name in seen)
    assert len(set(labelled)) == len(labelled) == spec.accounts - spec.hubs
    assert set(labelled) <= seen
    assert labels["label"].to_pylist().count("illicit") == round(spec.illicit_share * len(labelled))
    assert not (payer == payee).any()
    assert (np.diff(time) >= 0).all()
    assert time[-1] - time[0] < spec.days * DAY
    assert amount.min() > 0
    assert (amount == np.round(amount, 2)).all()


def test_the_same_seed_gives_the_same_bytes_and_another_does_not(tmp_path: Path) -> None:
    def written(name: str, seed: int) -> list[bytes]:
        spec = PaymentsSpec(accounts=400, events=8_000, seed=seed, hubs=3)
        return [path.read_bytes() for path in write_payments(spec, tmp_path / name)]

    assert written("one", 5) == written("two", 5)
    assert all(a != b for a, b in zip(written("one", 5), written("three", 6), strict=True))


def test_partners_and_history_lengths_are_heavy_tailed() -> None:
    accounts, _ = timelines(BALANCED)
    degree = np.array([len(np.unique(a.partner)) for a in accounts])
    length = np.concatenate([np.unique(a.partner, return_counts=True)[1] for a in accounts])
    assert degree.max() > 10 * np.median(degree)
    assert length.max() > 25 * np.median(length)
    # few enough for a fan-out of 25 to see nearly all, and more than the two partners of the circle
    assert np.quantile(degree, 0.95) <= 25
    assert np.mean(degree > 4) > 0.8


def test_ordinary_payments_look_alike_and_join_the_classes() -> None:
    accounts, illicit = timelines(BALANCED)
    by_day = np.array([np.mean(a.time // 3600 % 24 >= 6) for a in accounts])
    assert by_day.min() > 0
    assert abs(by_day[illicit].mean() - by_day[~illicit].mean()) < 0.02
    transactions, labels = generate_payments(BALANCED)
    ends = (pc.index_in(transactions[end], labels["account"]).to_numpy() for end in ("payer", "payee"))
    mixed = np.logical_xor(*(illicit[end] for end in ends))
    assert mixed.mean() > 0.15


def test_accounts_of_both_classes_arrive_all_the_time() -> None:
    accounts, illicit = timelines(BALANCED)
    first = np.array([a.time[0] for a in accounts])
    active = np.array([np.ptp(a.time) for a in accounts]) / DAY
    thirds = np.linspace(first.min(), first.max(), 4)
    for low, high in pairwise(thirds):
        arrived = (first >= low) & (first <= high)
        assert arrived.mean() > 0.2
        assert abs(illicit[arrived].mean() - 0.5) < 0.05
    assert np.quantile(active, 0.95) < 0.5 * BALANCED.days


def test_ids_tell_nothing() -> None:
    _, labels = generate_payments(BALANCED)
    illicit = labels["label"].to_numpy(zero_copy_only=False) == "illicit"
    assert abs(illicit[:1_000].mean() - illicit[1_000:].mean()) < 0.08


def test_each_hub_deals_with_the_share_asked_for_and_has_no_label() -> None:
    spec = PaymentsSpec(accounts=1_000, events=30_000, hubs=4, hub_reach=0.3)
    transactions, labels = generate_payments(spec)
    payer, payee = (transactions[end].to_numpy() for end in ("payer", "payee"))
    hubs = (set(payer) | set(payee)) - set(labels["account"].to_pylist())
    degrees = [len({*payer[payee == hub], *payee[payer == hub]}) for hub in hubs]
    assert degrees == [math.ceil(0.3 * 996)] * 4


def test_files_hold_what_was_generated_and_replace_what_was_there(tmp_path: Path) -> None:
    spec = PaymentsSpec(accounts=200, events=4_000)
    out = tmp_path / "new" / "folder"
    write_payments(PaymentsSpec(accounts=100, events=2_000), out)
    parquet, csv = write_payments(spec, out)
    assert sorted(path.name for path in out.iterdir()) == ["labels.csv", "transactions.parquet"]
    transactions, labels = generate_payments(spec)
    assert pq.read_table(parquet).equals(transactions.combine_chunks())
    assert pacsv.read_csv(csv).equals(labels)


def test_a_failed_write_leaves_the_old_files_and_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = PaymentsSpec(accounts=100, events=2_000)
    before = [path.read_bytes() for path in write_payments(spec, tmp_path)]

    def disk_full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(pacsv, "write_csv", disk_full)
    with pytest.raises(StoreError, match=r"labels\.csv: No space left on device"):
        write_payments(PaymentsSpec(accounts=200, events=4_000), tmp_path)
    assert [(tmp_path / name).read_bytes() for name in ("transactions.parquet", "labels.csv")] == before
    assert len(list(tmp_path.iterdir())) == 2


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"illicit_share": 0.0}, "illicit_share: must be between 0 and 1 (got 0.0). Try 0.2."),
        ({"illicit_share": math.nan}, "illicit_share: must be between 0 and 1 (got nan). Try 0.2."),
        ({"seed": -1}, "seed: must not be negative (got -1). Try 0."),
        ({"days": 30}, "days: must be between 60 and 20000 (got 30). Try 180."),
        ({"hubs": -2}, "hubs: must not be negative (got -2). Try 0."),
        ({"hub_reach": 1.5}, "hub_reach: must be above 0 and at most 1 (got 1.5). Try 0.2."),
        (
            {"accounts": 10},
            "accounts: each class must have at least 4, not counting hubs (got 2 illicit and 8 normal). "
            "Ask for more accounts or an illicit_share closer to 0.5.",
        ),
    ],
)
def test_an_impossible_spec_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        PaymentsSpec(**{"accounts": 100, "events": 2_000} | changed)
    assert str(caught.value) == message


@pytest.mark.parametrize(("accounts", "hubs"), [(9, 0), (101, 0), (2_000, 0), (500, 40)])
def test_too_few_events_are_refused_with_the_number_that_would_do(accounts: int, hubs: int) -> None:
    with pytest.raises(UsageError, match=r"^events: .* \(got 5\)\. Ask for more events") as caught:
        generate_payments(PaymentsSpec(accounts, 5, illicit_share=0.5, hubs=hubs))
    needed = int(re.findall(r"need (\d+) or more", str(caught.value))[0])
    assert generate_payments(PaymentsSpec(accounts, needed, illicit_share=0.5, hubs=hubs))[0].num_rows == needed
    with pytest.raises(UsageError):
        generate_payments(PaymentsSpec(accounts, needed - 1, illicit_share=0.5, hubs=hubs))


def test_a_file_in_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "out").touch()
    with pytest.raises(UsageError, match=r"out: must be a folder \(got a file\)\. Choose another\."):
        write_payments(PaymentsSpec(accounts=100, events=2_000), tmp_path / "out")
