"""Downloads from a server on this machine that cuts, lies, moves and refuses."""

from __future__ import annotations

import fcntl
import hashlib
import os
import resource
import shutil
import socket
import ssl
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.web import Home, serving

from gtea.datasets.fetch import Fetched, Wanted, fetch
from gtea.errors import DataError, StoreError, UsageError

CONTENT = bytes(range(256)) * 4096
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(autouse=True)
def content(home: Home) -> None:
    home.content = CONTENT


@pytest.fixture
def target(tmp_path: Path) -> Path:
    return tmp_path / "new" / "folder" / "file.csv"


def get(home: Home, target: Path, *, retries: int = 1, **known: Any) -> Fetched:
    seen: list[float | None] = []
    wanted = Wanted(home.url, by_hand="into GTEA_DATA/x/file.csv", **known)
    got = fetch(wanted, target, progress=lambda stage, done: seen.append(done), retries=retries, pause=0.01)
    assert not seen or seen[-1] == (1.0 if home.length else None)
    return got


def left(target: Path) -> list[str]:
    return sorted(path.name for path in target.parent.iterdir())


def test_a_file_comes_whole_and_its_digest_is_recorded(home: Home, target: Path) -> None:
    got = get(home, target)
    assert target.read_bytes() == CONTENT
    assert (got.path, got.size, got.sha256) == (target, len(CONTENT), DIGEST)
    assert (got.checked_by, got.downloaded) == ("first", True)
    assert left(target) == ["file.csv", "file.csv.sha256"]
    subprocess.run(["sha256sum", "--check", "--quiet", "file.csv.sha256"], cwd=target.parent, check=True)


def test_what_is_there_is_checked_and_not_fetched_again(home: Home, target: Path) -> None:
    get(home, target)
    again = get(home, target)
    assert (again.checked_by, again.downloaded, len(home.asked)) == ("recorded", False, 1)
    target.write_bytes(CONTENT[:-1])
    with pytest.raises(DataError, match=r"must have the sha256 .* as at an earlier fetch"):
        get(home, target)


def test_a_cut_connection_is_taken_up_where_it_stopped(home: Home, target: Path) -> None:
    home.cuts = [300_000, 300_000]
    assert get(home, target).sha256 == DIGEST
    assert home.asked == [None, "bytes=300000-", "bytes=600000-"]


def test_a_later_run_goes_on_with_what_has_come(home: Home, target: Path) -> None:
    home.cuts = [300_000, 0, 0]
    with pytest.raises(DataError, match=r"The first 300,000 bytes are kept; the next fetch resumes"):
        get(home, target)
    assert left(target) == ["file.csv.part", "file.csv.part.json"]
    home.asked.clear()
    assert get(home, target).sha256 == DIGEST
    assert home.asked == ["bytes=300000-"]


def test_a_whole_part_is_not_asked_for_again(home: Home, target: Path) -> None:
    """As after a kill between the last byte and the rename."""
    home.cuts = [len(CONTENT) - 1, 0, 0]
    with pytest.raises(DataError, match="bytes are kept"):
        get(home, target)
    with target.with_name("file.csv.part").open("ab") as part:
        part.write(CONTENT[-1:])
    home.asked.clear()
    assert get(home, target).sha256 == DIGEST
    assert home.asked == []


def test_a_server_without_ranges_is_asked_from_the_start(home: Home, target: Path) -> None:
    home.ranges, home.cuts = False, [300_000]
    assert get(home, target).sha256 == DIGEST
    assert home.asked == [None, "bytes=300000-"]


def test_a_server_without_marks_is_asked_from_the_start(home: Home, target: Path) -> None:
    home.etag, home.cuts = None, [300_000]
    assert get(home, target).sha256 == DIGEST
    assert home.asked == [None, None]


@pytest.mark.parametrize("conditions", [True, False])
@pytest.mark.parametrize("size", [len(CONTENT), 100_000])
def test_two_versions_of_a_file_are_never_mixed(home: Home, target: Path, conditions: bool, size: int) -> None:
    home.cuts = [300_000, 0, 0]
    with pytest.raises(DataError, match="bytes are kept"):
        get(home, target)
    home.content, home.etag, home.conditions = CONTENT[::-1][:size], '"two"', conditions
    assert get(home, target).sha256 == hashlib.sha256(home.content).hexdigest()


def test_another_address_starts_anew(home: Home, target: Path) -> None:
    home.cuts = [300_000, 0, 0]
    with pytest.raises(DataError, match="bytes are kept"):
        get(home, target)
    home.asked.clear()
    fetch(Wanted(home.url + "?mirror"), target, progress=lambda stage, done: None)
    assert home.asked == [None]
    assert target.read_bytes() == CONTENT


def test_without_a_length_the_end_is_the_end(home: Home, target: Path) -> None:
    home.length = False
    assert get(home, target).sha256 == DIGEST


def test_a_published_digest_is_held_against(home: Home, target: Path) -> None:
    assert get(home, target, sha256=DIGEST).checked_by == "published"
    target.unlink()
    with pytest.raises(DataError, match=f"must have the sha256 {'0' * 64}, as published .got {DIGEST}"):
        get(home, target, sha256="0" * 64)
    assert left(target) == ["file.csv.refused", "file.csv.sha256"]
    assert get(home, target).checked_by == "recorded"


def test_another_file_than_at_the_first_fetch_is_refused(home: Home, target: Path) -> None:
    get(home, target)
    target.unlink()
    home.content = CONTENT + b"more"
    with pytest.raises(DataError, match=r"saved as .* delete file.csv.sha256 and fetch again"):
        get(home, target)
    assert not target.exists()
    assert target.with_name("file.csv.refused").read_bytes() == home.content
    target.with_name("file.csv.sha256").unlink()
    assert get(home, target).checked_by == "first"


