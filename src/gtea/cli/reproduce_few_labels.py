"""``gtea reproduce few-labels``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gtea.cli.bars import progress_bar
from gtea.cli.carriers import crew_of, on_option, say_others_end, work_option
from gtea.cli.option_lists import ListsCommand
from gtea.cli.output import json_option
from gtea.cli.run_lines import run_lines
from gtea.cli.terminal import print_json, say

if TYPE_CHECKING:
    from gtea.experiments.few_labels.learning_curves import CurvesResult, LearningCurves

_DATA = ("ethereum_phishing", "amlsim")
_SIZES = (10, 30, 100, 300)


@click.command("few-labels", cls=ListsCommand)
@click.option(
    "--data",
    "names",
    multiple=True,
    default=_DATA,
    metavar="NAME...",
    help=f"Data sets by name, payments, world:NAME, or prepared folders; default {' '.join(_DATA)}.",
)
@click.option("--draws", default=10, show_default=True, metavar="N", help="Draws of labels for each size.")
@click.option(
    "--sizes",
    multiple=True,
    type=int,
    default=_SIZES,
    metavar="N...",
    help=f"Labelled accounts per class; default {' '.join(map(str, _SIZES))}.",
)
@click.option("--out", default="few-labels", show_default=True, metavar="DIR", help="Where everything is kept.")
@click.option(
    "--jobs", default=1, show_default=True, metavar="N", help="Runs in parallel, each with 1/N of the threads."
)
@on_option
@work_option
@json_option
def few_labels_command(
    names: tuple[str, ...],
    draws: int,
    sizes: tuple[int, ...],
    out: str,
    jobs: int,
    on: str | None,
    work: str | None,
    as_json: bool,
) -> None:
    """Is the default model behind a tree with few labels? Learning curves, with no setting.

    For each size and draw, so many labelled accounts of each class are drawn at random. The model may use these only,
    a quarter of them for validation, and is tested on the others. The default model and two kinds of boosted trees get
    the same draws. One row per size: the difference to the better tree, its 95 % interval over the draws, and ahead,
    level or behind. After a kill, the same command resumes. Use a new --out for another version of gtea: finished
    trainings are not repeated.

    \b
      gtea reproduce few-labels --jobs 2
      gtea reproduce few-labels --data world:partners --sizes 10 100 --draws 5
    """
    from gtea.experiments.few_labels.learning_curves import LearningCurves, find_subjects

    folder = Path(out).absolute()
    crew = crew_of(on, jobs, work, folder)
    with progress_bar() as progress:
        subjects = find_subjects(names, folder, progress)
    curves = LearningCurves(subjects, sorted(set(sizes)), draws, folder, crew)
    curves.check()
    made = _run(curves)
    if made is None:
        say_others_end(str(on), out)
        return
    result, pages, pictures = made
    if as_json:
        from gtea.experiments.few_labels.few_labels_page import few_labels_json

        print_json({**few_labels_json(result), "files": [str(path) for path in (*pages, *pictures)]})
    else:
        _show(result, pages, pictures)


def _run(curves: LearningCurves) -> tuple[CurvesResult, list[Path], list[Path]] | None:
    from gtea.experiments.drawing import can_draw
    from gtea.experiments.few_labels.few_labels_figure import draw_few_labels
    from gtea.experiments.few_labels.few_labels_page import write_few_labels

    path = curves.out / "few-labels"
    # The options that decide about results.
    options = [
        f"--data {' '.join(subject.name for subject in curves.subjects)}",
        f"--sizes {' '.join(map(str, curves.sizes))}",
        f"--draws {curves.num_draws}",
    ]
    with run_lines() as listener:
        result = curves.run(listener, lambda found: write_few_labels(path, found, options))
    if result is None:
        return None
    pages = write_few_labels(path, result, options)
    return result, pages, draw_few_labels(path, result) if can_draw() else []


def _show(result: CurvesResult, pages: list[Path], pictures: list[Path]) -> None:
    from gtea.experiments.drawing import MATPLOTLIB_MISSING, can_draw
    from gtea.experiments.few_labels.few_labels_page import curve_lines, verdict_lines

    say(*curve_lines(result, "average_precision"), "", *verdict_lines(result))
    say("", f"in {pages[0].parent}: {', '.join(path.name for path in (*pages, *pictures))}")
    if not can_draw():
        say(MATPLOTLIB_MISSING)
