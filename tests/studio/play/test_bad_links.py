"""Two people play through bad connections: what their pages acknowledged, the record, and an offline run are equal."""

import asyncio
import contextlib
import io
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any, Final

import numpy as np
import pettingzoo
import pytest
from numpy.typing import NDArray
from PIL import Image
from websockets.exceptions import WebSocketException

import rlds_kit
from rlds_kit.studio.play.frame_header import Flags, Header, unpack
from rlds_kit.studio.play.host import Scene
from rlds_kit.trials import Driver
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.frames.picture import Quality
from rlds_kit.trials.workers import requests
from tests.studio.bad_link import BadLink, bad_link
from tests.studio.bad_link import Quality as LinkQuality
from tests.studio.play.server import Client, entered, serving

GAME: Final = "butterfly/cooperative_pong-v6"
SEATS: Final = ("paddle_0", "paddle_1")
KEYS: Final = ("ArrowUp", "ArrowDown")
FPS: Final = 30.0


class Page(Client):
    """A window that notes which frame belongs to which episode.

    Attributes:
      painted: what was acknowledged: episode, header, payload.
      episode: that is played.
    """

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.painted: list[tuple[int, Header, bytes]] = []
        self.episode = -1
        self._has_begun = False

    async def _take(self, data: str | bytes) -> None:
        if isinstance(data, bytes):
            header = unpack(data)
            if header.flags & Flags.FIRST and self._has_begun:
                self.episode, self._has_begun = self.episode + 1, False
            self._has_begun = self._has_begun or header.step > 0
            self.painted.append((self.episode, header, data[len(data) - header.size :]))
        else:
            said = json.loads(data)
            if said["type"] == "state" and said["episode"] > self.episode:
                self.episode, self._has_begun = said["episode"], False
        await super()._take(data)


@dataclass
class Person:
    """Somebody who presses keys at random, saves every episode, and connects again whenever the connection is lost.

    Attributes:
      seat: of the person.
      url: of the bad link.
      painted: by episode and step, the sum of rewards and the picture's bytes.
      connections: how many there were.
    """

    seat: str
    url: str
    random: Random
    painted: dict[tuple[int, int], tuple[float, bytes]] = field(default_factory=dict)
    connections: int = 0

    async def play(self, saved: set[int], episodes: int) -> None:
        """Plays until so many episodes are saved."""
        while len(saved) < episodes:
            with contextlib.suppress(OSError, EOFError, WebSocketException):  # TimeoutError is an OSError
                await self._connected(saved, episodes)

    async def _connected(self, saved: set[int], episodes: int) -> None:
        async with entered(self.url, f"s:{self.seat}::{self.seat}", kind=Page, proxy=None) as page:
            assert isinstance(page, Page)
            self.connections += 1
            started: set[int] = set()
            confirmed: set[int] = set()
            try:
                while page.closed is None and len(saved) < episodes:
                    await self._answer(page, started, confirmed)
                    saved |= {each["episode"] for each in page.said if each["type"] == "saved"}
                    saved |= {*range(page.episode)}  # the message may be lost with its connection
                    await asyncio.sleep(0.05)
            finally:
                self._note(page)

    async def _answer(self, page: Page, started: set[int], confirmed: set[int]) -> None:
        """Starts what waits, saves what is over, presses keys."""
        states = [each for each in page.said if each["type"] == "state"]
        if not states:
            return
        state = states[-1]
        if state["phase"] == "waiting" and state["episode"] not in started:
            started.add(state["episode"])
            await page.send("start")
        elif state["phase"] == "confirming" and state["episode"] not in confirmed:
            confirmed.add(state["episode"])
            await page.send("confirm", save=True, completed=True)
        elif self.random.random() < 0.3:
            held = {self.random.choice(KEYS): 1.0} if self.random.random() < 0.7 else {}
            await page.send("keys", held=held, shown=None, time=1)

    def _note(self, page: Page) -> None:
        for episode, header, payload in page.painted:
            seen = self.painted.setdefault((episode, header.step), (header.total, payload))
            assert seen == (header.total, payload), "one step was shown in two ways"