def test_another_size_than_published_is_refused_before_it_comes(home: Home, target: Path) -> None:
    with pytest.raises(DataError, match=r"must be 7 bytes \(got 1,048,576\)"):
        get(home, target, size=7)
    assert not target.exists()


def test_a_file_that_is_gone_is_not_asked_for_twice(home: Home, target: Path) -> None:
    home.answers = [404]
    with pytest.raises(DataError, match=r"the server returned 404 Not Found.*put it into GTEA_DATA/x/file.csv"):
        get(home, target)
    assert len(home.asked) == 1


def test_a_login_page_or_nothing_is_not_recorded_as_the_file(home: Home, target: Path) -> None:
    home.kind = "text/html; charset=utf-8"
    with pytest.raises(DataError, match=r"must be a data file \(got a web page\)"):
        get(home, target)
    home.kind, home.content = "text/csv", b""
    with pytest.raises(DataError, match="the server sent an empty response"):
        get(home, target)
    home.content = CONTENT
    assert get(home, target).checked_by == "first"


def test_killed_before_the_rename_it_goes_on(home: Home, target: Path) -> None:
    script = """
import os, sys
from pathlib import Path
from gtea.datasets.fetch import Wanted, fetch
sys.addaudithook(lambda event, words: event == "os.rename" and str(words[0]).endswith(".part") and os._exit(9))
fetch(Wanted(sys.argv[1]), Path(sys.argv[2]), progress=lambda stage, done: None)
"""
    killed = subprocess.run([sys.executable, "-c", script, home.url, str(target)], check=False)
    assert killed.returncode == 9
    assert not target.exists()
    home.asked.clear()
    assert get(home, target).sha256 == DIGEST
    assert home.asked == []
    assert left(target) == ["file.csv", "file.csv.sha256"]


def test_a_server_in_trouble_is_asked_again(home: Home, target: Path) -> None:
    home.answers = [503, 429]
    assert get(home, target, retries=2).sha256 == DIGEST
    home.answers = [500, 500]
    with pytest.raises(DataError, match="the server returned 500"):
        get(home, target.with_name("other.csv"))


def test_no_connection_names_the_way_round(tmp_path: Path) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/file.csv"
        with pytest.raises(DataError, match=r"Connection refused.*put it into GTEA_DATA/x/file.csv"):
            fetch(
                Wanted(url, by_hand="into GTEA_DATA/x/file.csv"), tmp_path / "file.csv",
                progress=lambda stage, done: None, retries=1, pause=0.01,
            )  # fmt: skip


def test_a_full_disk_is_said_and_what_came_is_kept(home: Home, target: Path) -> None:
    """A limit on the size of files stands in for the end of the disk: the same failure of the same call."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, hard))
    try:
        with pytest.raises(StoreError, match=r"file\.csv\.part: File too large"):
            get(home, target)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert len(home.asked) == 1
    assert not target.exists()
    assert get(home, target).sha256 == DIGEST
    assert home.asked[1] == "bytes=500000-"


def test_redirects_are_followed_on_the_web_only(home: Home, target: Path) -> None:
    home.answers, home.location = [302], home.url
    assert get(home, target).sha256 == DIGEST
    home.answers, home.location = [302], "ftp://127.0.0.1/file.csv"
    with pytest.raises(DataError, match=r"redirects to ftp://127.0.0.1/file.csv, which is not safe"):
        get(home, target.with_name("other.csv"))


@pytest.mark.skipif(not shutil.which("openssl"), reason="openssl makes the certificate of the test's server")
def test_https_must_be_certified_and_never_leads_to_http(
    home: Home, target: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    names = ["-subj", "/CN=test", "-addext", "subjectAltName=IP:127.0.0.1"]
    made = ["openssl", "req", "-x509", *curve, *names, "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serving(context) as safe:
        wanted = Wanted(safe.url.replace("http:", "https:"))

        def get_safely() -> Fetched:
            return fetch(wanted, target, progress=lambda stage, done: None, retries=0)

        with pytest.raises(DataError, match="certificate verify failed"):
            get_safely()
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        safe.answers, safe.location = [302], home.url
        with pytest.raises(DataError, match=r"redirects to http://127.0.0.1:\d+/file.csv, which is not safe"):
            get_safely()
        assert home.asked == []
        safe.content = CONTENT
        assert get_safely().sha256 == DIGEST


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://example.org/x", "wikipedia.csv"])
def test_other_addresses_are_refused(tmp_path: Path, url: str) -> None:
    with pytest.raises(UsageError, match="must start with https:// or http://"):
        fetch(Wanted(url), tmp_path / "x", progress=lambda stage, done: None)


def test_a_digest_must_look_like_one(home: Home, target: Path) -> None:
    with pytest.raises(UsageError, match="64 hexadecimal digits"):
        get(home, target, sha256="abc")
    target.parent.mkdir(parents=True)
    target.with_name("file.csv.sha256").write_text("nonsense\n")
    with pytest.raises(DataError, match="must start with a sha256"):
        get(home, target)


def test_two_processes_don_t_write_to_one_file(home: Home, target: Path) -> None:
    target.parent.mkdir(parents=True)
    other = os.open(target.parent, os.O_RDONLY)
    try:
        fcntl.flock(other, fcntl.LOCK_EX)
        with pytest.raises(StoreError, match="another gtea process is fetching it"):
            get(home, target)
    finally:
        os.close(other)
