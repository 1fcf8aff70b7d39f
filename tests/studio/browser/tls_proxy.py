"""What stands before a studio that others use: it takes TLS off, and passes on what is left, byte by byte."""

import asyncio
import contextlib
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def certificate(directory: Path) -> ssl.SSLContext:
    """For localhost, signed by itself."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    key, made = directory / "key.pem", directory / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    subprocess.run([*command, "-keyout", str(key), "-out", str(made)], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(made, key)
    return context


def free_port() -> int:
    """One that nobody listens to."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def proxying(port: int, to: int, context: ssl.SSLContext) -> Iterator[None]:
    """Passes connections on while the context is entered.

    Args:
      port: where it listens.
      to: where the studio does.
      context: of TLS.
    """
    ready, loops = threading.Event(), list[tuple[asyncio.AbstractEventLoop, asyncio.Event]]()
    ends = set[asyncio.StreamWriter]()

    async def serve() -> None:
        stop = asyncio.Event()
        loops.append((asyncio.get_running_loop(), stop))
        server = await asyncio.start_server(
            lambda reader, writer: _pass_on(reader, writer, to, ends), "127.0.0.1", port, ssl=context
        )
        ready.set()
        await stop.wait()
        server.close()
        for each in ends:
            each.transport.abort()  # then who reads there comes to the end
        await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    assert ready.wait(20)
    try:
        yield
    finally:
        loop, stop = loops[0]
        loop.call_soon_threadsafe(stop.set)
        thread.join()


async def _pass_on(
    outside: asyncio.StreamReader, answers: asyncio.StreamWriter, to: int, ends: set[asyncio.StreamWriter]
) -> None:
    """One connection, until both ends of it are closed: a loop that ends before leaves sockets open."""
    inside, requests = await asyncio.open_connection("127.0.0.1", to)
    own = {answers, requests}
    ends |= own
    await asyncio.gather(_copy(outside, requests), _copy(inside, answers))
    for each in own:
        with contextlib.suppress(OSError):
            await each.wait_closed()
    ends -= own


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    target.close()
