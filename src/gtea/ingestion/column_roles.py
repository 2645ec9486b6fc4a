"""Guess the roles of a table's columns: who sends, who receives, when, and what else describes an event.

Names decide, and values where names say nothing. A guess is never silent: every column has a role or a reason why it
has none. A role with two candidates that are equally good is not guessed at all.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Literal

from gtea.ingestion.columns import is_label_name
from gtea.ingestion.table_sample import ColumnSample

Role = Literal["src", "dst", "time"]
ROLES: dict[Role, str] = {
    "src": "the account that sends",
    "dst": "the account that receives",
    "time": "the time of the event",
}
"""The roles that exactly one column must have, in words."""


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_WORDS: dict[Role, frozenset[str]] = {
    "src": _set("src source from sender payer orig origin originator debtor debited rater remitter initiator user u"),
    "dst": _set("dst dest destination target to receiver recipient payee bene beneficiary creditor credited rated")
    | _set("counterparty merchant item v"),
    "time": _set("time timestamp ts t date datetime day step when created seconds epoch"),
}
_ACCOUNT_WORDS = _set("account acct id name address addr wallet iban user customer client node")
_NOT_AN_ACCOUNT = ("bank", "balance", "currency", "location", "country", "amount", "type", "city", "hash")
_LABEL_WORDS = _set("label fraud fraudulent laundering illicit phishing scam suspicious sar alert")
_NUMBERS_THAT_NAME = _set("id ids hash index idx row number nr no code zip bank branch iban")
_STEP_WORDS = _set("step steps tick ticks round period")
_SECOND_WORDS = _set("second seconds sec secs")
_DAY = 86_400
_MOST_CATEGORIES = 40
_ROWS_PER_CATEGORY = 5


@dataclass(frozen=True)
class ColumnRoles:
    """What each column was taken for."""

    roles: Mapping[Role, str]
    """The columns that could be told."""
    unsure: Mapping[Role, tuple[str, ...]]
    """The roles that could not be told, with the columns that might have them."""
    foreign_dates: tuple[str, ...]
    """The columns with dates that can't be read."""
    features: tuple[str, ...]
    categorical: tuple[str, ...]
    ignored: Mapping[str, str]
    """Every other column, and why it is not used."""


def guess_roles(columns: Sequence[ColumnSample], given: Mapping[Role, str | None]) -> ColumnRoles:
    """Guess the roles of columns.

    Args:
        columns: All columns of the table, with their first values.
        given: The roles that the user has named; None for the others.
    """
    roles = {role: name for role in ROLES if (name := given.get(role))}
    unsure: dict[Role, tuple[str, ...]] = {}
    foreign_dates = tuple(column.name for column in columns if column.has_foreign_dates)
    # Twice: what one role has taken is no candidate for the others.
    for role in (*ROLES, *ROLES):
        if role not in roles:
            unsure[role] = _best(role, [column for column in columns if column.name not in roles.values()])
            # What is left over is no time where another column has dates.
            if role == "time" and foreign_dates and not any(_score(role, column) for column in columns):
                unsure[role] = ()
            if len(unsure[role]) == 1:
                (roles[role],) = unsure.pop(role)
    if "src" in unsure and "dst" in unsure:
        _add_pair([column for column in columns if column.name not in roles.values()], roles, unsure)
    possible = {name for names in unsure.values() for name in names}
    features: list[str] = []
    categorical: list[str] = []
    ignored: dict[str, str] = {}
    for column in columns:
        if column.name in roles.values() or column.name in possible:
            continue
        reason = _why_ignored(column)
        if reason is not None:
            ignored[column.name] = reason
        else:
            (features if column.is_numeric else categorical).append(column.name)
    return ColumnRoles(roles, unsure, foreign_dates, tuple(features), tuple(categorical), ignored)


def suspicious_class(columns: Sequence[ColumnSample]) -> tuple[str, str] | None:
    """The class of a table of labels whose name says that it is the one to look for, and the other; None if none does.

    The rarer class is a bad guess where labels were sampled: it may be that of the honest.
    """
    for column in columns:
        classes = sorted({value for value in column.values if value is not None})
        named = [name for name in classes if not _LABEL_WORDS.isdisjoint(name_words(name))]
        if column.kind == "text" and len(classes) == 2 and len(named) == 1:
            return named[0], next(name for name in classes if name != named[0])
    return None


def counts_steps(column: ColumnSample) -> bool:
    """Whether the times of a column are counted, not dated: by its name, or small whole numbers.

    As seconds since 1970, they would all be in the first day.
    """
    if column.kind != "integer":
        return False
    words, values = name_words(column.name), [int(value) for value in column.values if value is not None]
    return bool(_STEP_WORDS.intersection(words)) or (
        _SECOND_WORDS.isdisjoint(words) and all(0 <= value < _DAY for value in values)
    )


