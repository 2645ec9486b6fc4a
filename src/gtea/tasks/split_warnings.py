"""What a split can't show: warnings about figures that mean less than they seem to.

A split can be correct and still say little. Its test part may have three examples of a class, or its training part may
end when hardly anything has happened. Each function here looks for one such case. What is read of the graph is read as
of the cut of a part, so nothing after the test part's cut changes a warning.

Not warned of: links whose test part has only new pairs. That is how some data are (people rate each other once), and
the score then measures what there is to predict.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from gtea.store.store import Store
from gtea.store.time_units import span_text
from gtea.store.view import View
from gtea.tasks.homogeneity import homogeneity_p_value
from gtea.tasks.labels import Labels, positive_class
from gtea.tasks.link_split import LinkPart, LinkSplit
from gtea.tasks.splits import Part, Split

_CHANCE = 0.001
"""Differences with a higher p-value may be chance. Strict, because every training tests several of them."""
_SHARE_DIFFERENCE = 0.05
"""A total variation distance below this moves accuracy and average precision by at most five points."""
_SHARE_FACTOR = 2
"""A rare class may double its share, and so the average precision by chance, within a small difference."""
_FEW_EXAMPLES = 30
"""With fewer, the 95 % interval of a rate reaches 18 points or more to each side."""
_FEW_OF_MANY_CLASSES = 2 * _FEW_EXAMPLES
"""More than two classes: what a part with just enough of both of two classes holds at least."""
_HISTORY_FACTOR = 2
"""A median history at least twice as long: counts, sums and sequences are of another size than in training."""
_EARLY_SHARE = 0.1
"""Below this share of the events, training sees a small corner of what the test part sees."""
_SHORTEST_HISTORY = 2
"""With fewer events there is no gap, no order and no rhythm to learn from."""
_WINDOW_FACTOR = 3
"""By default a training window holds half as many events as the test window: a factor of 2 is no sign of change."""
_PACE_FACTOR = 1.5
"""Windows of other lengths with events as frequent as ever are the split's own choice, and get no warning."""
_REPEATED_SHARE = 0.98
"""Above this, knowing which pairs have met is nearly all that the score can show."""
_SHOWN = 5
"""How many classes are named."""


@dataclass(frozen=True)
class SplitWarning:
    """Something that a split can't show."""

    code: str
    text: str
    """One sentence with the figures, without its full stop."""
    remedy: str
    """What to do about it."""

    def to_json(self) -> dict[str, str]:
        """Return the fields by name."""
        return asdict(self)


def split_warnings(split: Split | LinkSplit, store: Store, labels: Labels | None) -> tuple[SplitWarning, ...]:
    """Return what the figures of a model with this split can't show, at most one warning of each code.

    Args:
        split: The split.
        store: The store that was split.
        labels: The labels that were split; None for links.
    """
    if isinstance(split, LinkSplit):
        found = [_few_pairs(split), _window_lengths(split, store), _repeated_pairs(split)]
    else:
        assert labels is not None, "accounts are split by their labels"
        found = [_random(split), _missing_classes(split), _class_shares(split, labels), _few_accounts(split)]
        if _by_time(split):
            found += [_history_lengths(split, store, labels), early_training(split, store, labels)]
    return tuple(warning for warning in found if warning is not None)


def _by_time(split: Split) -> bool:
    """Whether parts have cuts of their own. The parts of stratified folds see the same graph."""
    return len({part.as_of for part in split.parts.values()}) > 1


def _random(split: Split) -> SplitWarning | None:
    if not split.instead:
        return None
    return SplitWarning(
        "random_split",
        f"accounts are split at random, because by time {split.instead}. So figures tell how well accounts of one "
        "time are told apart, not how well later ones are found",
        "--split time insists on a split by time.",
    )


def _missing_classes(split: Split) -> SplitWarning | None:
    missing = {name: [kind for kind, count in part.classes.items() if not count] for name, part in split.parts.items()}
    if not any(missing.values()):
        return None
    shown = _listed([f"{name} has no account of {_names(kinds)}" for name, kinds in missing.items() if kinds])
    effect = (
        "a class can't be learnt without examples"
        if missing["train"]
        else "figures don't show how well these classes are found"
    )
    remedy = "--folds 5 spreads classes evenly over the parts; or add labels" if _by_time(split) else "Add labels"
    return SplitWarning("missing_classes", f"{shown}: {effect}", f"{remedy}, or leave these classes out.")


