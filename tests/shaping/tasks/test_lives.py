"""Several people at once, each with a process."""

import asyncio
from typing import Any

from rlds_kit.shaping.tasks.live import Live, Lives


class Socket:
    """A page that is open.

    Attributes:
      sent: the messages that it received.
    """

    def __init__(self) -> None:
        self.sent: list[Any] = []

    async def accept(self) -> None:
        """Opens it."""

    async def send_json(self, message: Any) -> None:
        """Sends a message to it."""
        self.sent.append(message)

    async def close(self) -> None:
        """Closes it."""


class Slow(Live):
    """A running activity without a process, which ends when it is allowed to."""

    def __init__(self) -> None:
        self.is_served, self.is_ending, self.may_end = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def serve(self, socket: Any) -> None:
        """Runs until it is ended."""
        del socket
        self.is_served.set()
        await self.is_ending.wait()

    async def end(self) -> None:
        """Waits until it may."""
        self.is_ending.set()
        await self.may_end.wait()


def test_calls_do_not_wait_for_calls_of_others() -> None:
    """And there are never more than the most, also if several begin at once."""

    async def test() -> None:
        lives, made = Lives(2), {name: Slow() for name in ("a", "a again", "b", "c")}

        def serve(name: str, socket: Socket) -> asyncio.Task[None]:
            async def opened() -> Live:
                await asyncio.sleep(0)
                return made[name]

            return asyncio.create_task(lives.serve(socket, name[0], opened))  # type: ignore[arg-type]  # a part of one

        async def begun() -> None:
            for name in ("a again", "b", "c"):
                made[name].may_end.set()
            await made["a"].is_served.wait()
            tasks.append(serve("a again", Socket()))
            await made["a"].is_ending.wait()
            tasks.append(serve("b", Socket()))
            await made["b"].is_served.wait()
            assert not made["a again"].is_served.is_set()
            made["a"].may_end.set()
            tasks.append(serve("c", refused))
            await made["a again"].is_served.wait()
            await tasks[-1]

        tasks, refused = [serve("a", Socket())], Socket()
        try:
            await asyncio.wait_for(begun(), 20)
        finally:
            for each in made.values():
                each.is_ending.set()
                each.may_end.set()
            await asyncio.gather(*tasks, return_exceptions=True)
        assert refused.sent == [{"failed": "2 go on already; try again later"}]
        assert not lives._live

    asyncio.run(test())
