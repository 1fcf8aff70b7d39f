"""A local web server that counts requests, and misbehaves in ways that tests select."""

import contextlib
import hashlib
import re
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

CHECKSUMS = "checksums.txt"


@dataclass(frozen=True)
class Request:
    """One request: the file, the first and one past the last requested byte, and the bytes of the response."""

    name: str
    begin: int | None
    end: int | None
    sent: int


@dataclass
class Server:
    """The server's state.

    Attributes:
      url: of the directory.
      directory: what is served.
      requests: answered so far.
      has_ranges: whether byte ranges are supported.
      failures: number of next requests that fail, with `failing_status`.
      failing_status: of these; 0 closes the connection.
      cut: number of next responses that end early.
      seconds: duration of each response.
      token: what `Authorization` must be; empty: anything.
      before: called with the name of a file before each response.
      distort: changes the headers and the content of a response.
    """

    url: str
    directory: Path
    requests: list[Request] = field(default_factory=list)
    has_ranges: bool = True
    failures: int = 0
    failing_status: int = HTTPStatus.SERVICE_UNAVAILABLE
    cut: int = 0
    seconds: float = 0.0
    token: str = ""
    before: Callable[[str], None] = lambda _: None
    distort: Callable[[dict[str, str], bytes], tuple[dict[str, str], bytes]] = lambda *answer: answer
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def sent(self) -> int:
        """Bytes of all answers."""
        return sum(request.sent for request in self.requests)

    def spent(self, name: str) -> bool:
        """Whether a counter, `failures` or `cut`, is positive; decrements it."""
        with self.lock:
            left: int = getattr(self, name)
            setattr(self, name, max(0, left - 1))
            return left > 0


def handler_of(server: Server) -> type[BaseHTTPRequestHandler]:
    """The class that answers."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the parent's name
            """Prints nothing."""

        def do_GET(self) -> None:
            """Answers."""
            name = unquote(urlsplit(self.path).path).lstrip("/")
            server.before(name)
            time.sleep(server.seconds)
            if server.token and self.headers.get("Authorization") != server.token:
                self.answer(HTTPStatus.UNAUTHORIZED, name, b"")
            elif server.spent("failures"):
                if server.failing_status:
                    self.answer(server.failing_status, name, b"")
                else:
                    self.close_connection = True
            elif not (server.directory / name).is_file():
                self.answer(HTTPStatus.NOT_FOUND, name, b"")
            else:
                self.file(name)

        def file(self, name: str) -> None:
            path = server.directory / name
            found = path.stat()
            size, tag = found.st_size, {"ETag": f'"{found.st_mtime_ns:x}-{found.st_size:x}"'}
            matched = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range", ""))
            if matched is None or not server.has_ranges:
                self.answer(HTTPStatus.OK, name, path.read_bytes(), tag)
                return
            begin, end = int(matched[1]), min(int(matched[2]) + 1, size)
            if begin >= size:
                self.answer(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, name, b"", {**tag, **_range(f"*/{size}")})
                return
            with path.open("rb") as file:
                file.seek(begin)
                content = file.read(end - begin)
            headers, content = server.distort({**tag, **_range(f"{begin}-{end - 1}/{size}")}, content)
            self.answer(HTTPStatus.PARTIAL_CONTENT, name, content, headers, (begin, end))

        def answer(
            self,
            status: int,
            name: str,
            data: bytes,
            headers: dict[str, str] | None = None,
            wanted: tuple[int | None, int | None] = (None, None),
        ) -> None:
            sent = data[: len(data) // 2] if data and server.spent("cut") else data
            with server.lock:
                server.requests.append(Request(name, *wanted, len(sent)))
            self.send_response(status)
            for key, value in {**(headers or {}), "Content-Length": str(len(data))}.items():
                self.send_header(key, value)
            self.end_headers()
            with contextlib.suppress(ConnectionError):
                self.wfile.write(sent)
            self.close_connection = len(sent) < len(data)

    return Handler


def _range(text: str) -> dict[str, str]:
    return {"Content-Range": f"bytes {text}"}


class _Running(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Prints nothing about clients that disconnect."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # as it came


@contextlib.contextmanager
def serving(directory: Path) -> Iterator[Server]:
    """Serves a directory."""
    server = Server("", directory)
    with _Running(("127.0.0.1", 0), handler_of(server)) as running:
        server.url = f"http://127.0.0.1:{running.server_address[1]}"
        thread = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            running.shutdown()
            thread.join()


def list_files(directory: Path) -> None:
    """Writes `checksums.txt`, as publishing does."""
    files = {path.relative_to(directory).as_posix(): path for path in directory.rglob("*") if path.is_file()}
    files.pop(CHECKSUMS, None)
    lines = [f"{hashlib.sha256(files[name].read_bytes()).hexdigest()}  {name}\n" for name in sorted(files)]
    (directory / CHECKSUMS).write_text("".join(lines))