def _class_shares(split: Split, labels: Labels) -> SplitWarning | None:
    counts = np.array([list(part.classes.values()) for part in split.parts.values()], dtype=np.float64)
    shares = counts / counts.sum(axis=1, keepdims=True)
    if not _shares_matter(shares) or homogeneity_p_value(counts) >= _CHANCE:
        return None
    positive = positive_class(labels)
    shown = int(np.argmax(np.ptp(shares, axis=0))) if positive is None else labels.classes.index(positive)
    figures = [f"{_percent(share)} of {name}" for share, name in zip(shares[:, shown], split.parts, strict=True)]
    what = f"{labels.classes[shown]!r} is {_listed(figures)}"
    if positive is None:
        what = f"classes are spread unevenly over the parts ({what})"
    return SplitWarning(
        "class_shares",
        f"{what}, which is more than chance: the figures of one part don't predict those of another",
        "Compare with --folds 5, where all parts have the same shares, or try another --as-of T.",
    )


def _shares_matter(shares: NDArray[np.float64]) -> bool:
    distance = max(abs(a - b).sum() / 2 for a, b in itertools.combinations(shares, 2))
    low, high = shares.min(axis=0), shares.max(axis=0)
    return bool(distance > _SHARE_DIFFERENCE or (shares.shape[1] == 2 and (high >= _SHARE_FACTOR * low).any()))


def _few_accounts(split: Split) -> SplitWarning | None:
    """Warn of a rare class; with more than two classes, of a part that is small as a whole."""
    few: list[tuple[int, str]] = []
    for name, part in _evaluated(split):
        present = {kind: count for kind, count in part.classes.items() if count}
        if len(part.classes) > 2:
            if len(part) < _FEW_OF_MANY_CLASSES:
                few.append((len(part), f"{name} has {len(part)} accounts of {len(present)} classes"))
        elif min(present.values(), default=_FEW_EXAMPLES) < _FEW_EXAMPLES:
            kind = min(present, key=lambda each: present[each])
            few.append((present[kind], f"{name} has {_counted(present[kind], 'account')} of {kind!r}"))
    if split.test is None:
        return _few_examples(few, "Add labels.")
    if split.name.startswith("fold "):
        return _few_examples(few, "Use the mean over all folds, or add labels.")
    return _few_examples(few, "--folds 5 tests every labelled account; or add labels.")


def _few_pairs(split: LinkSplit) -> SplitWarning | None:
    parts = {"validation": split.validation, "test": split.test}
    few = [
        (len(part), f"{name} has {_counted(len(part), 'pair')}")
        for name, part in parts.items()
        if len(part) < _FEW_EXAMPLES
    ]
    return _few_examples(few, "An earlier --graph-until T leaves more pairs to validate and test.")


def _few_examples(few: Sequence[tuple[int, str]], remedy: str) -> SplitWarning | None:
    if not few:
        return None
    # Half of the 95 % interval of a rate of one half, the widest.
    points = round(98 / min(count for count, _ in few) ** 0.5)
    shown = _listed([part for _, part in few])
    effect = f"rates measured on so few are uncertain by up to {points} percentage points"
    return SplitWarning("few_examples", f"{shown}: {effect}", remedy)


def _history_lengths(split: Split, store: Store, labels: Labels) -> SplitWarning | None:
    if split.test is None:
        return None
    lengths = {
        name: _events_per_account(store.as_of(part.as_of), labels.nodes[part.index])
        for name, part in split.parts.items()
    }
    medians = {name: float(np.median(each)) for name, each in lengths.items()}
    train, test = lengths["train"], lengths["test"]
    if not _differ(medians["train"], medians["test"], _HISTORY_FACTOR) or _median_p_value(train, test) >= _CHANCE:
        return None
    figures = [f"{median:,.6g} in {name}" for name, median in medians.items()]
    earlier = ", or give an earlier --as-of T" if medians["test"] > medians["train"] else ""
    return SplitWarning(
        "history_lengths",
        f"the median number of events of an account is {_listed(figures)}, as of each part's cut: what is learnt from "
        "histories of one length need not hold for another",
        f"Compare with --folds 5, where all parts see the same graph{earlier}.",
    )


def _median_p_value(first: NDArray[np.int64], second: NDArray[np.int64]) -> float:
    """Return the probability that chance alone makes values above the middle of the two medians so much more frequent.

    Mood's median test asks about the common median. Many accounts have exactly so many events, and none may have more.
    """
    middle = (np.median(first) + np.median(second)) / 2
    return homogeneity_p_value([[(each > middle).sum(), (each <= middle).sum()] for each in (first, second)])


