"""A web server on this machine that can be told to misbehave."""

from __future__ import annotations

import contextlib
import ssl
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Home(ThreadingHTTPServer):
    """Serves one file, whatever the path."""

    daemon_threads = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.content = b""
        self.etag: str | None = '"one"'
        self.ranges = True
        self.conditions = True
        """Whether If-Range is heeded; a server that doesn't sends the rest of whatever it has now."""
        self.length = True
        self.kind = "text/csv"
        self.cuts: list[int] = []
        """After how many bytes the next connections are cut."""
        self.answers: list[int] = []
        """Status codes of the next answers, before it serves again."""
        self.location = ""
        self.asked: list[str | None] = []
        """The Range of each request."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/file.csv"


class _Handler(BaseHTTPRequestHandler):
    server: Home

    def do_GET(self) -> None:
        home, wanted = self.server, self.headers["Range"]
        home.asked.append(wanted)
        if home.answers:
            self.send_response(home.answers.pop(0))
            if home.location:
                self.send_header("Location", home.location)
            self.end_headers()
            return
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted and home.ranges else 0
        if home.conditions and self.headers["If-Range"] != home.etag:
            start = 0
        if start > len(home.content):
            self.send_response(416)
            self.end_headers()
            return
        self.send_response(206 if start else 200)
        if start:
            self.send_header("Content-Range", f"bytes {start}-{len(home.content) - 1}/{len(home.content)}")
        if home.etag:
            self.send_header("ETag", home.etag)
        if home.length:
            self.send_header("Content-Length", str(len(home.content) - start))
        self.send_header("Content-Type", home.kind)
        self.end_headers()
        stop = start + home.cuts.pop(0) if home.cuts else len(home.content)
        self.wfile.write(home.content[start:stop])

    def log_message(self, format: str, *args: object) -> None:
        pass


@contextlib.contextmanager
def serving(secret: ssl.SSLContext | None = None) -> Iterator[Home]:
    """A server that runs while the body does; with a context, under TLS."""
    with Home() as server:
        if secret:
            server.socket = secret.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
