"""Workers and machines that fail in the middle: the same bytes, on a Ray cluster of three and by a job array.

Also a program that says how much longer it takes, of all cases or of some (score, ingest, tune, link). A cut link is
only there: once the command had not ended 300 seconds after the cut, although Ray had given the machine up.
``python -m tests.cluster.test_killed_cluster FOLDER [CASE...]``.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest
from tests.cluster.kill_cases import KillCase, kill_cases
from tests.cluster.namespaces import Machines, unavailable
from tests.cluster.ray_nodes import ROOT, RayNodes

Strike = Callable[[], str | None]
"""What goes wrong: its name, or None if there was nothing to strike just now."""
_SECONDS = 300.0
_JOBS = 3


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, KillCase]:
    return kill_cases(tmp_path_factory.mktemp("cases"))


@pytest.fixture(scope="module")
def nodes() -> Iterator[RayNodes]:
    if (reason := unavailable()) is not None:
        if os.environ.get("GTEA_NAMESPACES") == "on":
            pytest.fail(reason)
        pytest.skip(reason)
    with Machines(_JOBS) as machines, RayNodes(machines) as cluster:
        yield cluster


@pytest.mark.slow
@pytest.mark.parametrize("name", ["score", "ingest", "tune"])
def test_a_worker_and_a_machine_of_three_are_killed(
    cases: Mapping[str, KillCase], nodes: RayNodes, tmp_path: Path, name: str
) -> None:
    case = cases[name]
    nodes.require_all()
    struck, _ = on_ray(case, nodes, tmp_path, [(case.first, kill_worker(nodes)), (case.second, kill_machine(nodes))])
    assert struck == ["worker", "machine"]
    assert case.left(case.out(tmp_path)) == case.expected


@pytest.mark.slow
@pytest.mark.parametrize("name", ["score", "ingest", "tune"])
def test_jobs_of_an_array_are_killed(cases: Mapping[str, KillCase], tmp_path: Path, name: str) -> None:
    case = cases[name]
    struck, _ = by_array(case, tmp_path, kills=2)
    assert len(struck) == 2
    assert case.left(case.out(tmp_path)) == case.expected


def kill_worker(nodes: RayNodes) -> Strike:
    def strike() -> str | None:
        for process in nodes.at_work():
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                continue
            return "worker"
        return None

    return strike


def kill_machine(nodes: RayNodes) -> Strike:
    def strike() -> str:
        nodes.forget(2)
        return "machine"

    return strike


def cut_link(nodes: RayNodes) -> Strike:
    def strike() -> str:
        nodes.machines.cut(2)
        return "link"

    return strike


def on_ray(
    case: KillCase, nodes: RayNodes, folder: Path, strikes: Sequence[tuple[str, Strike]]
) -> tuple[list[str], float]:
    """Run a command on the cluster, and strike whenever there is such a file. What was struck, and the seconds."""
    log, started, struck, waiting = folder / "log", time.monotonic(), list[str](), list(strikes)
    running = nodes.gtea(case.command(f"ray:{nodes.address}", folder), log)
    while running.poll() is None:
        if waiting and case.has_made(waiting[0][0], folder) and (name := waiting[0][1]()) is not None:
            struck.append(name)
            del waiting[0]
        if time.monotonic() - started > _SECONDS:
            running.kill()
        time.sleep(0.005)
    assert running.returncode == 0, log.read_text()[-3000:]
    return struck, time.monotonic() - started


def by_array(case: KillCase, folder: Path, *, kills: int) -> tuple[list[str], float]:
    """Run a command as three jobs, kill some of them in the middle, and start these again."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
    started, struck, patterns = time.monotonic(), list[str](), [case.first, case.second][:kills]

    def start(number: int) -> subprocess.Popen[bytes]:
        words = [str(Path(sys.executable).with_name("gtea")), *case.command(f"array:{number}/{_JOBS}", folder)]
        with (folder / f"log.{number}").open("ab") as log:
            return subprocess.Popen(words, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    jobs = {number: start(number) for number in range(_JOBS)}
    try:
        while any(job.poll() is None for job in jobs.values()) and time.monotonic() - started < _SECONDS:
            alive = [number for number, job in jobs.items() if job.poll() is None]
            if patterns and alive and case.has_made(patterns[0], folder):
                number = alive[-1 - len(struck) % len(alive)]
                jobs[number].kill()
                if jobs[number].wait() == -signal.SIGKILL:
                    struck.append(f"job {number}")
                    del patterns[0]
                    jobs[number] = start(number)
            time.sleep(0.005)
    finally:
        for job in jobs.values():
            job.kill()
    said = "\n".join((folder / f"log.{number}").read_text()[-1000:] for number in jobs)
    assert [job.wait() for job in jobs.values()] == [0] * _JOBS, said
    return struck, time.monotonic() - started


def main() -> None:
    """Each command undisturbed and disturbed: the seconds of both, in JSON."""
    folder, names = Path(sys.argv[1]), sys.argv[2:]
    made, found = kill_cases(folder), dict[str, dict[str, float]]()
    cases = {name: case for name, case in made.items() if name in names or not names}

    def note(case: KillCase, what: str, run: Callable[[Path], tuple[list[str], float]]) -> None:
        place = folder / f"{case.name}-{what}".replace(" ", "-")
        place.mkdir()
        struck, seconds = run(place)
        assert case.left(case.out(place)) == case.expected
        found.setdefault(case.name, {})[f"{what} {'+'.join(struck)}".strip()] = round(seconds, 1)
        print(case.name, what, struck, round(seconds, 1), file=sys.stderr, flush=True)

    with Machines(_JOBS) as machines, RayNodes(machines) as nodes:
        for case in cases.values():
            both = [(case.first, kill_worker(nodes)), (case.second, kill_machine(nodes))]
            note(case, "ray", lambda place, case=case: on_ray(case, nodes, place, []))  # type: ignore[misc]
            note(case, "ray killed", lambda place, case=case, both=both: on_ray(case, nodes, place, both))  # type: ignore[misc]
            nodes.require_all()
        if "link" in names or not names:
            link = [(made["score"].first, cut_link(nodes))]
            note(made["score"], "ray cut", lambda place: on_ray(made["score"], nodes, place, link))
    for case in cases.values():
        note(case, "array", lambda place, case=case: by_array(case, place, kills=0))  # type: ignore[misc]
        note(case, "array killed", lambda place, case=case: by_array(case, place, kills=2))  # type: ignore[misc]
    print(json.dumps(found))


if __name__ == "__main__":
    main()
