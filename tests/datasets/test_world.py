from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray

from gtea.cli.synth import world as world_command
from gtea.datasets.world import WorldSpec, generate_world, write_world
from gtea.errors import UsageError

Array = NDArray[np.float64]
HOUR, DAY = 3_600, 86_400
SMALL = WorldSpec(accounts=2_000, prevalence=0.3, seed=1)


@dataclass(frozen=True)
class Timelines:
    """Each payment twice, once per account, ordered by account and time; and which labelled accounts are illicit."""

    account: NDArray[np.int64]
    partner: NDArray[np.int64]
    sent: NDArray[np.bool_]
    time: NDArray[np.int64]
    amount: Array
    count: int
    labelled: NDArray[np.int64]
    illicit: NDArray[np.bool_]

    def mean(self, values: NDArray[Any], where: NDArray[np.bool_], prior: float = 0.0) -> Array:
        """The mean of some rows of each account; ``prior`` counts as two more rows with that value."""
        return (self.sum(values, where) + 2 * prior) / (self.sum(where, where) + 2)

    def sum(self, values: NDArray[Any], where: NDArray[np.bool_]) -> Array:
        return np.bincount(self.account[where], values[where], self.count).astype(np.float64)


@cache
def timelines(spec: WorldSpec) -> Timelines:
    transactions, labels = generate_world(spec)
    ids = pc.unique(pa.chunked_array(transactions["payer"].chunks + transactions["payee"].chunks))
    payer, payee = (pc.index_in(transactions[end], ids).to_numpy().astype(np.int64) for end in ("payer", "payee"))
    time, amount = (np.tile(transactions[name].to_numpy(), 2) for name in ("timestamp", "amount"))
    account, sent = np.concatenate([payer, payee]), np.repeat([True, False], len(payer))
    order = np.lexsort((time, account))
    partner = np.concatenate([payee, payer])
    labelled = pc.index_in(labels["account"], ids).to_numpy().astype(np.int64)
    illicit = labels["label"].to_numpy(zero_copy_only=False) == "illicit"
    return Timelines(
        account[order], partner[order], sent[order], time[order], amount[order], len(ids), labelled, illicit
    )


def own_statistics(world: Timelines) -> Array:
    """Counts, amounts, gaps and partners of each account, for what it sent, what it received, and both."""
    columns = []
    for side in (world.sent, ~world.sent, np.ones_like(world.sent)):
        account, amount, log = world.account[side], world.amount[side], np.log(world.amount)
        count, mean = world.sum(side, side), world.mean(log, side)
        high, low = np.zeros(world.count), np.full(world.count, np.inf)
        np.maximum.at(high, account, amount)
        np.minimum.at(low, account, amount)
        pairs = np.unique(account * world.count + world.partner[side]) // world.count
        partners = np.bincount(pairs, minlength=world.count)
        next_of_same = account[1:] == account[:-1]
        gap, owner = np.log1p(np.diff(world.time[side])[next_of_same]), account[1:][next_of_same]
        gaps = np.maximum(np.bincount(owner, minlength=world.count), 1)
        columns += [count, partners, world.sum(world.amount, side), high, low, mean]
        columns += [world.mean(log**2, side) - mean**2]
        columns += [np.bincount(owner, gap**power, world.count) / gaps for power in (1, 2)]
    net = world.sum(np.where(world.sent, -1, 1) * world.amount, np.ones_like(world.sent))
    changes = np.diff(world.sent, prepend=world.sent[:1])
    return np.stack([*columns, net, world.mean(changes, np.ones_like(world.sent))], axis=1)


def size_of_partners(world: Timelines) -> Array:
    """Mean size of those whom an account mostly pays; size is the product of turnover and number of partners."""
    pair, row = np.unique(world.account * world.count + world.partner, return_inverse=True)
    account, partner = pair // world.count, pair % world.count
    turnover = np.bincount(world.account, world.amount, world.count)
    size = np.log(turnover * np.bincount(account, minlength=world.count))
    pays = np.bincount(row, world.sent) / np.bincount(row) > 0.5
    total = np.bincount(account[pays], size[partner[pays]], world.count)
    mean: Array = (total + 2 * size.mean()) / (np.bincount(account[pays], minlength=world.count) + 2)
    return mean