def early_training(split: Split, store: Store, labels: Labels) -> SplitWarning | None:
    """Warn of a cut that comes when training accounts have only just begun, as if all accounts begin at once."""
    start, end = split.train.as_of, max(part.as_of for part in split.parts.values())
    share = _num_events(store.as_of(start)) / _num_events(store.as_of(end))
    nodes = labels.nodes[split.train.index]
    short = float((_events_per_account(store.as_of(start), nodes) < _SHORTEST_HISTORY).mean())
    still_short = float((_events_per_account(store.as_of(end), nodes) < _SHORTEST_HISTORY).mean())
    # Where most accounts never have a second event, the cut is not the reason.
    cut_short = short > 0.5 >= still_short
    if share >= _EARLY_SHARE and not cut_short:
        return None
    first = int(store.manifest.time["first"])
    seen, whole = (span_text(cut - first, split.unit) for cut in (start, end))
    single = f", and {_percent(short)} of its accounts have a single event by then" if cut_short else ""
    return SplitWarning(
        "early_training",
        f"training sees the first {seen} of {whole} ({_percent(share)} of the events){single}: its accounts have only "
        "just begun, and there is little to learn from",
        "--split random lets every part see the whole graph, and --folds 5 tests every labelled account.",
    )


def _window_lengths(split: LinkSplit, store: Store) -> SplitWarning | None:
    train, validation, test = (
        float(np.median([_length(part) for part in parts]))
        for parts in (split.train_parts, (split.validation,), (split.test,))
    )
    unlike_training = _differ(test, train, _WINDOW_FACTOR) and _differ(
        _time_per_event(split.test, store), _time_per_event(split.train, store), _PACE_FACTOR
    )
    if not (unlike_training or _differ(test, validation, _WINDOW_FACTOR)):
        return None
    spans = [span_text(round(each), split.unit) for each in (test, validation, train)]
    number = len(split.train_parts)
    training = "the training window" if number == 1 else f"each of {number} training windows"
    return SplitWarning(
        "window_lengths",
        f"the test window covers {spans[0]}, validation {spans[1]} and {training} about {spans[2]}: more pairs meet in "
        "a longer window, so figures and threshold need not carry over",
        _window_remedy(split, train, test),
    )


def _window_remedy(split: LinkSplit, train: float, test: float) -> str:
    """Windows hold fixed shares of the events, so a long window is one with rare events."""
    remedy = (
        "An earlier --as-of T leaves out the time when events became rare"
        if test > max(train, _length(split.validation))
        else "A later --graph-until T leaves out the time when events were rare"
    )
    number = len(split.train_parts)
    fitting = max(1, round(number * train / test))
    if split.protocol == "paper" or fitting == number:
        return f"{remedy}."
    return f"{remedy}, or --set split.train_windows={fitting} makes training windows more like the test window."


def _repeated_pairs(split: LinkSplit) -> SplitWarning | None:
    count, total = int(split.test.seen.sum()), len(split.test)
    if count <= _REPEATED_SHARE * total:
        return None
    return SplitWarning(
        "repeated_pairs",
        f"{count:,} of {total:,} test pairs ({_percent(count / total)}) have met before and no negative has: naming "
        f"the pairs that have met is {_percent((1 + count / total) / 2)} accurate, and the score says little about "
        "new pairs",
        "Compare with --variant edgebank, which does just that; an earlier --graph-until T leaves more new pairs.",
    )


def _evaluated(split: Split) -> Iterator[tuple[str, Part]]:
    """Yield the parts that figures come from."""
    yield from ((name, part) for name, part in split.parts.items() if name != "train")


def _events_per_account(view: View, nodes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of events of each node before the cut."""
    start, stop = view.slot_ranges(nodes)
    degrees = stop - start
    owners = np.repeat(np.arange(len(nodes)), degrees)
    within = np.arange(len(owners)) - np.repeat(np.cumsum(degrees) - degrees, degrees)
    first, end = view.event_ranges(view.arrays.slot_edge[start[owners] + within])
    return np.bincount(owners, weights=end - first, minlength=len(nodes)).astype(np.int64)


def _num_events(view: View) -> int:
    first, end = view.event_ranges(np.arange(view.store.num_edges))
    return int((end - first).sum())


def _length(part: LinkPart) -> int:
    return part.window[1] - part.window[0]


def _time_per_event(part: LinkPart, store: Store) -> float:
    start, end = (_num_events(store.as_of(time)) for time in part.window)
    return _length(part) / (end - start)


def _differ(one: float, other: float, factor: float) -> bool:
    return max(one, other) >= factor * min(one, other)


def _percent(share: float) -> str:
    percent = 100 * share
    return f"{percent:.2g} %" if percent < 99 else f"{percent:.3g} %"


def _counted(count: int, thing: str) -> str:
    return f"{count} {thing}" if count == 1 else f"{count} {thing}s"


def _names(kinds: Sequence[str]) -> str:
    more = [f"{len(kinds) - _SHOWN} more classes"] if len(kinds) > _SHOWN + 1 else []
    return _listed([*map(repr, kinds[: _SHOWN if more else None]), *more])


def _listed(words: Sequence[str]) -> str:
    """Join words as in a sentence."""
    return " and ".join([*filter(None, [", ".join(words[:-1])]), words[-1]])
