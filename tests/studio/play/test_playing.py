"""Episodes as people play them through a real socket. Names of tests say which rows of RLDS Creator they hold up to."""

from pathlib import Path
from typing import Any

import pytest

import rlds_kit
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.trials import Status, Turn
from tests.studio.play.server import CORRIDOR, LONG, Client, Clock, entered, playing, pressed, run, scene, serving


async def walk(client: Client, steps: int, since: int = 0) -> None:
    """Presses alternately right and left, so that the corridor never ends."""
    for number in range(steps):
        await client.press("ArrowLeft" if number % 2 else "ArrowRight")
    await client.frame_of(steps, since)


async def end(client: Client, *, save: bool, completed: bool) -> dict[str, Any]:
    """Breaks off, decides, and waits until it is on the disk."""
    since = len(client.said)
    await client.send("cancel")
    await client.next_of("ask", since)
    await client.send("confirm", save=save, completed=completed)
    return await client.next_of("saved", since)


def test_r7_instructions_come_before_the_first_picture(tmp_path: Path) -> None:
    """And what the page needs to draw: seats, controls, cameras, the rate."""
    with serving({"s": pressed(CORRIDOR, tmp_path, instructions="Go right.")}) as served:

        async def play() -> None:
            async with entered(served.url) as client:
                welcome = await client.next_of("welcome")
                await client.frame_of(0)
                assert client.said[0] is welcome
                assert (welcome["instructions"], welcome["turn"]) == ("Go right.", "press")
                assert (welcome["seat"], welcome["seats"], welcome["cameras"]) == ("player", ["player"], ["default"])
                assert ["ArrowRight"] in [each["keys"] for each in welcome["controls"]["chords"]]

        run(play)


def test_r8_so_many_presses_are_so_many_steps(tmp_path: Path) -> None:
    """Keys that repeat, keys that mean nothing, and keys that go up make no step."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await walk(client, 7)
                for _ in range(5):  # held: a browser repeats it
                    await client.send("keys", held={"ArrowRight": 1.0})
                for _ in range(3):
                    await client.press("KeyZ")
                saved = await end(client, save=True, completed=False)
                assert saved["steps"] == 8

        run(play)
    assert rlds_kit.open(tmp_path).episodes[0].length == 9


def test_a_window_that_comes_back_is_sent_the_episodes_that_are_over(tmp_path: Path) -> None:
    """As the window before was: what was saved while the connection was lost is not missing in the list of the page."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                assert client.said[0]["saved"] == []
                await walk(client, 2)
                first = await end(client, save=True, completed=False)
                await client.next_of("state", phase="waiting", episode=1)  # before, there is nothing to break off
                second = await end(client, save=False, completed=False)
            async with entered(served.url) as again:
                found = (await again.next_of("welcome"))["saved"]
            sent = [{key: each[key] for key in each if key not in ("v", "type")} for each in (first, second)]
            assert found == sent
            assert [each["episode"] for each in found] == [0, 1]

        run(play)


def test_r9_a_clock_makes_steps_and_its_rate_is_recorded(tmp_path: Path) -> None:
    """It waits until the person is ready; then the default action is done where nothing is pressed."""
    with serving({"s": scene(CORRIDOR, tmp_path, fps=1.0, max_steps=8)}) as served:

        async def play() -> None:
            async with entered(served.url) as client:
                await client.next_of("state", phase="waiting")
                assert [frame.step for frame in client.frames] in ([], [0])
                await client.send("start")
                await client.frame_of(1)
                await client.send("rate", fps=60)
                await client.next_of("state", fps=60.0)
                await client.send("rate", fps=61)
                await client.next_of("error", code="refused")
                await client.next_of("ask", is_completed=True)
                await client.send("confirm", save=True, completed=True)
                await client.next_of("saved", status="completed", steps=3)
                await client.next_of("state", episode=1, phase="waiting", fps=60.0)

        run(play)
    episode = rlds_kit.open(tmp_path).episodes[0]
    rates = [step["play"]["fps"] for step in list(episode.steps)[:-1]]
    assert (episode.metadata["fps"], rates[0], rates[-1]) == (1.0, 1.0, 60.0)
    assert all(step["play"]["seats"]["player"]["is_default"] for step in list(episode.steps)[:-1])


