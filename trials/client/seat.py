"""A seat of a trial that is elsewhere."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from rlds_kit import spec as specs
from rlds_kit.base.extras import needs
from rlds_kit.trials.client.errors import ServiceError
from rlds_kit.trials.wire.messages import Act, Ended, Join, Joined, Leave, Observe, Refused, Reward, Text
from rlds_kit.trials.wire.reading import MOST_BYTES, TO_PROGRAM, read_any, write
from rlds_kit.trials.wire.values import decode, encode

with needs("trials"):
    from websockets.exceptions import ConnectionClosed, ConnectionClosedOK, InvalidHandshake, InvalidURI
    from websockets.sync.client import connect

PATH: Final = "/v1/seat"


@dataclass(frozen=True, slots=True)
class Turn:
    """What a program acts on.

    Attributes:
      step: number of the turn, from 1.
      observation: of the seat.
      reward: of its latest step; None: there is none.
      messages: since the latest step.
    """

    step: int
    observation: Any
    reward: float | None
    messages: tuple[Text, ...]


class Seat:
    """A seat that a program has. Made by `Client.join`; use it in a `with` statement.

    Iterate over it to get its turns; answer each with `act`. The loop ends with the trial.

    Args:
      url: of the service.
      join: the seat that is wanted.
      seconds: to connect.

    Raises:
      ServiceError: there is no such seat.

    Attributes:
      joined: what the trial is.
      observation_space: of the seat.
      action_space: of the seat.
    """

    def __init__(self, url: str, join: Join, seconds: float) -> None:
        self._acts, self._stack = 0, contextlib.ExitStack()
        address = f"{url.replace('http', 'ws', 1)}{PATH}"
        try:
            self._socket = self._stack.enter_context(
                connect(address, open_timeout=seconds, max_size=MOST_BYTES, proxy=None)
            )
        except (OSError, InvalidHandshake, InvalidURI, TimeoutError) as error:
            raise ServiceError(f"{url}{PATH} cannot be reached: {type(error).__name__}: {error}") from error
        try:
            self._socket.send(write(join).decode())
            answer = self._receive()
            if not isinstance(answer, Joined):
                raise ServiceError(answer.reason if isinstance(answer, Refused) else f"expected a seat, got {answer}")
        except BaseException:
            self._stack.close()
            raise
        self.joined: Joined = answer
        self.observation_space: specs.Spec = specs.from_json(answer.observation_space)
        self.action_space: specs.Spec = specs.from_json(answer.action_space)

    def _receive(self) -> Any:
        try:
            return read_any(TO_PROGRAM, self._socket.recv())
        except ConnectionClosed as error:
            raise ServiceError(f"the connection to the service is lost: {error}") from error

    def __iter__(self) -> Iterator[Turn]:
        """Turns, until the trial is over.

        Raises:
          ServiceError: an action was refused, or the connection is lost.
        """
        while True:
            message = self._receive()
            if isinstance(message, Ended):
                return
            if isinstance(message, Refused):
                raise ServiceError(message.reason)
            if isinstance(message, Observe):
                self._acts = message.step
                yield Turn(message.step, decode(message.observation), message.reward, message.messages)

    def act(self, action: Any, *, messages: Sequence[Text] = (), rewards: Sequence[Reward] = ()) -> None:
        """Answers the latest turn.

        Args:
          action: within the action space; lists and numbers are converted to its dtype.
          messages: to other seats.
          rewards: for any seat and step.

        Raises:
          ServiceError: the connection is lost.
        """
        act = Act(step=self._acts, action=encode(action), messages=tuple(messages), rewards=tuple(rewards))
        try:
            self._socket.send(write(act).decode())
        except ConnectionClosedOK:
            return  # the trial is over, as the next message says
        except ConnectionClosed as error:
            raise ServiceError(f"the connection to the service is lost: {error}") from error

    def leave(self) -> None:
        """Leaves the seat; its trial goes on without it, or ends if the seat is required."""
        try:
            self._socket.send(write(Leave()).decode())
        except ConnectionClosed:
            return
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()
