"""The events of :mod:`gtea.datasets.payments` as NumPy arrays: who pays whom, when and how much.

A *circle* is four accounts of one class: stakers 0 and 1, bankers 0 and 1. It meets at night, once a week, one to
three times. A night has two *sittings* of a few *rounds*. In a round, each staker pays one banker (the stake), and
minutes later each banker pays one staker (the payout). In a sitting of kind c, staker s stakes with banker ``s ^ c``.
The two sittings of a night have the two kinds, in random order. A single bit, ``crossed``, distinguishes the classes.
This is the history of a staker's pair in a night with two rounds per sitting (+ sent):

    illicit (0)   the payout comes from the banker who took the stake        + - + -
    normal  (1)   the payout comes from the other banker            + + - -   or   - - + +

A *league* is a group of circles, of both classes in the same proportion, whose rounds follow the same schedule.
Without leagues, the members of a circle would share weekday and gaps, and a tree that has seen three of them in
training would recognise the fourth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gtea.datasets.synthetic import DAY, Counts, Events, Floats, Ints, share_out, stream

SIZE = 4  # accounts in a circle
_WEEKS = 3  # a league plays in one, two or three consecutive weeks
_ROUND = 25 * 60  # seconds from one round to the next
_BREAK = 20 * 60  # seconds between the two sittings of a night


@dataclass(frozen=True)
class Circles:
    """The labelled accounts in circles, ordered by league and therefore by the day they become active.

    Attributes:
        members: Account numbers, shape (circles, 4): stakers 0 and 1, bankers 0 and 1.
        crossed: 1 if payouts are crossed (normal), 0 if they return to the staker (illicit).
        league: Each circle's league, ascending.
        nights: How often each league plays.
        opens: The day on which each league's window opens, ascending.
        window: Length of that window in days.
    """

    members: Ints
    crossed: Ints
    league: Counts
    nights: Counts
    opens: Floats
    window: int


@dataclass(frozen=True)
class BackgroundPairs:
    """Pairs with ordinary payments: the accounts at both ends, and the first and last day of their payments."""

    one: Ints
    other: Ints
    low: Floats
    high: Floats


def form_circles(illicit: int, normal: int, days: int, seed: int) -> Circles:
    """Assign accounts 0..illicit-1, and the ``normal`` accounts after them, to circles of their own class.

    If the size of a class is not a multiple of four, its last circle reuses members of its first, who are then in two.
    """
    rng = stream(seed, "circles")
    classes = np.arange(illicit, dtype=np.int32), np.arange(illicit, illicit + normal, dtype=np.int32)
    seats = [np.resize(accounts, (-(-len(accounts) // SIZE), SIZE)) for accounts in classes]
    sizes = [len(circles) for circles in seats]
    # assigned round-robin, two circles of the rarer class per league: with more leagues their class proportions
    # would differ, with fewer a model would have too few dates to learn from
    leagues = max(1, min(sizes) // 2)
    league = np.concatenate([np.arange(size) % leagues for size in sizes])
    order = np.lexsort((rng.random(len(league)), league))
    window = max(7 * (_WEEKS + 1), days // 4)
    opens = (np.arange(leagues) + rng.random(leagues)) / leagues * (days - window - 1)
    return Circles(
        members=np.concatenate(seats)[order],
        crossed=np.repeat(np.array([0, 1], np.int32), sizes)[order],
        league=league[order],
        nights=1 + rng.permutation(leagues) % _WEEKS,
        opens=opens.astype(np.float32),
        window=window,
    )


def circle_events(circles: Circles, rounds: int, seed: int) -> Events:
    """Every stake and every payout, with ``rounds`` rounds per sitting.

    Stakes and payouts follow the schedule of the league and one distribution of amounts, independent of the partner.
    So crossing the payouts doesn't change the distribution of any account's times, directions and amounts.
    """
    rng = stream(seed, "rounds")
    nights = circles.nights[circles.league]
    circle = np.repeat(np.arange(len(nights)), nights)
    week = np.arange(len(circle)) - np.repeat(np.cumsum(nights) - nights, nights)
    shape = (len(circle), 2, rounds, 2, 2)  # night, sitting, round, staker, stake or payout
    second = _schedule(circles, rounds, rng)[circles.league[circle], week]
    second = second + rng.integers(0, 90, shape, dtype=np.int32)
    amount = np.exp(3.5 + 0.8 * rng.standard_normal(shape, dtype=np.float32))
    amount[..., 0] = 5 * np.ceil(amount[..., 0] / 5)  # stakes are multiples of 5
    payer, payee = (np.broadcast_to(x[:, :, None], shape) for x in _who_pays_whom(circles, circle, rng))
    return Events(payer.ravel(), payee.ravel(), second.ravel(), amount.ravel())


def _schedule(circles: Circles, rounds: int, rng: np.random.Generator) -> Ints:
    """The times of each league's stakes and payouts in seconds, of shape (leagues, weeks, 2, rounds, 1, 2)."""
    leagues = len(circles.opens)
    first = (circles.opens + rng.random(leagues) * (circles.window - 7 * _WEEKS)).astype(np.int64)
    # after midnight, so that a night is within one date and daily counts per partner are the same
    begin = (first[:, None] + 7 * np.arange(_WEEKS)) * DAY + rng.integers(600, 3600, (leagues, _WEEKS))
    sitting = begin[..., None] + np.arange(2) * (rounds * _ROUND + _BREAK)
    stake = sitting[..., None] + np.arange(rounds) * _ROUND + rng.integers(0, 300, (*sitting.shape, rounds))
    payout = stake + rng.integers(180, 420, stake.shape)
    return np.stack([stake, payout], axis=-1)[..., None, :].astype(np.int32)


