"""What is measured through a real socket, on loopback, with the clients on the same machine."""

import asyncio
import contextlib
import random
import time
from dataclasses import dataclass
from typing import Final

from studio_side.processes import Server
from studio_side.window import Window, begin, entered

FPS: Final = 60.0


@dataclass(frozen=True)
class Game:
    """What people play in each of many sessions.

    Attributes:
      kind: of the server's.
      seats: every one with a person and a window.
      keys: that each person presses by turns.
    """

    kind: str
    seats: tuple[str, ...]
    keys: tuple[str, ...]


ALONE: Final = Game("game", ("player",), ("ArrowUp", "ArrowDown", "Space"))
PAIR: Final = Game("pair", ("first_0", "second_0"), ("Digit2", "Digit3", "Digit1"))
COUNTED: Final = Game("counted", ("player",), ("ArrowLeft", "ArrowRight", "Space"))
"""Space Invaders, with collectors."""


def percentile(values: list[float], percent: float) -> float:
    """So many percent are at most this."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * percent / 100))]


async def latency(server: Server, presses: int) -> list[float]:
    """Frames, of 1/60 s, from sending a key at a random moment to having the first frame that was made with it."""
    draw, found = random.Random(1), []
    async with entered(server.url, "small-latency:ann") as window:
        await begin(window)
        held, changes = False, _changes(window)
        for _ in range(presses):
            await asyncio.sleep(draw.uniform(0.05, 0.1))
            held, since = not held, time.monotonic_ns()
            await window.say("keys", held={"ArrowRight": 1.0} if held else {}, shown=window.frames[-1][0].sequence)
            while _changes(window) == changes:
                window.news.clear()
                await window.news.wait()
            changes += 1
            found.append((window.frames[-1][1] - since) / 1e9 * FPS)
    return found


def _changes(window: Window) -> float:
    """How often the action changed by the newest frame: the environment gives one point for each."""
    return window.frames[-1][0].total


@dataclass(frozen=True)
class Held:
    """How well many sessions went at once.

    Attributes:
      sessions: how many.
      people: in each.
      steps: a second, of the slowest and of the median session.
      frames: likewise, those that came to the window.
      ages: of frames when they came, in milliseconds: median and 99th percentile.
      cpu: cores that the server and its workers used.
    """

    sessions: int
    people: int
    steps: tuple[float, float]
    frames: tuple[float, float]
    ages: tuple[float, float]
    cpu: tuple[float, float]

    @property
    def is_held(self) -> bool:
        """Whether every session kept within two percent of its rate."""
        return min(self.steps) >= 0.98 * FPS


async def sessions(server: Server, count: int, seconds: float, game: Game = ALONE) -> Held:
    """Plays in each, sixty steps a second, recorded, with keys that change twice a second; no game ends.

    Args:
      server: that has the sessions.
      count: how many.
      seconds: that are measured.
      game: what is played.
    """
    kind = game.kind
    async with contextlib.AsyncExitStack() as stack:
        names = [f"{kind}-{count}-{number}:{number}-{seat}:{seat}" for number in range(count) for seat in game.seats]
        windows = [await stack.enter_async_context(entered(server.url, name)) for name in names]
        await asyncio.gather(*(begin(each) for each in windows))
        await _play(windows, 1.0, game.keys)
        first = [each.frames[-1] for each in windows]
        for each in windows:
            each.frames = each.frames[-1:]
        used = server.cpu_seconds()
        begun = time.monotonic()
        await _play(windows, seconds, game.keys)
        took = time.monotonic() - begun
        cpu = tuple((now - before) / took for now, before in zip(server.cpu_seconds(), used, strict=True))
        steps = [
            (each.frames[-1][0].step - header.step) / ((each.frames[-1][1] - came) / 1e9)
            for each, (header, came) in zip(windows, first, strict=True)
        ]
        frames = [(len(each.frames) - 1) / took for each in windows]
        ages = [age for each in windows for age in each.ages()]
        for each in windows:
            await each.say("leave")
    return Held(
        count,
        len(game.seats),
        (min(steps), percentile(steps, 50)),
        (min(frames), percentile(frames, 50)),
        (percentile(ages, 50), percentile(ages, 99)),
        (cpu[0], cpu[1]),
    )


async def _play(windows: list[Window], seconds: float, keys: tuple[str, ...]) -> None:
    """Changes keys twice a second in each, spread over the time."""
    end, number = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        window = windows[number % len(windows)]
        key = keys[number // len(windows) % len(keys)]
        await window.say("keys", held={key: 1.0}, shown=window.frames[-1][0].sequence)
        number += 1
        await asyncio.sleep(0.5 / len(windows))


async def waiting(server: Server, count: int) -> tuple[float, float]:
    """Has many look on while a game waits, then begins.

    Returns:
      Memory of the server for each socket, in KiB; and milliseconds until the last of them saw that it began.
    """
    async with contextlib.AsyncExitStack() as stack:
        player = await stack.enter_async_context(entered(server.url, "small-waiting:ann"))
        await player.until_phase("waiting")
        before = server.memory()
        names = [f"small-waiting:p{number}:look" for number in range(count)]
        windows = [await stack.enter_async_context(entered(server.url, name)) for name in names]
        await asyncio.gather(*(each.until_phase("waiting") for each in windows))
        memory = (server.memory() - before) * 1024 / count
        begun = time.monotonic()
        await player.say("start")
        await asyncio.gather(*(each.until_phase("running") for each in windows))
        took = (time.monotonic() - begun) * 1e3
        await player.say("pause")
        await player.until_phase("paused")
        await player.say("leave")
    return memory, took


@dataclass(frozen=True)
class Choked:
    """How a window went whose link is too slow.

    Attributes:
      share: of the frames that came.
      ages: in milliseconds: median and most.
      bound: that four of the largest frames take on this link, in milliseconds.
    """

    share: float
    ages: tuple[float, float]
    bound: float


async def choked(server: Server, bytes_per_second: float, seconds: float) -> Choked:
    """Plays frames of 640 x 640 through a slow link."""
    async with entered(server.url, f"large-{bytes_per_second:.0f}:ann", bytes_per_second) as window:
        await begin(window)
        await asyncio.sleep(seconds)
        steps, ages = window.frames[-1][0].step, window.ages()
        bound = 4 * max(window.sizes()) / bytes_per_second * 1e3
        await window.say("leave")
    return Choked(len(ages) / steps, (percentile(ages, 50), max(ages)), bound)
