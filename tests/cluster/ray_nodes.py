"""A Ray cluster of machines that are network namespaces, started as docs/how-to/scale-out.md says."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster.namespaces import Machines

from gtea.cluster.ray_tasks import QUIET

ROOT = Path(__file__).parents[2]
_SECONDS_TO_START, _ATTEMPTS = 120.0, 3
"""A busy machine may need more than the 30 seconds that Ray gives a node to start."""
_NO_REPORTER = ["--dashboard-host", "192.0.2.1", "--dashboard-port", "8265"]
_NOTICED_SOON = {
    "RAY_health_check_initial_delay_ms": "1000", "RAY_health_check_period_ms": "500",
    "RAY_health_check_timeout_ms": "1000", "RAY_health_check_failure_threshold": "4",
}  # fmt: skip
"""So that a cut link is noticed after some seconds. Ray's own settings take about a minute."""


class RayNodes:
    """A head on machine 0 and a node on each of the others, with a processor each."""

    def __init__(self, machines: Machines) -> None:
        self.machines = machines
        self.address = f"{machines.address(0)}:6379"
        # Ray's sockets are there, and their paths must be short.
        self.folder = Path(tempfile.mkdtemp(prefix="gtea-", dir="/tmp"))
        token = self.folder / "token"
        token.touch(mode=0o600)
        token.write_text(secrets.token_hex(32))
        self.environment = {
            **os.environ, **QUIET, **_NOTICED_SOON, "RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN_PATH": str(token),
            "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "GTEA_CHECKPOINT_SECONDS": "0",
        }  # fmt: skip
        self._nodes: dict[int, subprocess.Popen[bytes]] = {}
        self._started = 0

    def __enter__(self) -> Self:
        try:
            self.require_all()
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number in self._nodes:
            self.lose(number)
        shutil.rmtree(self.folder, ignore_errors=True)

    def require_all(self) -> None:
        """Start the nodes that don't run, the head first, and wait until they do."""
        missing = [number for number in range(self.machines.count) if number not in self._nodes]
        for together in ([number for number in missing if number == 0], [number for number in missing if number > 0]):
            logs = {number: self._start(number) for number in together}
            for number, log in logs.items():
                self._wait(number, log)

    def lose(self, number: int) -> None:
        """Kill all that runs on a machine."""
        self.machines.lose_power(number)
        self._nodes[number].wait()

    def forget(self, number: int) -> None:
        """Say that a node is not to be relied on any more: ``require_all`` starts another."""
        if number in self._nodes:
            self.lose(number)
            del self._nodes[number]

    def at_work(self) -> list[int]:
        """The processes that run a task of gtea, on any machine."""
        found = []
        for number in range(self.machines.count):
            for process in self.machines.processes(number):
                try:
                    if Path(f"/proc/{process}/cmdline").read_bytes().startswith(b"ray::_run"):
                        found.append(process)
                except OSError:  # it has ended
                    continue
        return found

    def gtea(self, words: list[str], log: Path) -> subprocess.Popen[bytes]:
        """Start a command of gtea on the machine of the head."""
        with log.open("wb") as stream:
            return self.machines.start(0, [Path(sys.executable).with_name("gtea"), *words], self.environment, stream)

    def _start(self, number: int) -> Path:
        self._started += 1
        log = self.folder / f"{self._started}.log"
        head = ["--head", "--port", "6379", "--include-dashboard", "false", *_NO_REPORTER]
        where = head if number == 0 else ["--address", self.address]
        words = [
            Path(sys.executable).with_name("ray"), "start", "--block", *where,
            "--node-ip-address", self.machines.address(number), "--num-cpus", "1",
            "--object-store-memory", str(80 << 20), "--temp-dir", self.folder / str(self._started),
        ]  # fmt: skip
        with log.open("wb") as stream:
            self._nodes[number] = self.machines.start(number, words, self.environment, stream)
        return log

    def _wait(self, number: int, log: Path) -> None:
        """Wait until a node has started. One that has given up is started again."""
        deadline, attempts = time.monotonic() + _SECONDS_TO_START, 1
        while b"Ray runtime started" not in log.read_bytes():
            gave_up = self._nodes[number].poll() is not None
            if time.monotonic() > deadline or (gave_up and attempts == _ATTEMPTS):
                raise RuntimeError(f"node {number} did not start: {log.read_text()[-3000:]}")
            if gave_up:
                self.lose(number)
                log, attempts = self._start(number), attempts + 1
            time.sleep(0.05)
