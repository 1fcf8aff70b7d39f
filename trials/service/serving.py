"""Serves trials: in an event loop, or in a thread beside a script."""

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Iterator
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.trials.service.application import create_application
from rlds_kit.trials.service.settings import ServiceSettings
from rlds_kit.trials.wire.reading import MOST_BYTES

with needs("trials"):
    import uvicorn

_END_SECONDS: Final = 3
_START_SECONDS: Final = 60.0


class _Server(uvicorn.Server):
    """Leaves signals to whoever serves."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Takes none."""
        yield


def listen(host: str = "127.0.0.1", port: int = 0) -> socket.socket:
    """A socket that takes connections.

    Args:
      host: an address or name of this machine.
      port: 0: any free one.

    Raises:
      OSError: the port is taken, or the machine is not called like this.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    found = socket.socket(family, kind, protocol)  # asyncio sends small answers at once if it knows the protocol
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
        found.listen()
    except OSError:
        found.close()
        raise
    return found


def url_of(listening: socket.socket) -> str:
    """The URL of a service."""
    host, port = listening.getsockname()[:2]
    return f"http://{host}:{port}"


async def serve(settings: ServiceSettings, listening: socket.socket, *, stop: asyncio.Event | None = None) -> None:
    """Serves until it is stopped; then trials that run end as `abandoned`, and everything durable stays.

    Args:
      settings: of the service.
      listening: where; see `listen`.
      stop: set to stop it; None: Ctrl-C and SIGTERM do.
    """
    app = create_application(settings)
    config = uvicorn.Config(
        app,
        lifespan="off",  # it is entered here, so that its errors can be reported
        log_config=None,
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=MOST_BYTES,
        timeout_graceful_shutdown=_END_SECONDS,
    )
    server, stopping = _Server(config), stop or asyncio.Event()
    with contextlib.ExitStack() as stack:
        if stop is None:
            stack.enter_context(_signals(stopping))
        async with app.router.lifespan_context(app):
            serving = asyncio.create_task(server.serve(sockets=[listening]))
            waiting = asyncio.create_task(stopping.wait())
            await asyncio.wait({serving, waiting}, return_when=asyncio.FIRST_COMPLETED)
            waiting.cancel()
            await app.state.service.close()  # who watches and plays sees the end
            server.should_exit = True
            await serving


@contextlib.contextmanager
def _signals(stopping: asyncio.Event) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    numbers = (signal.SIGINT, signal.SIGTERM)

    def stop(number: int, frame: Any) -> None:
        del number, frame
        loop.call_soon_threadsafe(stopping.set)

    before: dict[signal.Signals, Any] = {number: signal.signal(number, stop) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextlib.contextmanager
def running(settings: ServiceSettings, *, port: int = 0) -> Iterator[str]:
    """Serves in a thread of this program, at 127.0.0.1, while the context lasts; gives the URL.

    Args:
      settings: of the service.
      port: 0: any free one.

    Raises:
      OSError: the port is taken.
    """
    listening = listen(port=port)
    ended: list[BaseException] = []
    started: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []
    is_started = threading.Event()

    async def main() -> None:
        stop = asyncio.Event()
        started.append((asyncio.get_running_loop(), stop))
        is_started.set()
        await serve(settings, listening, stop=stop)

    def run() -> None:
        try:
            asyncio.run(main())
        except BaseException as error:  # noqa: BLE001  it is raised where the caller is
            ended.append(error)

    thread = threading.Thread(target=run, name="rlds_kit-trials-service")
    thread.start()
    is_started.wait(_START_SECONDS)
    try:
        yield url_of(listening)
    finally:
        for loop, stop in started:
            with contextlib.suppress(RuntimeError):  # it is closed already
                loop.call_soon_threadsafe(stop.set)
        thread.join()
        listening.close()
    if ended:
        raise ended[0]
