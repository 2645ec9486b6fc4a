"""gtea commands for a shell script, run for real in forks of one process that has loaded everything already.

The script calls ``client``, which sends its words, its folder and its streams to the server and returns the command's
exit code. It can be told to kill the script, at once after a command or in the middle of it.

    GTEA_KILL=3:after    kill the calling script when its third command has ended, before it learns of it
    GTEA_KILL=3:during   kill the command shortly after it began, and the script
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

CLIENT = """\
#!{python} -IS
import array, json, os, signal, socket, sys, time
count = {counter!r}
with open(count, "a") as stream:
    stream.write(json.dumps(sys.argv[1:]) + chr(10))
with open(count) as stream:
    number = sum(1 for _ in stream)
wanted, _, when = os.environ.get("GTEA_KILL", "0:").partition(":")
with socket.socket(socket.AF_UNIX) as home:
    home.connect({address!r})
    words = json.dumps([sys.argv[1:], os.getcwd()]).encode()
    home.sendmsg([words], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [1, 2]))])
    child = int(home.recv(20))
    if number == int(wanted) and when == "during":
        time.sleep(0.15)
        os.kill(child, signal.SIGKILL)
        os.kill(os.getppid(), signal.SIGKILL)
    code = int(home.recv(20) or b"99")
if number == int(wanted):
    os.kill(os.getppid(), signal.SIGKILL)
sys.exit(code)
"""


@contextlib.contextmanager
def serving_commands(folder: Path) -> Iterator[Path]:
    """A program that runs gtea commands while the body does."""
    address, counter, client = folder / "home", folder / "commands", folder / "gtea"
    counter.touch()
    client.write_text(CLIENT.format(python=sys.executable, counter=str(counter), address=str(address)))
    client.chmod(0o755)
    # A process of its own: the tests' process has threads, which a fork would not have.
    command = [sys.executable, "-m", "tests.e2e.forked_commands", str(address)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == "ready\n"
            yield client
        finally:
            server.kill()


def serve(address: str) -> None:
    """Run commands in forks. Nothing that keeps threads may run before."""
    import torch

    import gtea.cli.main

    assert torch.__version__
    with socket.socket(socket.AF_UNIX) as home:
        home.bind(address)
        home.listen()
        print("ready", flush=True)
        while True:
            _serve(home.accept()[0], gtea.cli.main.main)


def _serve(caller: socket.socket, main: object) -> None:
    words, handles, _, _ = socket.recv_fds(caller, 1 << 16, 2)
    child = os.fork()
    if child == 0:
        code = 1
        try:
            for number, handle in enumerate(handles, start=1):
                os.dup2(handle, number)
            sys.stdout, sys.stderr = os.fdopen(1, "w"), os.fdopen(2, "w")
            arguments, place = json.loads(words)
            os.chdir(place)
            try:
                main(arguments)  # type: ignore[operator]
            except SystemExit as stop:
                code = stop.code if isinstance(stop.code, int) else 1
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)
    for handle in handles:
        os.close(handle)
    with contextlib.suppress(OSError):
        caller.sendall(str(child).encode())
    status = os.waitpid(child, 0)[1]
    with contextlib.suppress(OSError):
        caller.sendall(str(os.waitstatus_to_exitcode(status) % 256).encode())
    caller.close()


if __name__ == "__main__":
    serve(sys.argv[1])