def followers(world: Timelines, hours: float) -> list[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Pairs of rows of one account, the second within some hours of the first: by how many rows they are apart."""
    found = []
    for step in range(1, 8):
        first = np.flatnonzero(
            (world.account[step:] == world.account[:-step]) & (world.time[step:] - world.time[:-step] < hours * HOUR)
        )
        found.append((first, first + step))
    return found


def returned_by_the_same(world: Timelines) -> Array:
    """Of the payments that came back within six hours, the share that came back from the partner who was paid."""
    back, same = np.zeros(len(world.account), bool), np.zeros(len(world.account), bool)
    for paid, received in followers(world, 6):
        share = world.amount[received] / world.amount[paid]
        found = world.sent[paid] & ~world.sent[received] & (share > 0.89) & (share < 1.01)
        back[paid[found]] = True
        same[paid[found]] |= world.partner[paid[found]] == world.partner[received[found]]
    return world.mean(same, back, prior=0.5)


def receipts_come_before(world: Timelines) -> Array:
    """Of the payments that are larger than receipts in the day before or after, the share with more before."""
    more = np.zeros(len(world.account))
    for one, other in followers(world, 24):
        apart = world.partner[one] != world.partner[other]
        before = apart & world.sent[other] & ~world.sent[one] & (world.amount[other] > world.amount[one])
        after = apart & world.sent[one] & ~world.sent[other] & (world.amount[one] > world.amount[other])
        np.add.at(more, other[before], 1)
        np.add.at(more, one[after], -1)
    return world.mean(more > 0, more != 0, prior=0.5)


def ranking(score: Callable[[Timelines], Array], spec: WorldSpec) -> float:
    """ROC-AUC of a score."""
    from sklearn.metrics import roc_auc_score

    world = timelines(spec)
    return float(roc_auc_score(world.illicit, score(world)[world.labelled]))


def tree_ranking(describe: Callable[[Timelines], Array], spec: WorldSpec) -> float:
    """ROC-AUC of a gradient-boosted tree in three folds."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedKFold, cross_val_predict
    from threadpoolctl import threadpool_limits

    world = timelines(spec)
    tree = HistGradientBoostingClassifier(max_iter=40, max_leaf_nodes=15, random_state=0)
    features, folds = describe(world)[world.labelled], StratifiedKFold(3, shuffle=True, random_state=0)
    with threadpool_limits(1):
        scores = cross_val_predict(tree, features, world.illicit, cv=folds, method="predict_proba")[:, 1]
    return float(roc_auc_score(world.illicit, scores))


def test_own_statistics_tell_the_classes_apart_in_the_world_of_own_numbers() -> None:
    assert 0.8 < tree_ranking(own_statistics, SMALL) < 0.95


SUITED = [("partners", size_of_partners), ("histories", returned_by_the_same), ("order", receipts_come_before)]


@pytest.mark.parametrize(("signal", "detector"), SUITED)
def test_a_detector_that_reads_the_right_place_tells_the_classes_apart(
    signal: Any, detector: Callable[[Timelines], Array]
) -> None:
    assert 0.8 < ranking(detector, replace(SMALL, signal=signal)) < 0.95


@pytest.mark.parametrize("signal", ["partners", "histories", "order"])
def test_own_statistics_do_not_tell_the_classes_apart_in_other_worlds(signal: Any) -> None:
    assert 0.4 < tree_ranking(own_statistics, replace(SMALL, signal=signal)) < 0.6


@pytest.mark.parametrize(("signal", "detector"), SUITED)
def test_at_strength_0_labels_are_noise(signal: Any, detector: Callable[[Timelines], Array]) -> None:
    assert 0.45 < ranking(detector, replace(SMALL, signal=signal, strength=0.0)) < 0.55


def test_at_strength_0_own_statistics_are_at_chance() -> None:
    assert 0.44 < tree_ranking(own_statistics, replace(SMALL, strength=0.0)) < 0.56


@pytest.mark.parametrize(("signal", "detector"), SUITED)
def test_strength_is_how_separable_the_classes_are(signal: Any, detector: Callable[[Timelines], Array]) -> None:
    at = [ranking(detector, replace(SMALL, signal=signal, strength=strength)) for strength in (0.0, 0.3, 0.7, 1.0)]
    assert at == sorted(at)
    assert at[1] > 0.6
    assert at[3] > 0.88


def test_pair_histories_do_not_show_the_order_of_an_account() -> None:
    def receipts_of_the_same_partner_come_before(world: Timelines) -> Array:
        more = np.zeros(len(world.account))
        for one, other in followers(world, 24):
            same = (world.partner[one] == world.partner[other]) & (world.sent[one] != world.sent[other])
            np.add.at(more, one[same], np.where(world.sent[one[same]], -1, 1))
        return world.mean(more, more != 0)

    assert 0.4 < ranking(receipts_of_the_same_partner_come_before, replace(SMALL, signal="order")) < 0.6


@pytest.mark.parametrize(
    "spec",
    [
        WorldSpec(accounts=500),
        WorldSpec(accounts=1_003, prevalence=0.37, signal="partners", events_per_account=7.3, seed=3, hubs=2, days=60),
        WorldSpec(accounts=50, prevalence=0.5, signal="histories", events_per_account=4, prior_shift=1.0),
        WorldSpec(accounts=3_000, prevalence=0.001, signal="order", growth=1.0, drift=1.0, start="together"),
        WorldSpec(accounts=900, labelled=77, prevalence=0.2, signal="histories", hubs=9, growth=0.3),
    ],
)
def test_the_spec_holds_exactly(spec: WorldSpec) -> None:
    transactions, labels = generate_world(spec)
    payer, payee, time, amount = (column.to_numpy() for column in transactions.columns)
    seen, labelled = set(payer) | set(payee), labels["account"].to_pylist()
    assert transactions.schema.types == [pa.string(), pa.string(), pa.int64(), pa.float64()]
    assert (len(payer), len(seen)) == (round(spec.accounts * spec.events_per_account), spec.accounts)
    assert all(re.fullmatch(r"A\d{7}", name) for name in seen)
    assert labelled == sorted(set(labelled))
    assert len(labelled) == (spec.accounts - spec.hubs if spec.labelled is None else spec.labelled)
    assert set(labelled) <= seen
    assert labels["label"].to_pylist().count("illicit") == round(spec.prevalence * len(labelled)) > 0
    assert not (payer == payee).any()
    assert (np.diff(time) >= 0).all()
    assert time[-1] - time[0] < spec.days * DAY
    assert amount.min() > 0
    assert (amount == np.round(amount, 2)).all()


def test_amounts_and_numbers_of_partners_are_heavy_tailed() -> None:
    world = timelines(SMALL)
    assert np.quantile(world.amount, 0.99) > 15 * np.median(world.amount)
    partners = np.bincount(np.unique(world.account * world.count + world.partner) // world.count)
    assert partners.max() > 4 * np.median(partners)


def test_ids_tell_nothing() -> None:
    _, labels = generate_world(SMALL)
    illicit = labels["label"].to_numpy(zero_copy_only=False) == "illicit"
    assert abs(illicit[:1_000].mean() - illicit[1_000:].mean()) < 0.07


def test_fewer_labels_leave_the_payments_as_they_are() -> None:
    transactions, labels = generate_world(SMALL)
    same, fewer = generate_world(replace(SMALL, labelled=100))
    assert same.equals(transactions)
    known = dict(zip(*(column.to_pylist() for column in labels.columns), strict=True))
    assert all(known[account] == label for account, label in zip(*fewer.to_pydict().values(), strict=True))
    assert fewer["label"].to_pylist().count("illicit") == 30


def test_each_hub_deals_with_three_in_ten_and_has_no_label() -> None:
    transactions, labels = generate_world(WorldSpec(accounts=1_000, hubs=4))
    payer, payee = (transactions[end].to_numpy() for end in ("payer", "payee"))
    hubs = (set(payer) | set(payee)) - set(labels["account"].to_pylist())
    degrees = [len({*payer[payee == hub], *payee[payer == hub]}) for hub in hubs]
    assert degrees == [math.ceil(0.3 * 996)] * 4


def first_events(world: Timelines) -> NDArray[np.int64]:
    """The time of each labelled account's first event."""
    return world.time[np.searchsorted(world.account, world.labelled)]


def rises(spec: WorldSpec, illicit: bool) -> list[float]:
    """By how much the later half of a class exceeds the earlier one: mean log number of events, mean log amount."""
    world = timelines(spec)
    first, everything = first_events(world), np.ones_like(world.sent)
    values = np.log(world.sum(everything, everything)), world.mean(np.log(world.amount), everything)
    late, some = first > np.median(first), world.illicit == illicit
    return [float(x[world.labelled][some & late].mean() - x[world.labelled][some & ~late].mean()) for x in values]


@pytest.mark.parametrize("illicit", [True, False])
def test_drift_moves_amounts_and_activity_of_both_classes(illicit: bool) -> None:
    plain, drifting = (rises(replace(SMALL, signal="partners", drift=drift), illicit) for drift in (0.0, 1.0))
    assert max(map(abs, plain)) < 0.15
    assert min(drifting) > 0.25


def test_drift_weakens_the_signal_among_late_accounts() -> None:
    from sklearn.metrics import roc_auc_score

    def early_and_late(drift: float) -> list[float]:
        world = timelines(replace(SMALL, accounts=6_000, signal="histories", drift=drift))
        score, first = returned_by_the_same(world)[world.labelled], first_events(world)
        halves = first <= np.median(first), first > np.median(first)
        return [float(roc_auc_score(world.illicit[half], score[half])) for half in halves]

    steady, drifting = early_and_late(0.0), early_and_late(1.0)
    assert abs(steady[0] - steady[1]) < 0.04
    assert drifting[0] - drifting[1] > 0.04


@pytest.mark.parametrize(("growth", "low", "high"), [(0.0, 0.9, 1.1), (1.0, 2.5, 8.0)])
def test_with_growth_early_accounts_have_longer_histories_at_the_end_than_at_a_cut(
    growth: float, low: float, high: float
) -> None:
    world = timelines(replace(SMALL, growth=growth))
    first = first_events(world)
    early = np.isin(world.account, world.labelled[first < world.time.min() + 60 * DAY])
    cut = world.time < world.time.min() + 150 * DAY
    assert low < early.sum() / (early & cut).sum() < high


def test_everybody_starts_throughout_the_period_or_together() -> None:
    spread, together = (timelines(replace(SMALL, start=start)) for start in ("spread", "together"))
    assert np.ptp(first_events(together)) < 8 * DAY
    counts = np.histogram((first_events(spread) - spread.time.min()) / DAY, 5, (0, 270))[0]
    assert counts.min() > 300


def test_with_prior_shift_later_accounts_are_more_often_illicit() -> None:
    for prior_shift, low, high in ((0.0, 0.25, 0.35), (1.0, 0.1, 0.5)):
        world = timelines(replace(SMALL, prior_shift=prior_shift))
        by_time = world.illicit[np.argsort(first_events(world))]
        thirds = [part.mean() for part in np.array_split(by_time, 3)]
        np.testing.assert_allclose(thirds, [low, 0.3, high], atol=0.06)


def test_the_same_spec_gives_the_same_bytes_and_another_seed_does_not(tmp_path: Path) -> None:
    def written(name: str, seed: int) -> list[bytes]:
        spec = WorldSpec(accounts=400, seed=seed, hubs=3, signal="order", drift=0.5, growth=0.5, prior_shift=0.5)
        return [path.read_bytes() for path in write_world(spec, tmp_path / name)]

    assert written("one", 5) == written("two", 5)
    assert all(a != b for a, b in zip(written("one", 5), written("three", 6), strict=True))


def test_files_hold_what_was_generated(tmp_path: Path) -> None:
    spec = WorldSpec(accounts=200)
    parquet, csv = write_world(spec, tmp_path)
    transactions, labels = generate_world(spec)
    assert pq.read_table(parquet).equals(transactions.combine_chunks())
    assert pacsv.read_csv(csv).equals(labels)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"signal": "luck"}, "signal: unknown value (got 'luck'). Try own, partners, histories or order."),
        ({"start": "late"}, "start: unknown value (got 'late'). Try spread or together."),
        ({"strength": 1.5}, "strength: must be between 0 and 1 (got 1.5). Try 0.7."),
        ({"growth": -0.1}, "growth: must be between 0 and 1 (got -0.1). Try 0.5."),
        ({"drift": math.nan}, "drift: must be between 0 and 1 (got nan). Try 0.5."),
        ({"prior_shift": 2}, "prior_shift: must be between 0 and 1 (got 2). Try 0.5."),
        ({"prevalence": 0.6}, "prevalence: must be from 0.001 to 0.5 (got 0.6). Try 0.05."),
        ({"events_per_account": 2}, "events_per_account: must be between 4 and 10000 (got 2). Try 20."),
        ({"days": 20}, "days: must be between 30 and 20000 (got 20). Try 365."),
        ({"seed": -1}, "seed: must not be negative (got -1). Try 0."),
        ({"hubs": -2}, "hubs: must not be negative (got -2). Try 0."),
        ({"accounts": 40}, "accounts: must be 50 or more, not counting hubs (got 40). Try 5000."),
        ({"hubs": 36}, "hubs: must not take more than half of the events (got 36). Try 34 or fewer."),
        (
            {"labelled": 1_001},
            "labelled: must be at most 1000, the accounts that are not hubs (got 1001). Try 1000.",
        ),
        (
            {"labelled": 9},
            "labelled: at least one must be illicit (got 9 labels at a prevalence of 0.05). Ask for 20 or more labels, "
            "or a higher prevalence.",
        ),
    ],
)
def test_an_impossible_spec_is_refused(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError) as caught:
        WorldSpec(**{"accounts": 1_000} | changed)
    assert str(caught.value) == message


