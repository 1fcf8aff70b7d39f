"""What people see: cameras, quality, frames for windows that are slow. None of it changes what is recorded."""

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
from PIL import Image

import rlds_kit
from rlds_kit.studio.play.frame_header import Flags
from rlds_kit.studio.play.frames_out import WINDOW
from rlds_kit.trials.frames.picture import Codec
from tests.studio.play.painting import ID as PAINTING
from tests.studio.play.server import CORRIDOR, Client, entered, playing, pressed, run, scene, serving
from tests.studio.play.test_playing import end, walk


async def look_around(client: Client, steps: int) -> None:
    """Changes what is seen before every step."""
    levels = ("low", "medium", "high", "exact")
    for number in range(steps):
        await client.send("quality", level=levels[number % 4])
        await client.send("camera", n=0)
        await client.press("ArrowLeft" if number % 2 else "ArrowRight")
        await client.frame_of(number + 1)


def test_r22_r23_what_is_seen_does_not_change_what_is_recorded(tmp_path: Path) -> None:
    """The same keys with the same seed give the same dataset, however one looks."""
    scenes = {name: pressed(PAINTING, tmp_path / name, seed=lambda _: 3) for name in ("a", "b")}
    with serving(scenes) as served:

        async def play() -> None:
            async with playing(served.url, "a:ann") as client:
                await walk(client, 6)
                await end(client, save=True, completed=True)
            async with playing(served.url, "b:ann") as client:
                await look_around(client, 6)
                await end(client, save=True, completed=True)

        run(play)
    first, second = (rlds_kit.open(tmp_path / name).episodes[0] for name in ("a", "b"))
    for name in ("observation", "action", "reward"):
        assert np.asarray(first[name]).tobytes() == np.asarray(second[name]).tobytes()


EYES = "tests.trials.environments.odd_environments:rlds_kit_tests/Eyes-v0"


def grey(client: Client) -> int:
    """The value of the first pixel of the latest frame."""
    return int(np.asarray(Image.open(io.BytesIO(client.payloads[-1])).convert("L"))[0, 0])


def test_r22_images_of_the_observation_are_views_and_change_nothing(tmp_path: Path) -> None:
    """Each shows what was observed, at once and also in a pause; the recording is that of who never looked."""
    scenes = {name: pressed(EYES, tmp_path / name, seed=lambda _: 3) for name in ("a", "b")}
    with serving(scenes) as served:

        async def play() -> None:
            async with playing(served.url, "a:ann") as client, entered(served.url, "a:bob:look") as observer:
                welcome = await client.next_of("welcome")
                assert (welcome["cameras"], welcome["camera"]) == (["default", "eyes/left", "eyes/right"], 0)
                await client.send("camera", n=1)
                await client.press("ArrowRight")
                await client.frame_of(1)
                assert grey(client) == 101
                await client.send("pause")
                await client.next_of("state", phase="paused")
                for camera in (2, 1, 2):
                    await client.send("camera", n=camera)
                await client.until(lambda me: grey(me) == 201)
                await observer.until(
                    lambda me: [each["camera"] for each in me.said if each["type"] == "look"] == [1, 2, 1, 2]
                )
                async with entered(served.url, "a:ida:look") as late:
                    assert (await late.next_of("welcome"))["camera"] == 2
                await client.send("resume")
                await client.next_of("state", len(client.said) - 1, phase="running")
                await end(client, save=True, completed=True)
            async with playing(served.url, "b:ann") as client:
                await client.press("ArrowRight")
                await client.frame_of(1)
                await end(client, save=True, completed=True)

        run(play)
    first, second = (list(rlds_kit.open(tmp_path / name).episodes[0].steps) for name in ("a", "b"))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_equal(one["observation"], other["observation"])
        np.testing.assert_equal(one.get("action"), other.get("action"))


