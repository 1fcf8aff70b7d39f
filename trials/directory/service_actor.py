"""An actor that is a service elsewhere, to which its trial connects."""

import contextlib
from typing import Any, Final

from rlds_kit import __version__
from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.extras import needs
from rlds_kit.trials.actors.contract import ActorInfo, Judgement, Reply, Text
from rlds_kit.trials.directory.fitting import fitted_action
from rlds_kit.trials.directory.joining import joined
from rlds_kit.trials.wire import messages
from rlds_kit.trials.wire.reading import MOST_BYTES, read_any, write
from rlds_kit.trials.wire.values import encode

with needs("trials"):
    from websockets.exceptions import ConnectionClosed
    from websockets.sync.client import connect

_SECONDS: Final = 30.0


class ServiceLostError(RldsKitError, ConnectionError):
    """A service does not act: it cannot be reached, or its connection is lost."""


class ServiceActor:
    """Connects to the service at `url` of its configuration, sends each observation, and does what it answers.

    `rlds_kit.trials.client.offering` is such a service. A `token` of the configuration is sent with the connection.
    """

    version = __version__
    _stack: contextlib.ExitStack
    _step: int

    def reset(self, info: ActorInfo) -> None:
        """Connects, and sends what the trial is.

        Raises:
          ServiceLostError: the service cannot be reached.
        """
        url, token = str(info.config["url"]), str(info.config.get("token", ""))
        self._info, self._step, self._url = info, 0, url
        self._stack = contextlib.ExitStack()
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            self._socket = self._stack.enter_context(
                connect(url, open_timeout=_SECONDS, max_size=MOST_BYTES, additional_headers=headers, proxy=None)
            )
            self._socket.send(write(joined(info)).decode())
        except Exception as error:
            raise ServiceLostError(f"{url} cannot be reached: {type(error).__name__}: {error}") from error

    def act(self, observation: Any, reward: float | None, texts: tuple[Text, ...]) -> Reply:
        """What the service answers.

        Raises:
          ServiceLostError: its connection is lost.
          WireError: its answer is no action.
        """
        self._step += 1
        sent = tuple(messages.Text(sender=text.sender, content=text.content) for text in texts)
        number = None if reward is None else float(reward)
        observe = messages.Observe(step=self._step, observation=encode(observation), reward=number, messages=sent)
        try:
            self._socket.send(write(observe).decode())
            act: messages.Act = read_any((messages.Act, messages.Leave), self._socket.recv())
        except ConnectionClosed as error:
            raise ServiceLostError(f"the connection to {self._url} is lost: {error}") from error
        if not isinstance(act, messages.Act):
            raise ServiceLostError(f"{self._url} left")
        action = fitted_action(act.action, self._info.actor_class)
        return Reply(
            action,
            tuple((to, text.content) for text in act.messages for to in text.to or ("*",)),
            tuple(Judgement(each.seat, each.value, each.confidence, each.step, each.details) for each in act.rewards),
        )

    def end(self) -> None:
        """The trial is over: the service gets to know it."""
        with contextlib.suppress(ConnectionClosed):
            self._socket.send(write(messages.Ended()).decode())
        self._stack.close()
