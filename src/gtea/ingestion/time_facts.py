"""What a plan of times asks about the column, and answers that can be put together from several files.

A fact is an aggregate: that of all rows follows from those of any parts of them. So a file that was read elsewhere need
not be read again, if what the plan asks was asked there, too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Protocol

from gtea.ingestion.workbench import Workbench


class TimeFact(NamedTuple):
    """A question about column ``t`` of table ``staged``."""

    kind: Literal["min", "max", "all", "count", "first"]
    of: str
    """SQL: a number for ``min`` and ``max``, else a condition. ``first`` is the first value for which it holds."""

    @property
    def sql(self) -> str:
        """The SQL of the answer."""
        match self.kind:
            case "all":
                return f"coalesce(bool_and({self.of}), true)"
            case "count":
                return f"count(*) FILTER (WHERE {self.of})"
            case "first":
                return f"arg_min(t::VARCHAR, rowid) FILTER (WHERE {self.of})"
            case _:
                return f"{self.kind}({self.of})"

    def merged(self, answers: Sequence[Any]) -> Any:
        """The answer for all files, from those for each of them in order."""
        if self.kind == "all":
            return all(answers)
        if self.kind == "count":
            return sum(answers)
        known = [answer for answer in answers if answer is not None]
        if self.kind == "first":
            return next(iter(known), None)
        return (min if self.kind == "min" else max)(known, key=Decimal, default=None)


class TimeFacts(Protocol):
    """Answers questions about a column of times."""

    def ask(self, *facts: TimeFact) -> tuple[Any, ...]:
        """The answers: text of a number, or None, for ``min`` and ``max``; text or None for ``first``."""


class StagedTimes:
    """The facts of table ``staged``. Remembers what it was asked."""

    def __init__(self, bench: Workbench, subject: str) -> None:
        self.answers: dict[str, list[Any]] = {}
        """The answers so far, by the SQL of the questions."""
        self._bench, self._subject = bench, subject

    def ask(self, *facts: TimeFact) -> tuple[Any, ...]:
        """The answers, by one query."""
        sql = _sql_of(facts)
        found = self._bench.row(f"SELECT {sql} FROM staged", source=self._subject)
        extremes = [fact.kind in ("min", "max") for fact in facts]
        plain = [
            str(value) if extreme and value is not None else value
            for value, extreme in zip(found, extremes, strict=True)
        ]
        self.answers[sql] = plain
        return tuple(plain)


class MergedTimes:
    """The facts of several files together."""

    def __init__(
        self, known: Sequence[Mapping[str, Sequence[Any]]], ask_file: Callable[[int, Sequence[TimeFact]], Sequence[Any]]
    ) -> None:
        """Make them.

        Args:
            known: What each file has answered so far.
            ask_file: Asks the file of a number what it has not answered.
        """
        self._known, self._ask_file = known, ask_file

    def ask(self, *facts: TimeFact) -> tuple[Any, ...]:
        """The answers."""
        sql = _sql_of(facts)
        each = [
            answers[sql] if sql in answers else self._ask_file(number, facts)
            for number, answers in enumerate(self._known)
        ]
        return tuple(fact.merged(column) for fact, column in zip(facts, zip(*each, strict=True), strict=True))


def _sql_of(facts: Sequence[TimeFact]) -> str:
    return ", ".join(fact.sql for fact in facts)
