"""Rewards that people give while an episode is played: written as they come, limited, confirmed when durable."""

import asyncio
import uuid
from pathlib import Path
from typing import Any

import rlds_kit
from rlds_kit.trials import events, messages
from rlds_kit.trials.hosts.judgements import MOST_WAITING, Judgement, Judgements, LayerFile
from tests.studio.play.server import CORRIDOR, Client, entered, playing, pressed, run, serving


async def walk(client: Client, steps: int, since: int = 0) -> None:
    """Some steps to the right and back."""
    for number in range(steps):
        await client.press("ArrowLeft" if number % 2 else "ArrowRight")
    await client.frame_of(steps, since)


def test_every_episode_of_a_session_gets_its_rewards_at_once(tmp_path: Path) -> None:
    """Each is in the layer when the page is told of it, also in an episode of which nothing was on the disk yet."""
    found: list[list[Any]] = []
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def judge(client: Client, looking: Client, value: float, since: int) -> None:
            await walk(client, 2, since)
            await looking.send("reward", value=value)
            await looking.next_of("amended", value=value)
            found.append([each.value for each in rlds_kit.open(tmp_path).layer("judgements").annotations()])

        async def play() -> None:
            async with playing(served.url) as client, entered(served.url, "s:bob:look") as looking:
                await judge(client, looking, 1.0, 0)
                await client.send("cancel")
                await client.next_of("ask")
                await client.send("confirm", save=True, completed=True)
                await client.next_of("state", phase="waiting", episode=1)
                since = len(client.frames)
                await client.send("start")
                await client.next_of("state", phase="running", episode=1)
                await judge(client, looking, -1.0, since)

        run(play)
    assert found == [[1.0], [1.0, -1.0]]
    first, second = rlds_kit.open(tmp_path).episodes
    assert [[each.value for each in episode.annotations()] for episode in (first, second)] == [[1.0], [-1.0]]
    assert len(list((tmp_path / "layers" / "judgements").iterdir())) == 1


def test_a_reward_that_cannot_be_written_is_not_confirmed(tmp_path: Path) -> None:
    """Only its judge is told so; the game goes on, and the next one is written when there is a disk again."""
    (tmp_path / "layers").write_text("in the way")
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client, entered(served.url, "s:bob:look") as looking:
                await walk(client, 2)
                await looking.send("reward", value=1.0)
                said = await looking.next_of("error", code="reward", where="reward")
                assert "was not recorded" in said["message"]
                assert not [each for each in looking.said if each["type"] == "amended"]
                (tmp_path / "layers").unlink()
                await looking.send("reward", value=2.0)
                await looking.next_of("amended", value=2.0)
                assert not [each for each in client.said if each["type"] == "error"]

        run(play)
    assert [each.value for each in rlds_kit.open(tmp_path).layer("judgements").annotations()] == [2.0]


def test_rewards_do_not_pile_up_before_a_slow_disk(tmp_path: Path) -> None:
    """What waits is limited, and whoever gives more is told so."""
    confirmed: list[messages.Amended] = []
    given = messages.Amended(events.RewardGiven(0, "ann", "player", 1.0), 1, 1.0)

    async def test() -> None:
        disk = asyncio.Event()
        judgements = Judgements(LayerFile(str(tmp_path)), confirmed.append, lambda _, __: None)
        judgements.begin(uuid.uuid4(), disk.wait, {})
        for _ in range(MOST_WAITING):
            assert not judgements.is_full
            judgements.add(Judgement(given, 1))
        assert judgements.is_full
        disk.set()
        await judgements.settle()
        for _ in confirmed:
            raise AssertionError("there is no such dataset")
        judgements.add(Judgement(given, 1))
        await judgements.close()

    asyncio.run(test())


def test_a_judge_who_is_too_fast_is_told_so(tmp_path: Path) -> None:
    """Hundreds at once: each is either written and confirmed, or refused."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client, entered(served.url, "s:bob:look") as looking:
                await walk(client, 2)
                for number in range(600):
                    await looking.send("reward", value=float(number))
                await looking.until(lambda me: len(_answers(me)) == 600)
                refused = [each for each in _answers(looking) if each["type"] == "error"]
                assert all("faster than they can be written" in each["message"] for each in refused)
                confirmed.extend(each["value"] for each in _answers(looking) if each["type"] == "amended")

        confirmed: list[float] = []
        run(play)
    assert [each.value for each in rlds_kit.open(tmp_path).layer("judgements").annotations()] == confirmed


def _answers(client: Client) -> list[dict[str, Any]]:
    return [each for each in client.said if each["type"] in {"amended", "error"}]
