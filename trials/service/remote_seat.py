"""A seat that a program elsewhere has."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from rlds_kit.trials.actors.actor_pool import ActorError
from rlds_kit.trials.actors.contract import ActorInfo, Judgement, Text
from rlds_kit.trials.actors.requests import Acted, News
from rlds_kit.trials.directory.fitting import fitted_action
from rlds_kit.trials.service.settings import REMOTE
from rlds_kit.trials.wire import messages
from rlds_kit.trials.wire.values import WireError, encode

Send = Callable[[Any], Awaitable[None]]


class RemoteSeat:
    """An actor that is a program at the other end of a connection.

    Args:
      info: of the trial.
      name: of the program, which is recorded as its version.
      send: sends it a message.

    Attributes:
      over: when the trial is.
      is_ready: when the program knows which seat it has.
    """

    learns: Final = False
    is_amended: Final = False

    def __init__(self, info: ActorInfo, name: str, send: Send) -> None:
        self.info, self.implementation, self.version = info, REMOTE, name
        self.over, self.is_ready = asyncio.Event(), asyncio.Event()
        self._send, self._step, self._answered, self._lost = send, 0, 0, ""
        self._answer: asyncio.Future[Acted] | None = None

    async def act(self, observation: Any, reward: float | None, texts: tuple[Text, ...], news: News) -> Acted:
        """Sends the observation, and waits for the action.

        Raises:
          ActorError: the program is gone.
        """
        del news
        await self.is_ready.wait()
        if self._lost:
            raise ActorError(self._lost)
        self._step += 1
        self._answer = asyncio.get_running_loop().create_future()
        sent = tuple(messages.Text(sender=text.sender, content=text.content) for text in texts)
        number = None if reward is None else float(reward)
        try:
            await self._send(
                messages.Observe(step=self._step, observation=encode(observation), reward=number, messages=sent)
            )
            return await self._answer
        except (OSError, RuntimeError, WireError) as error:
            raise error if isinstance(error, ActorError) else ActorError(str(error)) from error
        finally:
            self._answer = None

    def acted(self, act: messages.Act) -> None:
        """Takes an action.

        Raises:
          WireError: it is not in the space, or for another step; another one may come.
        """
        if act.step != self._step or self._answered == act.step:
            expected = f"an action for step {self._step}" if self._answered < self._step else "no action now"
            raise WireError(f"step: expected {expected}, got one for step {act.step}")
        action = fitted_action(act.action, self.info.actor_class)
        texts = tuple((to, text.content) for text in act.messages for to in text.to or ("*",))
        rewards = tuple(
            Judgement(each.seat, each.value, each.confidence, each.step, each.details) for each in act.rewards
        )
        self._answered = act.step
        if self._answer is not None and not self._answer.done():  # else it came too late, which is no mistake
            self._answer.set_result(Acted(action, texts, rewards))

    def lose(self, reason: str) -> None:
        """The program is gone."""
        self._lost = reason
        self.is_ready.set()
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ActorError(reason))

    @property
    def is_lost(self) -> bool:
        """Whether the program is gone."""
        return bool(self._lost)

    async def end(self, news: News, seconds: float) -> str:
        """Lets the program know that its trial is over."""
        del news, seconds
        self.over.set()
        return ""
