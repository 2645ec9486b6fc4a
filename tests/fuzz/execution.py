"""One execution: a mutated input, what became of it, and whether that is as it must be."""

from __future__ import annotations

import enum
import hashlib
import random
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import click
from tests.fuzz.folders import Files, Scratch
from tests.fuzz.mutation import mutate
from tests.fuzz.targets import Target

from gtea.errors import GteaError, StoreError


class Verdict(enum.Enum):
    """What became of an input."""

    SAME = "same result"
    ACCEPTED = "another result, and no digest could have told"
    REFUSED = "refused with a clear error"
    DIFFERENT = "another result, although a digest could have told"
    WRONG_CLASS = "refused with an error of the wrong class"
    UNCAUGHT = "an exception that is a bug"
    SIGNAL = "died by a signal"
    HANG = "did not end"

    @property
    def is_finding(self) -> bool:
        """Whether it must not happen."""
        return self not in (Verdict.SAME, Verdict.ACCEPTED, Verdict.REFUSED)


@dataclass(frozen=True)
class Outcome:
    """The verdict on one execution, and what was seen."""

    verdict: Verdict
    detail: str = ""
    seconds: float = field(default=0.0, compare=False)
    """Of processor time."""


@dataclass(frozen=True)
class Input:
    """A mutated input of a target."""

    target: Target
    files: Files
    forged: bool
    """Whether digests were made to fit again."""


def make_input(rng: random.Random, target: Target, seeds: Files) -> Input:
    """A mutated input. A pure function: the same generator and seeds give the same bytes."""
    changed = mutate(rng, original(target, seeds), target.needs[0])
    forged = target.forge is not None and rng.random() < 0.5
    return Input(target, target.forge(changed) if target.forge is not None and forged else changed, forged)


def original(target: Target, seeds: Files) -> Files:
    """The files that a target needs, unchanged."""
    return {name: content for name, content in seeds.items() if name.startswith(target.needs)}


def result_of(target: Target, files: Files, scratch: Scratch) -> str:
    """The digest of what a target makes of some files. Whatever it raises is raised."""
    scratch.hold(files)
    try:
        return hashlib.sha256(target.run(scratch.folder)).hexdigest()
    finally:
        if target.writes:
            scratch.clear()


def execute(given: Input, expected: str, scratch: Scratch) -> Outcome:
    """Run a target, and compare with the result for the original input. Exceptions are told as by ``gtea.cli.main``."""
    target = given.target
    try:
        found = result_of(target, given.files, scratch)
    except (GteaError, OSError, click.ClickException) as error:
        code = error.exit_code if isinstance(error, GteaError) else StoreError.exit_code
        code = 2 if isinstance(error, click.ClickException) else code
        # Who makes digests fit can make any part of an input contradict any other.
        as_expected = given.forged or code in target.refusals
        return Outcome(Verdict.REFUSED if as_expected else Verdict.WRONG_CLASS, _told(error, f"exit code {code}"))
    except Exception as error:
        return Outcome(Verdict.UNCAUGHT, _told(error, _place(error)))
    if found == expected:
        return Outcome(Verdict.SAME)
    return Outcome(Verdict.DIFFERENT if target.tells and not given.forged else Verdict.ACCEPTED)


def _told(error: BaseException, where: str) -> str:
    return f"{type(error).__name__} ({where}): {str(error)[:300]}"


def _place(error: BaseException) -> str:
    """The last line of gtea that an exception came through."""
    frames = traceback.extract_tb(error.__traceback__)
    own = [frame for frame in frames if "/gtea/" in frame.filename]
    return f"{Path(own[-1].filename).name}:{own[-1].lineno}" if own else "outside gtea"
