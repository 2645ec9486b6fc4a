"""A server that speaks S3 over HTTP: moto, in an environment of its own (``make .s3/.installed``).

It stands for a real one where protocol, objects, buckets and errors are concerned. It checks no signatures.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

BUCKET = "bucket"
KEY, SECRET = "AKIDEXAMPLE", "wJalrXUtnFEMI-secret"
_ROOT = Path(__file__).parents[1]


def server_program() -> str | None:
    """The program of the server: named by ``GTEA_S3_SERVER``, made by ``make``, or on the path."""
    own = _ROOT / ".s3" / "bin" / "moto_server"
    named = os.environ.get("GTEA_S3_SERVER", "on")
    return named if named != "on" else (str(own) if own.exists() else shutil.which("moto_server"))


@contextmanager
def s3_server() -> Iterator[dict[str, str]]:
    """The environment with which a bucket on a running server is reached."""
    program = server_program()
    assert program is not None, "the caller has looked"
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    server = subprocess.Popen(
        [program, "-H", "127.0.0.1", "-p", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    try:
        _make_bucket(address, server)
        yield {
            "AWS_ENDPOINT_URL": address, "AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": SECRET,
            "AWS_REGION": "us-east-1", "AWS_EC2_METADATA_DISABLED": "true",
        }  # fmt: skip
    finally:
        server.kill()
        server.wait()


def _make_bucket(address: str, server: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while True:
        try:
            with urllib.request.urlopen(urllib.request.Request(f"{address}/{BUCKET}", method="PUT"), timeout=10):
                return
        except OSError:
            if server.poll() is not None or time.monotonic() > deadline:
                raise
            time.sleep(0.1)
