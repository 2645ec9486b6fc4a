from __future__ import annotations

import base64
from pathlib import Path

import pytest

from gtea.errors import UsageError
from gtea.service.access import Access, is_loopback, read_token

TOKEN = "t" * 31 + ":"


def token_file(folder: Path, content: str = TOKEN + "\n", mode: int = 0o600) -> Path:
    path = folder / "token"
    path.write_text(content)
    path.chmod(mode)
    return path


def test_a_token_is_read_from_a_file_of_its_owner(tmp_path: Path) -> None:
    assert read_token(token_file(tmp_path)) == TOKEN


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        (TOKEN, 0o640, "must be readable by its owner only"),
        (TOKEN, 0o604, "must be readable by its owner only"),
        ("short", 0o600, "must hold one line of 32"),
        (f"{TOKEN}\n{TOKEN}", 0o600, "must hold one line of 32"),
        ("x" * 5_000, 0o600, "must hold one line of 32"),
    ],
)
def test_a_file_that_is_no_good_token(tmp_path: Path, content: str, mode: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_token(token_file(tmp_path, content, mode))


def test_a_token_that_is_not_there_or_a_link(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="must be a file that can be read"):
        read_token(tmp_path / "none")
    token_file(tmp_path)
    (tmp_path / "link").symlink_to(tmp_path / "token")
    with pytest.raises(UsageError, match="must be a file that can be read"):
        read_token(tmp_path / "link")


@pytest.mark.parametrize(
    ("authorization", "allowed"),
    [
        (f"Bearer {TOKEN}", True),
        (f"bearer {TOKEN}", True),
        ("Basic " + base64.b64encode(f"me:{TOKEN}".encode()).decode(), True),
        ("Basic " + base64.b64encode(TOKEN.encode()).decode(), False),
        (f"Bearer {TOKEN}x", False),
        (f"Bearer {TOKEN[:-1]}", False),
        (TOKEN, False),
        ("Bearer", False),
        ("Basic ???", False),
        (None, False),
    ],
)
def test_only_the_token_opens(authorization: str | None, allowed: bool) -> None:
    assert Access.of("0.0.0.0", (), TOKEN).is_allowed(authorization) is allowed


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("localhost:8642", True),
        ("127.0.0.1", True),
        ("[::1]:8642", True),
        ("Scores.Bank:443", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("", False),
        (None, False),
    ],
)
def test_only_names_of_the_service_are_answered(host: str | None, known: bool) -> None:
    assert Access.of("127.0.0.1", ("scores.bank",), None).knows_host(host) is known
    assert Access.of("fd00::1", (), None).knows_host("[fd00::1]:1")


@pytest.mark.parametrize(
    ("origin", "site", "own"),
    [
        (None, None, True),
        ("http://localhost:8642", "same-origin", True),
        ("http://localhost:8642", None, True),
        (None, "none", True),
        ("http://localhost:1", None, False),
        ("null", None, False),
        ("https://evil.example", "cross-site", False),
        (None, "cross-site", False),
        (None, "same-site", False),
        ("file://localhost:8642", None, False),
    ],
)
def test_pages_of_others_can_send_nothing(origin: str | None, site: str | None, own: bool) -> None:
    assert Access.of("127.0.0.1", (), None).is_own_page(origin, "localhost:8642", site) is own


def test_loopback() -> None:
    assert [is_loopback(host) for host in ("127.0.0.1", "localhost", "::1", "[::1]", "127.8.8.8")] == [True] * 5
    assert [is_loopback(host) for host in ("0.0.0.0", "::", "10.0.0.1", "scores.bank")] == [False] * 4
