"""Real servers, in forks of one process that has loaded and compiled everything already: starting takes no time.

The process reads lines from stdin: the words of a command, and the file for what it prints. It answers each with the
id of the process that runs the command. Whoever asked ends that process by its id.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

Start = Callable[[list[str], Path], int]


@contextlib.contextmanager
def forking_servers(model: Path, store: Path) -> Iterator[Start]:
    """Starts commands while the body runs. Those that are left at the end are killed.

    Args:
        model, store: What to compile everything with.
    """
    command = [sys.executable, "-m", "tests.service.forked_servers", str(model), str(store)]
    pipe = subprocess.PIPE
    started: list[int] = []
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as parent:
        assert parent.stdin is not None
        assert parent.stdout is not None
        assert parent.stdout.readline() == "ready\n"

        def start(words: list[str], printed: Path) -> int:
            assert parent.stdin is not None
            assert parent.stdout is not None
            parent.stdin.write(json.dumps([words, str(printed)]) + "\n")
            parent.stdin.flush()
            started.append(int(parent.stdout.readline()))
            return started[-1]

        yield start
        for process in started:
            end(process)


def end(process: int, signal: int = 9) -> None:
    """Send a signal to a server. It may have ended."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal)


def main() -> None:
    """Load, compile, and fork for each line. Nothing here leaves a thread behind."""
    import gtea.cli.main
    from gtea.live.live_scorer import LiveScorer
    from gtea.service import run_service
    from gtea.service.warm_up import warm_up
    from gtea.store.store import Store

    assert run_service
    model, store = sys.argv[1:]
    opened = Store.open(store)
    warm_up(LiveScorer(model, opened).model, opened)
    print("ready", flush=True)
    for line in sys.stdin:
        words, printed = json.loads(line)
        child = os.fork()
        if child:
            print(child, flush=True)
            continue
        handle = os.open(printed, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, place in ((0, nothing), (1, handle), (2, handle)):
            os.dup2(place, number)
        code = 1
        try:
            gtea.cli.main.main(words)
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
        finally:
            os._exit(code)


if __name__ == "__main__":
    main()
