"""Pages as tasks, a handful each: drawing is Python, of which a process runs one thread at a time.

A first task or file says what is on the pages. A page goes into the folder of the report; the file of its task has its
row of the index.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from gtea.cluster.joined_tasks import begin_job, require_node_of, run_joined
from gtea.cluster.local_pool import LocalPool
from gtea.cluster.part_files import Arrays, write_part_file
from gtea.cluster.tasks import FileTask, made_by, name_of, part_path
from gtea.report.case_writer import CaseRequest, open_writer
from gtea.report.index_row import IndexRow
from gtea.runtime.json_shape import Every, Natural
from gtea.runtime.parallel import one_thread
from gtea.runtime.progress import Progress

PLAN = "plan"
_MOST_PAGES, _FEWEST_TASKS = 8, 16
"""So many pages are one task, but fewer if there would be few tasks: a worker opens model and store for each."""


def page_tasks(count: int, after: tuple[str, ...] = ()) -> list[FileTask]:
    """The tasks for so many pages.

    Args:
        after: The task that says what is on them, if it is one.
    """
    size = max(1, min(_MOST_PAGES, count // _FEWEST_TASKS))
    return [
        FileTask(f"pages.{number}", name_of(_write), {"first": first, "last": min(first + size, count)}, after)
        for number, first in enumerate(range(0, count, size), start=1)
    ]


def plan_facts(request: CaseRequest, chosen: Sequence[tuple[int, int]]) -> dict[str, Any]:
    """What the tasks read."""
    return {"request": request.to_json(), "chosen": [list(pair) for pair in chosen]}


def read_page_plan(folder: Path) -> tuple[CaseRequest, list[tuple[int, int]]]:
    """The request, and the nodes that get a page with their ranks."""
    plan = made_by(folder, PLAN)
    chosen = plan.fact("chosen", [[Natural]])
    return CaseRequest.from_json(plan.fact("request", Every(object))), [(node, rank) for node, rank in chosen]


def read_rows(folder: Path, tasks: Sequence[FileTask]) -> list[IndexRow]:
    """The rows of the index, in order."""
    return [IndexRow(**row) for task in tasks for row in made_by(folder, task.name).fact("rows", [Every(object)])]


def write_in_processes(
    request: CaseRequest, chosen: Sequence[tuple[int, int]], num_processes: int, progress: Progress
) -> list[IndexRow]:
    """Write pages in processes of this machine, and return their rows of the index."""
    tasks = page_tasks(len(chosen))
    with tempfile.TemporaryDirectory(prefix="gtea-") as temporary:
        folder = Path(temporary)
        begin_job("report", tasks, folder, Path(request.out), resume=True)
        write_part_file(part_path(folder, PLAN), {}, plan_facts(request, chosen))
        run_joined(
            LocalPool(min(num_processes, len(tasks))), tasks, folder, lambda _, done: progress("writing pages", done)
        )
        return read_rows(folder, tasks)


def _write(folder: Path, arguments: dict[str, Any]) -> tuple[Arrays, Mapping[str, Any]]:
    """The task: write some pages and what belongs to them."""
    require_node_of(folder)
    request, chosen = read_page_plan(folder)
    first, last = arguments["first"], arguments["last"]
    with one_thread():
        writer = open_writer(request)
        rows = [writer.write(*chosen[place], place + 1).to_json() for place in range(first, last)]
    return {}, {"rows": rows}
