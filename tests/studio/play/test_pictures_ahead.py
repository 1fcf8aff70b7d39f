"""Pictures of possible next steps over the socket: what they show, who gets them, what is recorded."""

import asyncio
from pathlib import Path
from typing import Any, Final

import pytest

import rlds_kit
from rlds_kit.base.step import TRIAL_CLOCK
from rlds_kit.crowd.collectors import ROUND_TRIP, SHOWN_AHEAD, collect
from rlds_kit.studio.play import window
from rlds_kit.studio.play.ahead_out import MOST_BYTES
from rlds_kit.studio.play.frame_header import SIZE, Flags, Header, unpack
from rlds_kit.studio.play.live_environment import LiveEnvironment
from rlds_kit.trials import events
from rlds_kit.trials.workers import requests
from tests.studio.play.server import CORRIDOR, PATIENCE, Client, entered, playing, pressed, run, scene, serving

LAKE: Final = "FrozenLake-v1"
DRY: Final[Any] = {"is_slippery": False}
KEYS: Final = {"ArrowLeft": 0, "ArrowDown": 1, "ArrowRight": 2, "ArrowUp": 3}


class Page(Client):
    """A window whose page shows pictures ahead, and answers pings.

    Attributes:
      ahead: those that came: header and payload.
    """

    takes = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.ahead: list[tuple[Header, bytes]] = []

    async def send(self, type_: str, **fields: Any) -> None:
        """Sends a message."""
        await super().send(type_, **fields, **({"ahead": True} if type_ == "hello" else {}))

    async def _take(self, data: str | bytes) -> None:
        if isinstance(data, str) or not unpack(data).flags & Flags.AHEAD:
            await super()._take(data)
            if isinstance(data, str) and self.said[-1]["type"] == "ping":
                await self.send("pong", number=self.said[-1]["number"])
            return
        async with self._news:
            self.ahead.append((unpack(data), data[SIZE:]))
            self._news.notify_all()
        if self.takes:
            await self.send("ahead", seq=self.ahead[-1][0].sequence)

    async def ahead_of(self, step: int, count: int) -> dict[int, tuple[Header, bytes]]:
        """Waits for all pictures of a step, by action."""

        def found(_: Any) -> dict[int, tuple[Header, bytes]] | None:
            these = {header.action: (header, data) for header, data in self.ahead if header.step == step}
            return these if len(these) == count else None

        pictures: dict[int, tuple[Header, bytes]] = await self.until(found)
        return pictures


class Deaf(Page):
    """One whose link does not take pictures ahead: it never says that they came."""

    takes = False


def test_the_picture_of_the_key_is_there_before_it_is_pressed(tmp_path: Path) -> None:
    """Byte by byte that which comes after the step; what was shown, and when, is recorded with the step after it."""
    with serving({"s": pressed(LAKE, tmp_path, kwargs=DRY, seed=lambda _: 7)}) as served:

        async def play() -> None:
            async with playing(served.url, kind=Page) as page:
                assert isinstance(page, Page)
                await page.until(lambda me: sum(each["type"] == "ping" for each in me.said) >= 2)
                for step, key in ((1, "ArrowRight"), (2, "ArrowRight"), (3, "ArrowLeft")):
                    pictures = await page.ahead_of(step, len(KEYS))
                    assert len({data for _, data in pictures.values()}) > 1
                    header, expected = pictures[KEYS[key]]
                    await page.send("keys", held={key: 1.0}, shown=page.frames[-1].sequence, time=100 * step)
                    if step < 3:
                        shown = {"shown": header.sequence, "time": 100 * step + 16}
                        await page.send("ahead", seq=page.ahead[-1][0].sequence, **shown)
                    await page.send("keys", held={}, time=100 * step + 50)
                    await page.frame_of(step)
                    assert page.payloads[-1] == expected
                    await page.send("ack", seq=page.frames[-1].sequence, time=100 * step + 80)
                await page.ahead_of(4, len(KEYS))
                await page.send("cancel")
                await page.next_of("ask")
                await page.send("confirm", save=True, completed=True)
                await page.next_of("saved")

        run(play)
    episode = rlds_kit.open(tmp_path).episodes[0]
    clocks = [step[TRIAL_CLOCK]["player"] for step in list(episode.steps)[:-1] if TRIAL_CLOCK in step]
    clocks_without_trips = [
        {name: value for name, value in clock.items() if name != "round_trip_ns"} for clock in clocks
    ]
    ahead = {"shown_ahead": True, "came_true": True}
    assert clocks_without_trips[-2:] == [
        {**ahead, "painted_ns": 116, "confirmed_ns": 180},
        {**ahead, "painted_ns": 216, "confirmed_ns": 280},
    ]
    frames = episode.metadata["frames"]["player"]
    assert (frames["ahead_shown"], frames["ahead_wrong"], frames["ahead_dropped"]) == (2, 0, 0)
    assert frames["ahead_sent"] == 4 * len(KEYS)
    assert collect(episode, [SHOWN_AHEAD])[None]["shown_ahead"][-1] > 0


