"""Network namespaces that stand for machines: each with an address of its own, behind a switch, and no way out.

    machine 0, 1, ...   eth0 10.77.0.1, .2, ...; nothing else is routed
    the switch          a bridge, in a namespace of its own: this machine's own network is not touched

A link can be cut, and a machine can lose its power: all processes in its namespace are killed, each by its number.
A process of its own, ``python namespaces.py PREFIX``, cleans up if the tests themselves are killed.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Self

_RUN = Path("/run/netns")
_SECONDS_TO_DIE = 20.0


def unavailable() -> str | None:
    """Why there can be no namespaces here; None if there can."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    if shutil.which("ip") is None:
        return "network namespaces need ip (iproute2)"
    name = f"gteatest{os.getpid()}-try"
    made = subprocess.run(["ip", "netns", "add", name], capture_output=True, text=True, check=False)
    if made.returncode != 0:
        return f"no network namespaces here: {made.stderr.strip()}"
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)
    return None


def ip(*words: object) -> str:
    """What ``ip`` prints."""
    return subprocess.run(["ip", *map(str, words)], capture_output=True, text=True, check=True).stdout


class Machines:
    """Namespaces of this test run. Leaving the context kills what runs in them, and deletes them."""

    def __init__(self, count: int) -> None:
        self.count = count
        self._prefix = f"gteatest{os.getpid()}-"

    def __enter__(self) -> Self:
        self._guard = subprocess.Popen(
            [sys.executable, __file__, self._prefix], stdin=subprocess.PIPE, start_new_session=True
        )
        try:
            switch = self._make("switch")
            ip("-n", switch, "link", "add", "bridge0", "type", "bridge")
            ip("-n", switch, "link", "set", "bridge0", "up")
            for number in range(self.count):
                own = self._make(number)
                ip("-n", switch, "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", own)
                ip("-n", switch, "link", "set", f"port{number}", "master", "bridge0", "up")
                ip("-n", own, "address", "add", f"{self.address(number)}/24", "dev", "eth0")
                ip("-n", own, "link", "set", "eth0", "up")
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _remove_all(self._prefix)
        assert self._guard.stdin is not None
        self._guard.stdin.close()
        self._guard.wait()

    def address(self, number: int) -> str:
        """The address of a machine."""
        return f"10.77.0.{number + 1}"

    def start(
        self, number: int, words: Sequence[object], environment: Mapping[str, str], log: IO[bytes]
    ) -> subprocess.Popen[bytes]:
        """Start a process on a machine."""
        command = ["ip", "netns", "exec", f"{self._prefix}{number}", *map(str, words)]
        return subprocess.Popen(command, env=dict(environment), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def processes(self, number: int) -> list[int]:
        """The processes on a machine."""
        return _processes(f"{self._prefix}{number}")

    def lose_power(self, number: int) -> None:
        """Kill all processes on a machine by SIGKILL."""
        _kill_all(f"{self._prefix}{number}")

    def cut(self, number: int) -> None:
        """Cut the link of a machine: its processes go on, and nobody hears of them."""
        ip("-n", f"{self._prefix}switch", "link", "set", f"port{number}", "down")

    def mend(self, number: int) -> None:
        """Undo ``cut``."""
        ip("-n", f"{self._prefix}switch", "link", "set", f"port{number}", "up")

    def open_drain(self, number: int) -> None:
        """Give a machine a way out that leads nowhere: what takes it is counted and lost."""
        own, switch = f"{self._prefix}{number}", f"{self._prefix}switch"
        ip("-n", own, "link", "add", "drain", "type", "veth", "peer", "name", f"drain{number}", "netns", switch)
        # Else the kernel itself greets routers, or asks who has the address of the way out.
        quiet = "echo 1 > /proc/sys/net/ipv6/conf/drain/disable_ipv6"
        subprocess.run(["ip", "netns", "exec", own, "sh", "-c", quiet], check=True)
        ip("-n", own, "address", "add", "192.0.2.2/24", "dev", "drain")
        ip("-n", switch, "link", "set", f"drain{number}", "up")
        ip("-n", own, "link", "set", "drain", "up")
        ip("-n", own, "neighbour", "add", "192.0.2.1", "lladdr", "02:00:00:00:00:01", "dev", "drain")
        ip("-n", own, "route", "add", "default", "via", "192.0.2.1", "dev", "drain")

    def drained(self, number: int) -> int:
        """How many packets have taken the way out."""
        (link,) = json.loads(ip("-n", f"{self._prefix}{number}", "-stats", "-json", "link", "show", "dev", "drain"))
        return int(link["stats64"]["tx"]["packets"])

    def _make(self, name: object) -> str:
        own = f"{self._prefix}{name}"
        ip("netns", "add", own)
        ip("-n", own, "link", "set", "lo", "up")
        return own


def _processes(name: str) -> list[int]:
    """The processes in a namespace: they have its number."""
    try:
        wanted = (_RUN / name).stat().st_ino
    except OSError:
        return []
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):  # it has ended
                if (entry / "ns/net").stat().st_ino == wanted:
                    found.append(int(entry.name))
    return found


def _kill_all(name: str) -> None:
    deadline = time.monotonic() + _SECONDS_TO_DIE
    while (left := _processes(name)) and time.monotonic() < deadline:
        for process in left:
            with contextlib.suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)
        time.sleep(0.02)


def _remove(name: str) -> None:
    _kill_all(name)
    subprocess.run(["ip", "netns", "delete", name], capture_output=True, check=False)


def _remove_all(prefix: str) -> None:
    for entry in _RUN.iterdir() if _RUN.exists() else ():
        if entry.name.startswith(prefix):
            _remove(entry.name)


if __name__ == "__main__":
    sys.stdin.read()  # ends when the process ends that started us
    _remove_all(sys.argv[1])
