"""Options that take several words."""

from __future__ import annotations

from collections.abc import Sequence

import click

_LISTS = ("--data", "--models", "--axes", "--sizes")


class ListsCommand(click.Command):
    """A command some of whose options take several words: ``--models gcn tree`` is ``--models gcn --models tree``."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the words of the command line."""
        return super().parse_args(ctx, spread(args))


def spread(words: Sequence[str]) -> list[str]:
    """The words with the flag of a list put before each of its items. An empty list keeps its flag, to be refused."""
    found: list[str] = []
    flag: str | None = None
    for word in words:
        if word.startswith("-"):
            flag = word if word in _LISTS else None
            found.append(word)
        elif flag:
            items = [item for name in word.split(",") if name for item in (flag, name)]
            found += items[1:] if found[-1] == flag else items
        else:
            found.append(word)
    return found