def test_r10_an_idle_person_is_paused(tmp_path: Path) -> None:
    """After six seconds without a key."""
    clock = Clock()
    with serving({"s": scene(LONG, tmp_path, fps=5.0)}, clock=clock) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await client.reached(1)
                clock.offset += 7_000_000_000
                said = await client.next_of("state", phase="paused")
                assert said["reason"] == "no key was pressed"

        run(play)


def test_r11_a_pause_adds_no_steps_and_expires(tmp_path: Path) -> None:
    """What was played until then is kept, as abandoned; the window is told and closed."""
    with serving({"s": scene(LONG, tmp_path, fps=20.0, limits={"pause_seconds": 0.5})}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await client.reached(2)
                await client.send("pause")
                paused = await client.next_of("state", phase="paused")
                saved = await client.next_of("saved", status="abandoned")
                assert saved["steps"] in {paused["step"], paused["step"] + 1}  # one was being done
                await client.next_of("notice", code="ended")
                assert (await client.is_closed())[0] == 4000

        run(play)
        assert served.host.reasons == {"s": "nobody went on"}
    assert rlds_kit.open(tmp_path).episodes[0].metadata["status"] == "abandoned"


def test_r11_a_paused_episode_goes_on(tmp_path: Path) -> None:
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await walk(client, 2)
                await client.send("pause")
                await client.next_of("state", phase="paused")
                await client.press("ArrowRight")  # while it is paused
                await client.send("resume")
                await client.next_of("state", len(client.said) - 1, phase="running")
                await client.press("ArrowRight")
                await client.frame_of(3)
                assert (await end(client, save=True, completed=True))["steps"] == 3

        run(play)


@pytest.mark.parametrize(
    ("save", "completed", "status"),
    [(True, True, "completed"), (True, False, "cancelled"), (False, False, "rejected"), (False, True, "rejected")],
)
def test_r12_r13_r14_what_a_person_decides_is_recorded(
    save: bool,
    completed: bool,
    status: str,
    tmp_path: Path,
) -> None:
    """All are kept; the next episode is ready."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await walk(client, 2)
                saved = await end(client, save=save, completed=completed)
                assert (saved["status"], saved["steps"], saved["is_kept"]) == (status, 2, True)
                await client.next_of("state", phase="waiting", episode=1)

        run(play)
        (episode,) = [each for each in served.host.episodes if each.is_kept]
        assert (episode.status, episode.is_whole) == (Status(status), True)
        (recorded,) = rlds_kit.open(tmp_path).episodes[:1]
        assert recorded.id.hex == episode.episode_id
        assert recorded.metadata["status"] == status


def test_r13_the_end_of_a_game_suggests_completed(tmp_path: Path) -> None:
    """A person who breaks off is not done; who goes on playing after that is asked again."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await client.press("ArrowRight")
                await client.send("cancel")
                assert not (await client.next_of("ask"))["is_completed"]
                await client.send("resume")
                await client.next_of("state", len(client.said), phase="running")
                for _ in range(2):
                    await client.press("ArrowRight")
                await client.next_of("ask", is_completed=True, is_over=True)
                await client.send("confirm", save=True, completed=True)
                assert (await client.next_of("saved"))["totals"] == {"player": 6.0}

        run(play)
    assert rlds_kit.open(tmp_path).episodes[0].end is EpisodeEnd.TERMINATED


def test_r14_an_episode_without_a_step_that_nobody_wanted_is_dropped(tmp_path: Path) -> None:
    """The person goes before the first step."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await client.send("leave")
                assert (await client.is_closed())[0] == 1000

        run(play)
    assert [each.is_kept for each in served.host.episodes] == [False]
    assert not rlds_kit.open(tmp_path).episodes


def test_who_left_may_come_back_at_once(tmp_path: Path) -> None:
    """To a new play of the session, as soon as what was played before is on the disk."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            for _ in range(3):
                async with playing(served.url) as client:
                    await walk(client, 2)
                    await client.send("leave")
                    await client.is_closed()

        run(play)
    assert [each.steps for each in served.host.episodes] == [2, 2, 2]
    assert len({each.episode_id for each in served.host.episodes}) == 3


def test_episodes_are_counted_on_in_a_session_that_was_played_before(tmp_path: Path) -> None:
    """From the number that the host knows; seeds go with the number."""
    with serving({"s": pressed(CORRIDOR, tmp_path, first=7, seed=lambda number: 100 + number)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await walk(client, 2)
                assert (await end(client, save=True, completed=True))["episode"] == 7

        run(play)
    (episode, *_) = served.host.episodes
    assert (episode.number, episode.seed) == (7, 107)


def test_r15_an_episode_says_who_what_when_and_how(tmp_path: Path) -> None:
    """In its own metadata, so that a dataset needs no database."""
    about = {"study": "doors", "user": "u-17", "environment": "Corridor"}
    with serving({"s": pressed(CORRIDOR, tmp_path, metadata=about, seed=lambda number: 40 + number)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await walk(client, 3)
                await client.send("reward", value=0.5, confidence=0.5, note="well done")
                assert (await client.next_of("amended"))["aggregate"] == 0.5
                await client.send("reward", value=1, step=99)
                await client.next_of("error", code="refused")
                await end(client, save=True, completed=True)
                await client.send("reward", value=1, episode=0)
                await client.next_of("error", code="episode")

        run(play)
        told = served.host.episodes[0]
    episode = rlds_kit.open(tmp_path).episodes[0]
    found = episode.metadata
    assert about.items() <= found.items()
    assert (found["session"], found["number"], episode.seed) == ("s", 0, 40)
    assert (found["started_ns"], found["ended_ns"]) == (told.started_ns, told.ended_ns)
    assert found["started_ns"] <= found["ended_ns"]
    assert (found["totals"], found["holders"]) == ({"player": 1.0 + 0.0 + 1.0}, {"player": "ann"})
    judged, noted = rlds_kit.open(tmp_path).layer("judgements").annotations(episode)
    assert (judged.field, judged.steps, judged.source) == ("reward", range(2, 3), "ann")
    assert (judged.value, judged.confidence, judged.user_data["seat"]) == (0.5, 0.5, "player")
    assert (noted.value, noted.steps, noted.source) == ("well done", range(2, 3), "ann")
    assert found["frames"]["player"]["latency_p50_ms"] > 0


def test_messages_of_a_seat_are_recorded_with_the_next_step(tmp_path: Path) -> None:
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await client.send("say", content="here I go")
                await walk(client, 2)
                await end(client, save=True, completed=True)

        run(play)
    steps = list(rlds_kit.open(tmp_path).episodes[0].steps)
    assert [said["content"] for said in steps[0]["play"]["said"]] == ["here I go"]
    assert "said" not in steps[1]["play"]


def test_the_other_turns_step_as_they_say(tmp_path: Path) -> None:
    """While keys are held; once until all are up."""
    scenes = {turn.value: scene(CORRIDOR, tmp_path / turn.value, turn=turn) for turn in (Turn.HOLD, Turn.RELEASE)}
    with serving(scenes) as served:

        async def play() -> None:
            async with playing(served.url, "release:ann") as client:
                await client.send("keys", held={"ArrowRight": 1.0})
                await client.send("keys", held={"ArrowRight": 1.0, "ArrowLeft": 1.0})
                await client.press("ArrowLeft")
                await client.press("ArrowLeft")
                await client.frame_of(2)
                assert (await end(client, save=True, completed=True))["steps"] == 2
            async with playing(served.url, "hold:ann") as client:
                await client.send("keys", held={"ArrowRight": 1.0})
                await client.next_of("ask")  # three steps to the end
                await client.send("confirm", save=True, completed=True)
                assert (await client.next_of("saved"))["steps"] == 3

        run(play)


def test_a_server_that_is_shut_down_keeps_what_was_played(tmp_path: Path) -> None:
    """As abandoned, and says so to its host."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await walk(client, 4)

        run(play)
    (episode,) = served.host.episodes
    assert (episode.status, episode.steps, episode.is_whole) == (Status.ABANDONED, 4, True)
    (recorded,) = rlds_kit.open(tmp_path).episodes
    assert (recorded.length, recorded.metadata["status"]) == (5, "abandoned")
