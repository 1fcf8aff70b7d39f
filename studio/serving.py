"""Serves a studio until Ctrl-C, or until it is stopped."""

import contextlib
import ipaddress
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.signing import link_of
from rlds_kit.studio.application import create_application
from rlds_kit.studio.database.tokens import Kind
from rlds_kit.studio.settings import Settings

with needs("studio"):
    import uvicorn
    from starlette.applications import Starlette

MOST_BYTES: Final = 1 << 16
"""Maximum bytes of a message of a WebSocket."""
_END_SECONDS: Final = 3

Ready = Callable[[Starlette], Awaitable[None]]


class _Server(uvicorn.Server):
    """Leaves signals to `_signals`: uvicorn's own handlers would interrupt the writes after the server has ended."""

    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Installs no handlers."""
        yield


async def serve(settings: Settings, listening: socket.socket, ready: Ready) -> None:
    """Serves a studio.

    Args:
      settings: of the studio.
      listening: the socket; see `listen`.
      ready: called when the server accepts connections.

    Raises:
      RldsKitError: the studio cannot be opened; the message gives the reason.
    """
    app = create_application(settings)
    config = uvicorn.Config(
        app,
        lifespan="off",  # entered here, so that its errors can be reported
        log_config=None,  # uvicorn's own closes all handlers of the program, and some of them close what they write to
        log_level="warning",
        access_log=False,
        server_header=False,
        ws="websockets-sansio",
        ws_max_size=MOST_BYTES,
        ws_per_message_deflate=False,  # frames are small already
        timeout_graceful_shutdown=_END_SECONDS,
    )
    server = _Server(config)
    async with app.router.lifespan_context(app):
        with _signals(server):
            listening.listen()  # new connections wait a moment
            await ready(app)
            await server.serve(sockets=[listening])


@contextlib.contextmanager
def _signals(server: uvicorn.Server) -> Iterator[None]:
    """Ctrl-C ends the server; once more, without waiting for requests."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before: dict[signal.Signals, Any] = {number: signal.signal(number, server.handle_exit) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def listen(host: str, port: int) -> socket.socket:
    """A socket that accepts connections.

    Args:
      host: an address or name of this machine.
      port: 0: any free one.

    Raises:
      OSError: the port is in use, or the host is not of this machine.
    """
    family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    found = socket.socket(family, kind, protocol)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(address)
    except OSError as error:
        found.close()
        problem = f"cannot listen on {host}:{port}: {error.strerror}; choose another --port"
        raise OSError(error.errno, problem) from error
    return found


def url_of(listening: socket.socket) -> str:
    """The URL to open in a browser on this machine."""
    host, port = listening.getsockname()[:2]
    if ipaddress.ip_address(host).is_unspecified:
        host = "127.0.0.1"
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def names_of(listening: socket.socket) -> tuple[str, ...]:
    """The hosts that browsers may use besides the names of loopback: the server's address, or all of the machine."""
    host = listening.getsockname()[0]
    if not ipaddress.ip_address(host).is_unspecified:
        return (f"[{host}]" if ":" in host else host,)
    name = socket.gethostname()
    with contextlib.suppress(OSError):
        addresses = {found[4][0] for found in socket.getaddrinfo(name, None)}
        return name.lower(), *sorted(f"[{each}]" if ":" in str(each) else str(each) for each in addresses)
    return (name.lower(),)


@dataclass(frozen=True, slots=True)
class Link:
    """A login link.

    Attributes:
      account: id of the account.
      url: to open.
    """

    account: str
    url: str


async def designer_link(app: Starlette, url: str) -> Link:
    """A link that logs in the first designer, whose account is made if there is none."""
    account = (await app.state.database.run(login.first_designer)).id
    made = await app.state.database.run(login.make_link, account)
    return Link(account, link_of(url, Kind.LINK, app.state.signer.sign(Kind.LINK, made.id)))