def test_the_round_trip_is_measured_and_recorded_with_keys(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the server; the page gets to know it. Also in real time, and where nothing can be shown ahead."""
    monkeypatch.setattr(window, "PING_SECONDS", 0.01)
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url, kind=Page) as page:
                known = await page.until(
                    lambda me: [each for each in me.said if each["type"] == "ping" and each["round_trip_ms"]]
                )
                assert known[0]["round_trip_ms"] > 0
                await page.press("ArrowRight", shown=page.frames[-1].sequence)
                await page.reached(1)
                await page.send("pong", number=1)
                await page.next_of("error", code="pong")
                assert isinstance(page, Page)
                assert page.ahead == []

        run(play)
    episode = rlds_kit.open(tmp_path).episodes[0]
    assert episode.steps[0][TRIAL_CLOCK]["player"]["round_trip_ns"] > 0
    assert collect(episode, [ROUND_TRIP])[None]["round_trip"][0] > 0


def test_who_did_not_ask_for_pictures_ahead_or_only_looks_on_gets_none(tmp_path: Path) -> None:
    """Nor does anybody in real time, or where the scene does not want them."""
    scenes = {
        "s": pressed(LAKE, tmp_path / "s", kwargs=DRY),
        "clock": scene(LAKE, tmp_path / "clock", kwargs=DRY, fps=20.0),
        "without": pressed(LAKE, tmp_path / "without", kwargs=DRY, is_ahead=False),
    }
    with serving(scenes) as served:

        async def play() -> None:
            async with playing(served.url, kind=Page) as page, entered(served.url, "s:bob:look", kind=Page) as other:
                assert isinstance(page, Page)
                assert isinstance(other, Page)
                await page.ahead_of(1, len(KEYS))
                await page.press("ArrowRight")
                await page.ahead_of(2, len(KEYS))
                await other.reached(1)
                assert other.ahead == []
            for name in ("clock", "without"):
                async with playing(served.url, f"{name}:ann", kind=Page) as page:
                    assert isinstance(page, Page)
                    await page.press("ArrowRight")
                    await page.reached(1)
                    assert page.ahead == []

        run(play)


def test_who_comes_back_gets_them_again(tmp_path: Path) -> None:
    with serving({"s": pressed(LAKE, tmp_path, kwargs=DRY)}) as served:

        async def play() -> None:
            async with playing(served.url, kind=Page) as page:
                assert isinstance(page, Page)
                before = await page.ahead_of(1, len(KEYS))
                await page.lose()
            async with entered(served.url, kind=Page) as page:
                assert isinstance(page, Page)
                again = await page.ahead_of(1, len(KEYS))
                assert {a: data for a, (_, data) in again.items()} == {a: data for a, (_, data) in before.items()}

        run(play)


def test_a_link_that_does_not_take_them_gets_the_true_pictures_only(tmp_path: Path) -> None:
    """Those of one step at most are in front of the next true picture."""
    with serving({"s": pressed(LAKE, tmp_path, kwargs=DRY)}) as served:

        async def play() -> None:
            async with playing(served.url, kind=Deaf) as page:
                assert isinstance(page, Page)
                await page.ahead_of(1, len(KEYS))
                for step in (1, 2, 3):
                    await page.press("ArrowLeft")
                    await page.frame_of(step)
                assert {header.step for header, _ in page.ahead} == {1}
                assert sum(len(data) for _, data in page.ahead) <= MOST_BYTES
                await page.send("ahead", seq=99)
                await page.next_of("error", code="frame")

        run(play)


def test_a_key_waits_for_one_picture_at_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is pressed while the first of four is drawn: the step is next, and the others are left out."""
    done: list[str] = []
    real = LiveEnvironment.request

    with serving({"s": pressed(LAKE, tmp_path, kwargs=DRY)}) as served:

        async def spying(self: LiveEnvironment, request: requests.Request) -> Any:
            done.append(type(request).__name__)
            if isinstance(request, requests.Ahead) and done.count("Step") < 4:
                live = served.live_sessions._live["s"]
                for held in ({}, {"ArrowLeft": 1.0}, {}):
                    live.handle(events.KeysChanged(live.now(), "player", held))
            return await real(self, request)

        async def play() -> None:
            async with playing(served.url, kind=Page) as page:
                assert isinstance(page, Page)
                await page.ahead_of(1, len(KEYS))
                monkeypatch.setattr(LiveEnvironment, "request", spying)
                await page.send("keys", held={"ArrowLeft": 1.0}, time=1)
                async with asyncio.timeout(PATIENCE):
                    while done.count("Ahead") < 3 + len(KEYS):  # noqa: ASYNC110  the server runs in another thread
                        await asyncio.sleep(0.01)
                monkeypatch.undo()

        run(play)
    assert done == ["Step", "Ahead"] * 4 + ["Ahead"] * (len(KEYS) - 1)


def test_a_view_that_changes_has_its_own(tmp_path: Path) -> None:
    """Pictures are drawn again in the quality that was chosen."""
    with serving({"s": pressed("CartPole-v1", tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url, kind=Page) as page:
                assert isinstance(page, Page)
                await page.ahead_of(1, 2)
                count = len(page.ahead)
                await page.send("quality", level="exact")
                await page.until(lambda me: len(me.ahead) >= count + 2)
                await asyncio.sleep(0)
                await page.press("ArrowLeft")
                await page.frame_of(1)
                expected = [data for header, data in page.ahead if header.step == 1 and header.action == 0][-1]
                assert page.payloads[-1] == expected

        run(play)
