"""A search on several processes or machines: a training each, to the trials of a search in one process.

Settings of grid and random searches depend on no result, so all trials are known at once. Whether a trial is pruned
depends on all trials before it. So a training goes on as long as some of them are running, and what became of it is
concluded in order: it is cut where it would have been pruned. What it cost is the only difference.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gtea.cluster.carriers import Carrier
from gtea.cluster.joined_tasks import begin_job, end_job, require_node_of, run_joined
from gtea.cluster.part_files import Arrays, is_whole
from gtea.cluster.tasks import FileTask, made_by, name_of
from gtea.errors import UsageError
from gtea.experiments.tune import search_record
from gtea.experiments.tune.proposals import proposer
from gtea.experiments.tune.pruning import MedianRule
from gtea.experiments.tune.search import Search, require_finished, write_results
from gtea.experiments.tune.space import Settings
from gtea.experiments.tune.trial_run import TrainingRequest, TrialCurve, TrialRun, concluded
from gtea.experiments.tune.trials import Trial, read_trials, save_trial
from gtea.runtime.parallel import torch_threads
from gtea.runtime.progress import Progress
from gtea.training.epochs_done import share_trained
from gtea.training.fit import run_identity
from gtea.training.loop import no_report
from gtea.training.request_record import RequestRecord
from gtea.training.run_record import require_asked, threads
from gtea.training.tensorboard import with_board


def tune_on(
    carrier: Carrier,
    request: TrainingRequest,
    record: RequestRecord,
    search: Search,
    out: Path,
    work: Path | None,
    progress: Progress,
    *,
    resume: bool = False,
) -> list[Trial] | None:
    """Run a search as ``tune`` does, a task for each trial. Returns None if another process has the result.

    Args:
        record: The same request, for those who work.
        work: The folder of the tasks' files; by default next to ``out``.
    """
    settings = _all_settings(search)
    work = work or out.with_name(f"{out.name}.parts")
    identity = run_identity(request.once(out))
    rule = None if search.rule is None else asdict(search.rule)
    shared = {"request": record.to_json(), "out": str(out), "threads": threads(), "rule": rule}
    tasks = [
        FileTask(
            f"trial.{number}",
            name_of(_train_trial),
            {**shared, "number": number, "settings": chosen, "identity": identity.digest},
        )
        for number, chosen in enumerate(settings, start=1)
    ]
    begin_job("tune", tasks, work, out, resume=resume)
    search_record.begin_or_resume(out, {**search.to_json(), **identity.to_json()}, resume=True)
    trials = _Trials(request, search, out, work, settings)
    folders = [search_record.run_folder(out, number) for number in range(1, len(tasks) + 1)]

    def on_progress(stage: str, _: float | None) -> None:
        known = len(trials.conclude())
        running = share_trained(folders[known:], request.config.train.epochs) * (len(tasks) - known)
        progress(stage, (known + running) / len(tasks))

    on_progress("trial", None)
    if not run_joined(carrier, tasks, work, on_progress):
        return None
    found = trials.conclude()
    write_results(out, request, found)
    end_job(carrier, work)
    require_finished(found)
    return found


def _train_trial(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The task: train with the settings of a trial, or go on with it."""
    require_node_of(folder)
    out, number = Path(arguments["out"]), arguments["number"]
    rule = None if arguments["rule"] is None else MedianRule(**arguments["rule"])

    def earlier() -> Sequence[Trial] | None:
        known = read_trials(out)[: number - 1]
        return known if len(known) == number - 1 else None

    if known := read_trials(out)[number - 1 :]:  # by an earlier command, which has not left the file of this task
        return {}, asdict(TrialCurve(known[0].curve, known[0].seconds, known[0].reason))
    with torch_threads(arguments["threads"]):
        request = RequestRecord(**arguments["request"]).open()
        require_asked(request.store.path, run_identity(request.once(out)), arguments["identity"])
        run = TrialRun(request, arguments["settings"], earlier, rule, search_record.run_folder(out, number))
        return {}, asdict(run.run(with_board(no_report)))


def _all_settings(search: Search) -> list[Settings]:
    """The settings of all trials."""
    if search.kind == "tpe":
        raise UsageError(
            "--on: goes with --search grid and random (got tpe, each of whose trials depends on all before it). "
            "Leave --on out, or search random."
        )
    propose, trials = proposer(search.kind, search.space), list[Trial]()
    while len(trials) < search.num_trials:
        settings = propose(search.space, search.seed, trials)
        if settings is None:
            break
        trials.append(Trial(len(trials) + 1, settings, "finished", [], 0.0))
    return [trial.settings for trial in trials]


class _Trials:
    """The trials of which it is known what became of them: they and all before them have been trained."""

    def __init__(
        self, request: TrainingRequest, search: Search, out: Path, work: Path, settings: Sequence[Settings]
    ) -> None:
        self._request, self._search, self._out, self._work, self._settings = request, search, out, work, settings

    def conclude(self) -> list[Trial]:
        """Write down those that have become known since the last time, and return all."""
        trials = read_trials(self._out)
        while len(trials) < len(self._settings):
            task, settings = FileTask(f"trial.{len(trials) + 1}", ""), self._settings[len(trials)]
            if not is_whole(task.path(self._work)):
                break
            facts = made_by(self._work, task.name).facts
            made = TrialCurve(*(facts[name] for name in TrialCurve.__dataclass_fields__))
            trials.append(concluded(self._request, settings, made, trials, self._search.rule))
            save_trial(self._out, trials[-1])
            write_results(self._out, self._request, trials)
        search_record.remove_completed_runs(self._out, len(trials))
        return trials
