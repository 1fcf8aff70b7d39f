"""Who comes in, and what is done with what no page would send."""

import asyncio
import json
import random
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Origin

import rlds_kit
from rlds_kit.trials.environments.playable import EnvironmentSpec
from tests.studio.play.server import CORRIDOR, Client, entered, playing, pressed, run, scene, serving
from tests.studio.play.test_playing import end, walk


def nonsense(count: int) -> list[str | bytes]:
    """So many messages that are none, some of them nearly."""
    draw = random.Random(0)
    kinds: list[str | bytes] = [
        "",
        "{",
        "null",
        "[1, 2]",
        '{"v": 1}',
        '{"v": 2, "type": "cancel"}',
        '{"v": 1, "type": "cancel", "now": true}',
        '{"v": 1, "type": "keys", "held": {"ArrowRight": 2}}',
        '{"v": 1, "type": "keys", "held": ["ArrowRight"]}',
        '{"v": 1, "type": "confirm"}',
        '{"v": 1, "type": "rate", "fps": 1e999}',
        json.dumps({"v": 1, "type": "say", "content": "x" * 3000}),
        b"\x00\xff\xfe",
        b"RKF1" + bytes(32),
    ]
    return [draw.choice(kinds) for _ in range(count)]


def test_r43_ten_thousand_malformed_messages_change_nothing(tmp_path: Path) -> None:
    """Each gets its error; the episode goes on, and another session never noticed."""
    scenes = {name: pressed(CORRIDOR, tmp_path / name) for name in ("s", "other")}
    with serving(scenes, messages_per_second=1e6) as served:

        async def play() -> None:
            async with playing(served.url) as client, playing(served.url, "other:bob") as other:
                await walk(client, 2)
                for data in nonsense(10_000):
                    await client.raw(data)
                await client.until(lambda me: sum(said["type"] == "error" for said in me.said) == 10_000)
                await walk(other, 4)
                await client.press("ArrowRight")
                await client.frame_of(3)
                assert (await end(client, save=True, completed=True))["steps"] == 3
                assert (await end(other, save=True, completed=True))["steps"] == 4

        run(play)
    assert [rlds_kit.open(tmp_path / name).episodes[0].length for name in scenes] == [4, 5]


@pytest.mark.parametrize(
    ("first", "code"),
    [
        ('{"v": 1, "type": "pause"}', "hello"),
        ("what?", "json"),
        ('{"v": 9, "type": "hello", "token": "s:ann"}', "version"),
        ('{"v": 1, "type": "hello", "token": "nobody"}', "token"),
        ('{"v": 1, "type": "hello", "token": "broken:ann"}', "environment"),
    ],
)
def test_r43_who_does_not_say_hello_well_does_not_come_in(first: str, code: str) -> None:
    """With a code, and nothing was begun."""
    scenes = {"s": pressed(CORRIDOR, None), "broken": pressed("Nothing-v0", None)}
    with serving(scenes) as served:

        async def come() -> None:
            async with connect(served.url) as connection:
                client = Client(connection)
                await client.raw(first)
                await client.next_of("error", code=code)
                assert (await client.is_closed()) == (4003, code)

        run(come)
        assert served.live_sessions.sessions == ()


def test_pages_of_other_origins_stay_outside() -> None:
    """Unless the server was told of them; its own always come in."""
    with serving({"s": pressed(CORRIDOR, None)}, origins={"https://lab.example"}) as served:

        async def come() -> None:
            for origin in ("https://lab.example", f"http://127.0.0.1:{served.port}"):
                async with connect(served.url, origin=Origin(origin)):
                    pass
            for origin in ("https://evil.example", "null", f"http://127.0.0.1:{served.port}.evil.example"):
                with pytest.raises(InvalidStatus):
                    async with connect(served.url, origin=Origin(origin)):
                        pass

        run(come)


def test_a_flood_waits_and_nothing_of_it_is_lost() -> None:
    """Who sends too much is slowed down; others are not."""
    scenes = {name: pressed(CORRIDOR, None) for name in ("s", "other")}
    with serving(scenes, messages_per_second=200.0) as served:

        async def play() -> None:
            async with playing(served.url) as client, playing(served.url, "other:bob") as other:
                flood = asyncio.create_task(walk(client, 250))
                await walk(other, 20)
                await flood
                assert client.frames[-1].step == 250

        run(play)


def test_a_seat_is_for_one_person() -> None:
    """Another one is told so, and the game goes on."""
    with serving({"s": pressed(CORRIDOR, None)}) as served:

        async def play() -> None:
            async with playing(served.url) as client, entered(served.url, "s:bob") as other:
                await other.next_of("error", code="seat")
                assert (await other.is_closed())[0] == 4003
                await walk(client, 2)

        run(play)


def test_r25_text_is_sent_as_text() -> None:
    """To be drawn by the page."""
    spec = scene(CORRIDOR, None, kwargs={"render_mode": "ansi"})
    assert isinstance(spec.open.environment, EnvironmentSpec)
    with serving({"s": spec}) as served:

        async def play() -> None:
            async with entered(served.url) as client:
                await client.frame_of(0)
                assert client.payloads[0] == b"...@..."

        run(play)