def _scene(directory: Path, frames: int) -> Scene:
    """Cooperative pong with a slow ball, so that episodes have all of their frames."""
    kwargs = {"ball_speed": 1, "max_cycles": frames}
    spec = EnvironmentSpec(GAME, kwargs, interface="pettingzoo", policies=dict.fromkeys(SEATS, "random"))
    return Scene(
        open=requests.Open(spec, str(directory)),
        fps=FPS,
        seed=lambda number: 100 + number,
        fallbacks=dict.fromkeys(SEATS, Driver.POLICY),
        quality=Quality.EXACT,
        limits={"countdown_seconds": 0.0, "idle_seconds": 600.0},
    )


def _replayed(episode: rlds_kit.Episode, frames: int) -> Iterator[tuple[int, dict[str, float], NDArray[np.uint8]]]:
    """Plays the recorded actions offline: number of the step, sums of rewards, picture."""
    env: Any = pettingzoo.make("parallel", GAME, render_mode="rgb_array", ball_speed=1, max_cycles=frames)
    observations, _ = env.reset(seed=episode.seed)
    totals = dict.fromkeys(SEATS, 0.0)
    steps = list(episode.steps)
    yield 0, dict(totals), np.array(env.render())
    for number, step in enumerate(steps[:-1], start=1):
        np.testing.assert_equal(step["observation"], observations)
        observations, rewards, *_ = env.step({name: int(action) for name, action in step["action"].items()})
        assert step["reward"] == rewards
        for name, reward in rewards.items():
            totals[name] += reward
        yield number, dict(totals), np.array(env.render())
    env.close()


@pytest.mark.parametrize(
    ("episodes", "frames", "seed"),
    [
        pytest.param(2, 90, 7, marks=pytest.mark.thorough),
        *(pytest.param(10, 450, seed, marks=pytest.mark.slow) for seed in range(5)),  # fifty episodes
    ],
)
def test_what_people_saw_is_what_was_recorded(tmp_path: Path, episodes: int, frames: int, seed: int) -> None:
    """100 ms in each direction, 15 % of the segments stalled, connections cut at random; programs act meanwhile."""
    quality = LinkQuality(delay=0.1, stalled=0.15, retransmission=0.2, cut_after=4.0)
    with serving({"s": _scene(tmp_path, frames)}) as served, bad_link(served.port, quality, seed=seed) as link:
        people = [Person(seat, f"ws://127.0.0.1:{link.port}/ws/play", Random(f"{seat} {seed}")) for seat in SEATS]
        asyncio.run(_all_play(people, episodes))
        _check_the_link(link, people)
    recorded = rlds_kit.open(tmp_path).episodes
    assert [len(each) for each in recorded] == [frames + 1] * episodes
    compared = 0
    for number, episode in enumerate(sorted(recorded, key=lambda each: each.seed or 0)):
        for step, totals, picture in _replayed(episode, frames):
            for person in people:
                if (number, step) in person.painted:
                    total, payload = person.painted[number, step]
                    assert total == totals[person.seat], (number, step, person.seat)
                    np.testing.assert_array_equal(np.array(Image.open(io.BytesIO(payload)).convert("RGB")), picture)
                    compared += 1
    print(f"compared {compared} frames")
    assert compared > episodes * frames // 4


async def _all_play(people: list[Person], episodes: int) -> None:
    saved: set[int] = set()
    async with asyncio.timeout(60 + 60 * episodes):
        await asyncio.gather(*(each.play(saved, episodes) for each in people))


def _check_the_link(link: BadLink, people: list[Person]) -> None:
    """The connection was as bad as it should be."""
    assert link.stalls > 0
    assert link.cuts > 0
    assert sum(each.connections for each in people) > len(people)