def _best(role: Role, columns: Sequence[ColumnSample]) -> tuple[str, ...]:
    """The columns with the highest score for a role, if it is above 0; else those that might have the role at all."""
    scores = {column.name: _score(role, column) for column in columns}
    highest = max(scores.values(), default=0)
    if highest > 0:
        return tuple(name for name, score in scores.items() if score == highest)
    # Fractions without a name that says so are amounts, or shares.
    return tuple(
        column.name for column in columns if _fits(role, column) and (role != "time" or column.kind != "number")
    )


def _score(role: Role, column: ColumnSample) -> int:
    words = name_words(column.name)
    if not _fits(role, column) or not _WORDS[role].intersection(words):
        return 2 if role == "time" and column.kind == "time" else 0
    if role == "time":
        return 4 if column.kind == "time" else 3
    alone = all(word in _WORDS[role] or word in _ACCOUNT_WORDS for word in words)
    return 2 + alone


def _fits(role: Role, column: ColumnSample) -> bool:
    """Whether the values of a column could have this role."""
    if role == "time":
        readable = column.kind in ("time", "integer", "number") and not column.has_foreign_dates
        return readable and not _is_label(column.name)
    name = column.name.lower()
    return (
        column.kind in ("text", "integer")
        and not any(word in name for word in _NOT_AN_ACCOUNT)
        and not _is_label(column.name)
        and column.num_distinct > 2
    )


def _add_pair(columns: Sequence[ColumnSample], roles: dict[Role, str], unsure: dict[Role, tuple[str, ...]]) -> None:
    """Where no name tells the two accounts: two columns with nearly the same name, or that share accounts."""
    candidates = [column for column in columns if _fits("src", column)]
    by_name = [pair for pair in combinations(candidates, 2) if _are_twins(*pair)]
    by_value = [pair for pair in combinations(candidates, 2) if _share_values(*pair)]
    for pairs in (by_name, by_value):
        if len(pairs) == 1:
            roles["src"], roles["dst"] = (column.name for column in pairs[0])
            del unsure["src"], unsure["dst"]
            return


def _are_twins(one: ColumnSample, other: ColumnSample) -> bool:
    """``Account`` and ``Account.1``, ``node_a`` and ``node_b``, ``i`` and ``j``: the same but for the last letter."""
    first, second = one.name.lower(), other.name.lower()
    if one.kind != other.kind:
        return False
    if second == f"{first}.1":
        return True
    return len(first) == len(second) and first[:-1] == second[:-1] and ord(second[-1]) - ord(first[-1]) == 1


def _share_values(one: ColumnSample, other: ColumnSample) -> bool:
    both = set(one.values) & set(other.values) - {None}
    return one.kind == other.kind and 10 * len(both) >= min(one.num_distinct, other.num_distinct)


def _why_ignored(column: ColumnSample) -> str | None:
    """Why a column that has no role is no feature either; None if it is one."""
    words = name_words(column.name)
    if _is_label(column.name):
        return "looks like a label, which a model must not see"
    if column.has_foreign_dates:
        return "has dates that can't be read; write them like 2024-05-31 to use them"
    if column.num_distinct <= 1:
        return "has one value only"
    if column.is_numeric:
        if not words or _NUMBERS_THAT_NAME.intersection(words):
            return "looks like a number that names something"
        return "counts the rows" if column.kind == "integer" and _counts(column) else None
    if column.kind == "time":
        return "is a second time"
    if column.has_foreign_numbers:
        return "has numbers with commas, or with signs between thousands; write them like 1234.56 to use them"
    rows = sum(1 for value in column.values if value is not None)
    if column.num_distinct > _MOST_CATEGORIES or column.num_distinct * _ROWS_PER_CATEGORY > rows:
        return "is text with many different values"
    return None


def _is_label(name: str) -> bool:
    """Whether a column may hold the answer. It is better to leave out one column too many."""
    return is_label_name(name) or not _LABEL_WORDS.isdisjoint(name_words(name))


def _counts(column: ColumnSample) -> bool:
    """Whether each value is the one before plus 1: the number of the row."""
    values = [int(value) for value in column.values if value is not None]
    return len(values) > 2 and all(second - first == 1 for first, second in pairwise(values))


def name_words(name: str) -> list[str]:
    """The words of a column's name: ``nameOrig``, ``from_account`` and ``To Bank`` have two each."""
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]
