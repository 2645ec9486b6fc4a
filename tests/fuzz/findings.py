"""What must not happen and happened: one example of each kind is kept, with the command that replays it."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.execution import Input, Outcome, original, result_of
from tests.fuzz.folders import Files, Scratch, read_folder, write_folder
from tests.fuzz.targets import targets


@dataclass
class Findings:
    """The findings of a campaign, by what they have in common."""

    folder: Path
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, given: Input, outcome: Outcome, seeds: Files) -> None:
        """Count a finding, and keep its input if it is the first of its kind."""
        kind = f"{given.target.name}: {outcome.verdict.name} {outcome.detail.partition(': ')[0]}"
        self.counts[kind] = self.counts.get(kind, 0) + 1
        kept = self.path(kind)
        if self.counts[kind] == 1 and not kept.exists():
            write_folder(given.files, kept / "input")
            write_folder(original(given.target, seeds), kept / "original")
            changed = [name for name, content in given.files.items() if seeds.get(name) != content]
            about = {"target": given.target.name, "forged": given.forged, "changed": changed}
            (kept / "finding.json").write_text(
                json.dumps({**about, "verdict": outcome.verdict.name, "detail": outcome.detail}, indent=2)
            )

    def path(self, kind: str) -> Path:
        """Where the example of a kind is kept."""
        return self.folder / re.sub(r"\W+", "-", kind).strip("-").lower()[:100]


def replay(kept: Path, scratch: Scratch) -> str:
    """Use the input of a finding again, in this process: it fails, dies or hangs in the open.

    Returns what is to be said if it does none of these.
    """
    about = json.loads((kept / "finding.json").read_text())
    (target,) = (target for target in targets() if target.name == about["target"])
    before = result_of(target, read_folder(kept / "original"), scratch)
    after = result_of(target, read_folder(kept / "input"), scratch)
    return "the same result" if before == after else "another result"
