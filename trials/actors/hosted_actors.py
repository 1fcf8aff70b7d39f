"""The actors of a process, and the requests to them."""

import inspect
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

from rlds_kit.trials.actors.contract import ActorInfo, Reply
from rlds_kit.trials.actors.registry import load, version_of
from rlds_kit.trials.actors.requests import Act, Acted, Answer, End, Failed, Load, Loaded, News, Request, Reset


class _FunctionActor:
    """A function as an actor."""

    def __init__(self, act: Callable[..., Any]) -> None:
        self.act = act

    def reset(self, info: ActorInfo) -> None:
        """Functions remember nothing."""


class HostedActors:
    """Actors of one implementation, each with a number. What they raise is an answer, never the end of the others."""

    def __init__(self) -> None:
        self._make: Callable[[], Any] | None = None
        self._actors: dict[int, tuple[Any, ActorInfo]] = {}

    async def answer(self, requests: Sequence[tuple[int, Request]]) -> list[Answer]:
        """Does requests, each with the number of its actor; several that act may act together.

        Returns:
          The answers, in the order of the requests.
        """
        answers: dict[int, Answer] = {}
        acting: dict[type, list[int]] = defaultdict(list)
        for at, (number, request) in enumerate(requests):
            if isinstance(request, Act) and number in self._actors:
                kind = type(self._actors[number][0])
                if hasattr(kind, "act_batch"):
                    acting[kind].append(at)
                    continue
            answers[at] = await _guarded(self._do(number, request))
        for kind, places in acting.items():
            batch = [(number, request) for number, request in (requests[at] for at in places)]
            answers |= zip(places, await self._act_together(kind, batch), strict=True)
        return [answers[at] for at in range(len(requests))]

    async def _do(self, number: int, request: Request) -> Answer:
        match request:
            case Load(target):
                return self._load(target)
            case Reset(info):
                if self._make is None:
                    raise RuntimeError("expected Load before Reset")
                actor = self._make()
                self._actors[number] = actor, info
                await _done(actor.reset(info))
                return None
            case Act(observation, reward, messages, news):
                actor, info = self._actors[number]
                await _tell(actor, news)
                return _checked(await _done(actor.act(observation, reward, messages)), info)
            case End(news):
                actor, _ = self._actors.pop(number)
                await _tell(actor, news)
                if hasattr(actor, "end"):
                    await _done(actor.end())
                return None

    def _load(self, target: str | Callable[..., Any]) -> Loaded:
        found = load(target)
        is_class = isinstance(found, type)
        self._make = found if is_class else lambda: _FunctionActor(found)
        has = [is_class and hasattr(found, name) for name in ("act_batch", "learn", "amended")]
        return Loaded(version_of(found), *has)

    async def _act_together(self, kind: Any, batch: Sequence[tuple[int, Any]]) -> list[Answer]:
        """All actions at once; an error is every actor's."""
        actors = [self._actors[number] for number, _ in batch]
        try:
            for (actor, _), (_, request) in zip(actors, batch, strict=True):
                await _tell(actor, request.news)
            given = await _done(
                kind.act_batch(
                    [actor for actor, _ in actors],
                    [request.observation for _, request in batch],
                    [request.reward for _, request in batch],
                    [request.messages for _, request in batch],
                )
            )
            if len(given) != len(batch):
                return [Failed(f"expected {len(batch)} actions of act_batch, got {len(given)}")] * len(batch)
        except Exception as error:  # noqa: BLE001  actors may raise anything
            return [_failed(error)] * len(batch)
        return [_checked(each, info) for each, (_, info) in zip(given, actors, strict=True)]


async def _tell(actor: Any, news: News) -> None:
    """Has an actor learn."""
    for step, value in news.amended:
        await _done(actor.amended(step, value))
    if news.experience is not None:
        await _done(actor.learn(news.experience))


def _checked(given: Any, info: ActorInfo) -> Answer:
    """An action within the space of its class, or what is wrong with it."""
    reply = given if isinstance(given, Reply) else Reply(given)
    space = info.actor_class.action_space
    try:
        is_inside = info.actor_class.contains(reply.action)
    except Exception as error:  # noqa: BLE001  spaces expect what they contain
        return Failed(f"expected an action in {space}, got {reply.action!r}: {error}", is_lost=False)
    if not is_inside:
        return Failed(f"expected an action in {space}, got {_described(reply.action)}", is_lost=False)
    return Acted(reply.action, reply.messages, reply.rewards)


def _described(action: Any) -> str:
    dtype = getattr(action, "dtype", None)
    return f"{action!r}" if dtype is None else f"{action!r} of {dtype}"


async def _guarded(doing: Any) -> Answer:  # a coroutine
    try:
        answer: Answer = await doing
    except Exception as error:  # noqa: BLE001  actors may raise anything
        return _failed(error)
    return answer


def _failed(error: Exception) -> Failed:
    return Failed(f"{type(error).__name__}: {error}")


async def _done(result: Any) -> Any:
    """What a function returned, or what its coroutine does."""
    return await result if inspect.isawaitable(result) else result
