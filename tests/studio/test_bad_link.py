"""The proxy makes connections bad as documented; otherwise tests with it would prove nothing."""

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.studio.bad_link import Quality, bad_link

TEXT = bytes(range(256)) * 64


@contextmanager
def _echo() -> Iterator[int]:
    """A server that returns what it receives."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

        def answer(connection: socket.socket) -> None:
            with connection:
                try:
                    while data := connection.recv(1 << 16):
                        connection.sendall(data)
                except OSError:
                    pass

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    thread.join(60)


def _echoed(port: int, text: bytes) -> bytes:
    """Sends data; returns what comes back until the connection ends, or all of it."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(text)
        found = b""
        while len(found) < len(text):
            try:
                data = connection.recv(1 << 16)
            except ConnectionError:
                break
            if not data:
                break
            found += data
        return found


def test_bytes_arrive_in_order_and_late() -> None:
    """Each direction takes its delay; stalls change the time only."""
    quality = Quality(delay=0.1, stalled=0.5, retransmission=0.05)
    with _echo() as port, bad_link(port, quality, seed=1) as link:
        start = time.monotonic()
        assert _echoed(link.port, TEXT) == TEXT
        assert time.monotonic() - start >= 0.2
        assert link.stalls > 0
        assert (link.connections, link.cuts) == (1, 0)


def test_connections_are_cut() -> None:
    """Both ends notice; a new connection succeeds."""
    with _echo() as port, bad_link(port, Quality(delay=0.05, cut_after=1e-9), seed=1) as link:
        assert _echoed(link.port, TEXT) == b""
        link.quality = Quality(delay=0, stalled=0)
        assert _echoed(link.port, TEXT) == TEXT
        assert (link.connections, link.cuts) == (2, 1)


def test_a_connection_that_is_there_gets_worse() -> None:
    """The present quality applies, not that of its beginning."""
    with _echo() as port, bad_link(port, Quality(delay=0, stalled=0), seed=1) as link:
        with socket.create_connection(("127.0.0.1", link.port), timeout=60) as connection:
            connection.sendall(b"a")
            assert connection.recv(1) == b"a"
            link.quality = Quality(delay=0, stalled=0, cut_after=1e-9)
            with contextlib.suppress(ConnectionError):
                assert connection.recv(1) == b""
        assert (link.connections, link.cuts) == (1, 1)


@pytest.mark.parametrize("stalled", [0.0, 1.0])
def test_the_share_of_stalls_is_as_stated(stalled: float) -> None:
    with _echo() as port, bad_link(port, Quality(delay=0, stalled=stalled, retransmission=0.001), seed=1) as link:
        assert _echoed(link.port, b"abc") == b"abc"
        assert link.stalls == (2 if stalled else 0)
