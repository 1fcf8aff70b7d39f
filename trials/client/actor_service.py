"""A program that trials connect to, which acts in any number of them."""

import contextlib
import hmac
import threading
from collections.abc import Callable, Iterator
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.trials.client.seat import Turn
from rlds_kit.trials.wire.messages import Act, Ended, Joined, Observe
from rlds_kit.trials.wire.reading import MOST_BYTES, TO_PROGRAM, read_any, write
from rlds_kit.trials.wire.values import WireError, decode, encode

with needs("trials"):
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.server import Server, ServerConnection, serve

MakeActor = Callable[[Joined], Callable[[Turn], Any]]
_UNAUTHORIZED: Final = 401
_INVALID: Final = 1008


@contextlib.contextmanager
def offering(make: MakeActor, *, host: str = "127.0.0.1", port: int = 0, token: str = "") -> Iterator[str]:
    """Acts in trials that connect, each in a thread, while the context lasts; gives the URL to register.

    Args:
      make: called with what a trial is; returns a function from a turn to an action.
      host: where to listen.
      port: 0: any free one.
      token: that trials must send; "": any trial may connect.

    Raises:
      OSError: the port is taken.
    """
    expected = f"Bearer {token}"

    def check(connection: ServerConnection, request: Any) -> Any:
        given = request.headers.get("Authorization", "")
        if token and not hmac.compare_digest(given.encode(), expected.encode()):
            return connection.respond(_UNAUTHORIZED, "expected another token\n")
        return None

    def handle(connection: ServerConnection) -> None:
        try:
            _play(connection, make)
        except ConnectionClosed:
            pass  # the trial is over
        except WireError as error:
            connection.close(_INVALID, str(error)[:100])

    server: Server
    with serve(handle, host, port, process_request=check, max_size=MOST_BYTES) as server:
        thread = threading.Thread(target=server.serve_forever, name="rlds_kit-offering")
        thread.start()
        try:
            yield f"ws://{host}:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join()


def _play(connection: ServerConnection, make: MakeActor) -> None:
    """One trial."""
    joined = read_any(TO_PROGRAM, connection.recv())
    if not isinstance(joined, Joined):
        raise WireError(f"expected what the trial is, got {joined}")
    act = make(joined)
    while not isinstance(message := read_any(TO_PROGRAM, connection.recv()), Ended):
        if isinstance(message, Observe):
            turn = Turn(message.step, decode(message.observation), message.reward, message.messages)
            connection.send(write(Act(step=message.step, action=encode(act(turn)))).decode())
