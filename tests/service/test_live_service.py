"""From start to end: before it is ready, when it can't be, when a second one comes, when it is asked to stop."""

from __future__ import annotations

import http.client
import os
import signal
from collections.abc import Callable
from pathlib import Path

from tests.service.conftest import Made, Served, until
from tests.service.forked_servers import Start, end

ROW = ("b", "d", 150, 1.0, "card")


def gone(process: int) -> bool:
    """Whether a process has ended; its parent may not have asked for its exit code yet."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def test_before_it_is_ready_it_says_so(made: Made, serve: Callable[..., Served], tmp_path: Path) -> None:
    server = serve(made.copied(tmp_path), ready=False)
    assert server.get("/healthz").status == 200
    answers = [server.get("/readyz"), server.get("/alerts"), server.post([ROW])]
    # It may be ready already.
    assert {answer.status for answer in answers} <= {200, 503}
    assert all("retry-after" in answer.headers for answer in answers if answer.status == 503)
    until(server.is_ready, server.printed)
    end(server.process)


def test_one_log_has_one_writer(made: Made, serve: Callable[..., Served], start: Start, tmp_path: Path) -> None:
    here = made.copied(tmp_path / "here")
    server = serve(here)
    second = start(["serve", *here.words, "--port", "0"], tmp_path / "second")
    until(lambda: gone(second), tmp_path / "second")
    assert "another gtea serve writes to this log" in (tmp_path / "second").read_text()
    assert server.post([ROW]).status == 200
    end(server.process)


def test_a_signal_ends_it_after_what_was_begun(made: Made, serve: Callable[..., Served], tmp_path: Path) -> None:
    server = serve(made.copied(tmp_path))
    stream = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    stream.request("GET", "/stream")
    opened = stream.getresponse()
    assert server.post([ROW]).status == 200
    os.kill(server.process, signal.SIGTERM)
    until(lambda: gone(server.process), server.printed)
    opened.read()  # it has an end
    opened.close()
    stream.close()
    assert "Traceback" not in server.printed.read_text()
    assert "the log holds events up to 1" in server.printed.read_text()


def test_what_can_not_be_served_ends_with_its_reason(made: Made, start: Start, tmp_path: Path) -> None:
    process = start(["serve", made.words[0], str(tmp_path / "none"), "--port", "0"], tmp_path / "printed")
    until(lambda: gone(process), tmp_path / "printed")
    assert "gtea: " in (tmp_path / "printed").read_text()
    assert "none" in (tmp_path / "printed").read_text()
    assert "Traceback" not in (tmp_path / "printed").read_text()