def _who_pays_whom(circles: Circles, circle: Counts, rng: np.random.Generator) -> tuple[Ints, Ints]:
    """Payer and payee, each of shape (nights, sitting, staker, stake or payout)."""
    kind = rng.integers(0, 2, (len(circle), 1)) ^ np.arange(2)
    takes = np.arange(2) ^ kind[..., None]
    gives = takes ^ circles.crossed[circle][:, None, None]
    stakers, bankers = circles.members[circle][:, None, :2], circles.members[circle][:, None, 2:]
    staker = np.broadcast_to(stakers, takes.shape)
    taker, giver = np.take_along_axis(bankers, takes, 2), np.take_along_axis(bankers, gives, 2)
    return np.stack([staker, giver], axis=-1), np.stack([taker, staker], axis=-1)


def background_pairs(circles: Circles, pairs: int, seed: int) -> BackgroundPairs:
    """Pairs of accounts, drawn independently of the class. The number of partners is heavy-tailed.

    Partners are in other circles that are active at the same time, so that an account stays within its window.
    """
    rng = stream(seed, "partners")
    seats, count = circles.members.ravel(), len(circles.members)
    first = np.repeat(np.arange(len(seats)), 1 + share_out(pairs - len(seats), rng.pareto(1.6, len(seats))))
    home = first // SIZE
    # circles this close in the order of arrival overlap by about half a window or more
    reach = max(1, min(count // 2, int(count * circles.window / 2 / (circles.opens[-1] + 1))))
    step = rng.integers(1, reach + 1, pairs) * rng.choice([-1, 1], pairs)
    there = np.where((home + step < 0) | (home + step >= count), home - step, home + step)
    second = SIZE * there + rng.integers(0, SIZE, pairs)
    # an account in two circles could be paired with itself: take the member next to it instead
    second ^= seats[first] == seats[second]
    opens = circles.opens[circles.league]
    low, high = np.maximum(opens[home], opens[there]), np.minimum(opens[home], opens[there])
    return BackgroundPairs(seats[first], seats[second], low, high + np.float32(circles.window))


def hub_pairs(circles: Circles, hubs: int, degree: int, seed: int) -> BackgroundPairs:
    """Pairs of each hub with ``degree`` distinct accounts of any class. Hubs have the highest numbers."""
    rng = stream(seed, "hubs")
    labelled = int(circles.members.max()) + 1
    clients = [rng.choice(labelled, degree, replace=False).astype(np.int32) for _ in range(hubs)]
    one = np.concatenate([np.empty(0, np.int32), *clients])
    opens = np.empty(labelled, np.float32)
    opens[circles.members] = circles.opens[circles.league][:, None]
    other = np.repeat(np.arange(labelled, labelled + hubs, dtype=np.int32), degree)
    return BackgroundPairs(one, other, opens[one], opens[one] + np.float32(circles.window))


def background_events(pairs: BackgroundPairs, events: int, seed: int) -> Events:
    """Ordinary payments in the daytime, at least one per pair. The length of a history is heavy-tailed."""
    rng = stream(seed, "background")
    count = len(pairs.one)
    pair = np.repeat(np.arange(count), 1 + share_out(events - count, rng.pareto(1.6, count)))
    day = pairs.low[pair] + (pairs.high - pairs.low)[pair] * rng.random(events, np.float32)
    hour = 7 + 7.5 * (rng.random(events, np.float32) + rng.random(events, np.float32))
    # most pairs pay in one direction, some in both
    forward = rng.random(events, np.float32) < rng.beta(0.4, 0.4, count).astype(np.float32)[pair]
    one, other = pairs.one[pair], pairs.other[pair]
    level = 3.5 + 0.8 * rng.standard_normal(count, np.float32)
    return Events(
        payer=np.where(forward, one, other),
        payee=np.where(forward, other, one),
        second=day.astype(np.int32) * DAY + (hour * 3600).astype(np.int32),
        amount=np.exp(level[pair] + 0.4 * rng.standard_normal(events, np.float32)),
    )
