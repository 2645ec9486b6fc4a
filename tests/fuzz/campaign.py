"""Feed mutated stores, models, runs, settings and tables to gtea for some time, and count what becomes of them.

    python -m tests.fuzz.campaign --minutes 30          # exit code 1 if there are findings
    python -m tests.fuzz.campaign --replay FINDING      # one of them again, with its traceback

The numbers of executions are seeds: the same ones give the same inputs, but for dates and durations in the models that
they start from. With ``--corpus``, these are the same, too.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

# Before anything loads torch or NumPy: a process with threads can't be forked safely.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

from tests.fuzz.children import Work, in_children
from tests.fuzz.execution import Input, Outcome, Verdict, execute, make_input, original, result_of
from tests.fuzz.findings import Findings, replay
from tests.fuzz.folders import Files, Scratch, read_folder
from tests.fuzz.seeds import make_seeds
from tests.fuzz.targets import Target, targets

import gtea.cli.append
import gtea.cli.evaluate
import gtea.cli.explain
import gtea.cli.export
import gtea.cli.info
import gtea.cli.ingest
import gtea.cli.monitor
import gtea.cli.report
import gtea.cli.score
import gtea.cli.train
import gtea.cli.verify
import gtea.cli.watch
import gtea.cluster.scoring.part_scores
import gtea.experiments.runs.subject
import gtea.experiments.tune.trials
import gtea.ingestion.append
import gtea.ingestion.ingest
import gtea.interop
import gtea.live.live_scorer
import gtea.monitoring.monitor
import gtea.scoring.table
import gtea.store.export
import gtea.store.info
import gtea.training.request
import gtea.training.tensorboard  # noqa: F401  once here, and not in each child

_SAYS_EVERY = 60.0


def main() -> int:
    """Run a campaign, or replay a finding."""
    asked = _arguments()
    with tempfile.TemporaryDirectory(prefix="gtea-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as at:
        if asked.replay is not None:
            print(f"{asked.replay}: {replay(asked.replay, Scratch(Path(at) / 'scratch'))}")
            return 0
        campaign = Campaign(asked.seed, _chosen(asked.only), asked.corpus or Path(at) / "corpus", Path(at) / "scratch")
        with contextlib.suppress(KeyboardInterrupt):
            campaign.run(60 * asked.minutes, asked.executions, Findings(asked.out), asked.jobs)
        print("\n".join(campaign.report()))
        return 1 if campaign.findings.counts else 0


class Campaign:
    """Many executions, and what became of them."""

    def __init__(self, seed: int, chosen: tuple[Target, ...], corpus: Path, scratch: Path) -> None:
        self.findings = Findings(scratch)
        self._seed = seed
        self._targets = chosen
        self._scratch = scratch
        self._seeds = read_folder(corpus) if corpus.exists() else _made_in_child(corpus)
        self._counts: dict[str, Counter[Verdict]] = {target.name: Counter() for target in chosen}
        self._seconds = dict.fromkeys(self._counts, 0.0)
        self._elapsed = 0.0

    def run(self, seconds: float, executions: int | None, findings: Findings, jobs: int = 1) -> None:
        """Execute until the time is over or so many executions are done, with so many processes."""
        self.findings = findings
        started = time.monotonic()
        numbers = itertools.takewhile(
            lambda number: time.monotonic() < started + seconds and number != executions, itertools.count()
        )
        said = started
        for number, outcome in in_children(self._work, numbers, jobs=jobs):
            target, now = self._target(number), time.monotonic()
            self._counts[target.name][outcome.verdict] += 1
            self._seconds[target.name] += outcome.seconds
            self._elapsed = now - started
            if outcome.verdict.is_finding:
                self.findings.add(self._input(number), outcome, self._seeds)
            if now > said + _SAYS_EVERY:
                said = now
                print(f"{self._total():,} executions, {sum(self.findings.counts.values()):,} findings", flush=True)

    def report(self) -> Iterator[str]:
        """A line for each target, the total, and the findings."""
        verdicts = [verdict for verdict in Verdict if any(counts[verdict] for counts in self._counts.values())]
        yield "  ".join([f"{'target':<18}", *(f"{verdict.name.lower():>11}" for verdict in verdicts), "  ms each"])
        total: Counter[Verdict] = Counter()
        for name, counts in self._counts.items():
            total += counts
            each = 1000 * self._seconds[name] / max(1, counts.total())
            yield "  ".join([f"{name:<18}", *(f"{counts[verdict]:>11,}" for verdict in verdicts), f"{each:>9.1f}"])
        each = 1000 * sum(self._seconds.values()) / max(1, self._total())
        yield (
            f"{self._total():,} executions in {self._elapsed:,.0f} s, "
            f"{self._total() / max(1e-9, self._elapsed):.0f} a second, {each:.1f} ms of processor time each"
        )
        for kind, count in sorted(self.findings.counts.items(), key=lambda item: -item[1]):
            yield f"{count:>6,}  {kind}\n        make fuzz REPLAY={self.findings.path(kind)}"

    def _total(self) -> int:
        return sum(counts.total() for counts in self._counts.values())

    def _target(self, number: int) -> Target:
        rng = random.Random(f"{self._seed} target {number}")
        return rng.choices(self._targets, [target.weight for target in self._targets])[0]

    def _input(self, number: int) -> Input:
        return make_input(random.Random(f"{self._seed} input {number}"), self._target(number), self._seeds)

    def _work(self) -> Work:
        """Prepare a child: the results for the original inputs take longer than one execution may."""
        scratch = Scratch(self._scratch / str(os.getpid()))
        expected = {target.name: result_of(target, original(target, self._seeds), scratch) for target in self._targets}

        def work(number: int) -> Outcome:
            given = self._input(number)
            return execute(given, expected[given.target.name], scratch)

        return work


def _made_in_child(folder: Path) -> Files:
    """The seeds. Training starts threads, so it happens elsewhere."""
    folder.mkdir()
    process = os.fork()
    if process == 0:
        status = 1
        try:
            make_seeds(folder)
            status = 0
        finally:
            sys.excepthook(*sys.exc_info()) if status else None
            os._exit(status)
    _, status = os.waitpid(process, 0)
    if status:
        raise RuntimeError("the seeds could not be made")
    return read_folder(folder)


def _chosen(only: str | None) -> tuple[Target, ...]:
    found = tuple(target for target in targets() if only is None or target.name == only)
    if not found:
        raise SystemExit(f"--only: must be one of {', '.join(target.name for target in targets())} (got {only!r})")
    return found


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--minutes", type=float, default=1.0, help="how long; default %(default)s")
    parser.add_argument("--executions", type=int, help="stop after so many")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; default %(default)s")
    parser.add_argument("--seed", type=int, default=0, help="another seed gives other inputs")
    parser.add_argument("--only", metavar="TARGET", help="one target only")
    parser.add_argument("--corpus", type=Path, help="a folder of seeds; made if there is none, used again if there is")
    parser.add_argument("--out", type=Path, default=Path("fuzz-findings"), help="where findings are kept")
    parser.add_argument("--replay", type=Path, metavar="FINDING", help="use the input of a finding again")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