def test_the_command_writes_what_the_function_does(gtea: Callable[..., Any], tmp_path: Path) -> None:
    words = "--accounts 300 --signal order --prevalence 0.1 --events-per-account 8 --labelled 100 --start together"
    more = "--prior-shift 0.5 --hubs 1 --seed 4 --json"
    outcome = gtea("synth", "world", *words.split(), *more.split(), "--out", tmp_path / "c")
    facts = json.loads(outcome.out)
    assert (facts["events"], facts["labels"], facts["illicit"], facts["signal"]) == (2_400, 100, 10, "order")
    spec = WorldSpec("order", 0.7, 0.1, 300, 8, 100, start="together", prior_shift=0.5, hubs=1, seed=4)
    for one, other in zip(write_world(spec, tmp_path / "f"), sorted((tmp_path / "c").iterdir())[::-1], strict=True):
        assert one.read_bytes() == other.read_bytes()


def test_the_command_says_what_it_wrote_and_refuses_as_the_function_does(
    gtea: Callable[..., Any], tmp_path: Path
) -> None:
    outcome = gtea("synth", "world", "--accounts", 100, "--out", tmp_path)
    assert "2,000 payments among 100 accounts" in outcome.out
    assert "5 of 100 labels are illicit" in outcome.out
    refused = gtea("synth", "world", "--drift", 3, "--out", tmp_path)
    assert refused.code == 2
    assert "drift: must be between 0 and 1 (got 3.0). Try 0.5." in refused.err


def test_the_commands_defaults_are_those_of_the_spec() -> None:
    defaults = {field.name: field.default for field in fields(WorldSpec)}
    assert {option.name: option.default for option in world_command.params if option.name in defaults} == defaults
