"""Somebody who plays in a studio through its WebSocket, as a page does."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractAsyncContextManager
from typing import Any

from websockets.typing import Origin

from tests.studio.play.server import Client, entered, run
from tests.studio.studio_process import Api


def seated(person: Api, token: str) -> AbstractAsyncContextManager[Client]:
    """A window of somebody who has said hello.

    Args:
      person: whose browser it is.
      token: of a session.
    """
    address = person.url.replace("http", "ws", 1) + "/ws/play"
    headers = {"Cookie": f"{person.cookie}={person.token}"} if person.token is not None else {}
    return entered(address, token, origin=Origin(person.url), additional_headers=headers, proxy=None)


async def start(client: Client, episode: int = 0) -> int:
    """Begins an episode; returns how many frames came before."""
    await client.next_of("state", phase="waiting", episode=episode)
    before = len(client.frames)
    await client.send("start")
    await client.next_of("state", phase="running", episode=episode)
    return before


async def press(client: Client, steps: int, since: int = 0) -> None:
    """Presses alternately right and left, so that the corridor never ends; waits for the last frame."""
    for number in range(steps):
        await client.press("ArrowLeft" if number % 2 else "ArrowRight")
    await client.frame_of(steps, since)


async def save(client: Client, *, completed: bool = True, keep: bool = True) -> dict[str, Any]:
    """Breaks off, decides, and waits until the page is told that it is saved."""
    since = len(client.said)
    await client.send("cancel")
    await client.next_of("ask", since)
    await client.send("confirm", save=keep, completed=completed)
    return await client.next_of("saved", since)


def played(
    person: Api,
    study: Mapping[str, Any],
    *lengths: int,
    keys: Sequence[str] = ("ArrowRight", "ArrowLeft"),
    completed: bool = True,
) -> list[str]:
    """Plays episodes by pressing keys in turn, and saves them.

    Args:
      person: who plays.
      study: a step for each press.
      *lengths: how many steps each has.
      keys: that are pressed in turn.
      completed: whether they are saved as completed.

    Returns:
      Their ids.
    """
    _, token = person.session(study)

    ids: list[str] = []

    async def play() -> None:
        async with seated(person, token) as client:
            for number, steps in enumerate(lengths):
                before = await start(client, number)
                for step in range(steps):
                    await client.press(keys[step % len(keys)])
                await client.frame_of(steps, before)
                ids.append((await save(client, completed=completed))["id"])
            await client.send("leave")
            await client.is_closed()

    with ThreadPoolExecutor(1) as thread:  # of its own: Playwright has a loop in this one
        thread.submit(run, play).result()
    return ids