def test_r22_a_camera_that_there_is_not_is_refused(tmp_path: Path) -> None:
    """One that there is gives a picture at once, also in a pause."""
    del tmp_path
    with serving({"s": pressed(CORRIDOR, None)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await client.send("camera", n=1)
                assert "cameras 0 to 0" in (await client.next_of("error", code="camera"))["message"]
                await client.send("pause")
                await client.next_of("state", phase="paused")
                seen = len(client.frames)
                await client.send("camera", n=0)
                await client.until(lambda me: len(me.frames) > seen)

        run(play)


def test_r23_better_quality_takes_more_bytes() -> None:
    """And exact is exact: what is shown is what the environment drew."""
    with serving({"s": pressed(PAINTING, None, seed=lambda _: 3)}) as served:

        async def play() -> None:
            sizes = {}
            async with playing(served.url) as client:
                for level in ("low", "medium", "high", "exact"):
                    seen = len(client.frames)
                    await client.send("quality", level=level)
                    await client.frames_after(seen)
                    sizes[level] = client.frames[-1].size
                assert list(sizes.values()) == sorted(set(sizes.values()))
                assert client.frames[-1].codec is Codec.WEBP
                picture = np.asarray(Image.open(io.BytesIO(client.payloads[-1])).convert("RGB"))
                assert picture.shape == (128, 128, 3)

        run(play)


def test_r24_frames_carry_step_reward_and_flags(tmp_path: Path) -> None:
    """So that the line below the picture needs no other message."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                for step in range(3):
                    await client.press("ArrowRight")
                    await client.frame_of(step + 1)
                found = [(frame.step, frame.total, frame.flags) for frame in client.frames]
                assert found[0] == (0, 0.0, Flags.FIRST)
                assert found[1:] == [(1, 1.0, Flags(0)), (2, 3.0, Flags(0)), (3, 6.0, Flags.TERMINATED)]
                states = [said for said in client.said if said["type"] == "state" and said["phase"] == "running"]
                assert len(states) == 1  # no message a step, which would pile up

        run(play)


@asynccontextmanager
async def choked(port: int, bytes_per_second: int) -> AsyncIterator[str]:
    """A link that lets only so much through from the server, and holds little itself."""

    async def through(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, pause: float) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(2048):
                writer.write(data)
                await writer.drain()
                await asyncio.sleep(pause * len(data))
        writer.close()

    async def link(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        back, forth = await asyncio.open_connection("127.0.0.1", port, limit=2048)
        await asyncio.gather(through(reader, forth, 0.0), through(back, writer, 1 / bytes_per_second))

    server = await asyncio.start_server(link, "127.0.0.1", 0, limit=2048)
    try:
        yield f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/ws/play"
    finally:
        server.close()


def test_c8_a_choked_window_gets_fewer_frames_never_older_ones(tmp_path: Path) -> None:
    """At most the window is under way; the rest is dropped and counted, and the last one comes in the end."""
    with serving({"s": scene(PAINTING, tmp_path, fps=60.0, max_steps=90)}) as served:

        async def play() -> None:
            async with choked(served.port, 60_000) as url, playing(url) as client:
                await client.send("quality", level="high")
                await client.next_of("ask")
                last = await client.frame_of(90)
                steps = [frame.step for frame in client.frames]
                assert [frame.sequence for frame in client.frames] == list(range(1, last.sequence + 1))
                assert steps == sorted(steps)
                assert len(steps) <= len(set(steps)) + 1  # the quality changed: what was seen is shown again
                await client.send("confirm", save=True, completed=True)
                await client.next_of("saved", steps=90)

        run(play)
    found = rlds_kit.open(tmp_path).episodes[0].metadata["frames"]["player"]
    assert found["dropped"] > 0
    assert found["sent"] + found["dropped"] >= 91


def test_c8_a_window_that_acknowledges_nothing_gets_a_window_full_of_frames(tmp_path: Path) -> None:
    """However well its link takes them; the episode does not wait for it."""
    with serving({"s": scene(PAINTING, tmp_path, fps=60.0, max_steps=30)}) as served:

        async def play() -> None:
            async with playing(served.url, acknowledges=False) as client:
                await client.next_of("ask")
                assert len(client.frames) <= WINDOW
                seen = len(client.frames)
                await client.send("ack", seq=seen)
                await client.frame_of(30)
                assert len(client.frames) == seen + 1

        run(play)


def test_observers_see_all_and_change_nothing(tmp_path: Path) -> None:
    """They may come in the middle; each has frames of its own."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await walk(client, 2)
                async with entered(served.url, "s:bob:look") as observer:
                    assert (await observer.next_of("welcome"))["seat"] is None
                    await observer.next_of("state", phase="running", step=2)
                    await observer.frame_of(2)
                    for type_, fields in (
                        ("keys", {"held": {"ArrowRight": 1.0}}),
                        ("cancel", {}),
                        ("rate", {"fps": 9}),
                    ):
                        seen = len(observer.said)
                        await observer.send(type_, **fields)
                        await observer.next_of("error", seen, code="observer")
                    await client.press("ArrowRight")
                    await observer.frame_of(3)
                assert (await end(client, save=True, completed=True))["steps"] == 3

        run(play)
