"""Where it listens, and what it insists on before it does."""

from __future__ import annotations

import http.client
import shutil
import socket
import ssl
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.service.conftest import Made, Served
from tests.service.forked_servers import end

Gtea = Callable[..., Any]


def test_other_addresses_need_a_token(gtea: Gtea, made: Made) -> None:
    for host in ("0.0.0.0", "::", "10.1.2.3"):
        outcome = gtea("serve", *made.words, "--host", host)
        assert outcome.code == 2
        assert f"--host {host}: can be reached from other machines, so a token must be asked for" in outcome.err


def test_it_says_who_can_reach_it(made: Made, serve: Callable[..., Served], tmp_path: Path) -> None:
    (tmp_path / "token").write_text("x" * 40)
    (tmp_path / "token").chmod(0o600)
    server = serve(made.copied(tmp_path), "--host", "0.0.0.0", "--token-file", str(tmp_path / "token"))
    printed = server.printed.read_text()
    assert "every machine that reaches 0.0.0.0 and has the token can read scores and send events" in printed
    assert "warning: without TLS" in printed
    assert "x" * 40 not in printed
    assert server.get("/alerts").status == 401
    end(server.process)


def test_a_place_that_is_taken(gtea: Gtea, made: Made) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        outcome = gtea("serve", *made.words, "--port", taken.getsockname()[1])
    assert outcome.code == 2
    assert "can't listen there (Address already in use)" in outcome.err


def test_tls_needs_both_files(gtea: Gtea, made: Made, tmp_path: Path) -> None:
    outcome = gtea("serve", *made.words, "--tls-cert", tmp_path / "cert")
    assert "--tls-cert, --tls-key: go together" in outcome.err
    outcome = gtea("serve", *made.words, "--tls-cert", tmp_path / "cert", "--tls-key", tmp_path / "key")
    assert "must be a file in PEM format" in outcome.err


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl")
def test_tls(made: Made, serve: Callable[..., Served], tmp_path: Path) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    words += ["-keyout", str(key), "-out", str(cert), "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*words, "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"], check=True, capture_output=True)
    server = serve(made.copied(tmp_path / "here"), "--tls-cert", str(cert), "--tls-key", str(key))
    assert "listening on https://" in server.printed.read_text()
    trusted = ssl.create_default_context(cafile=str(cert))
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=30, context=trusted)
    connection.request("GET", "/alerts")
    assert connection.getresponse().status == 200
    connection.close()
    end(server.process)
