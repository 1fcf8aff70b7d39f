"""Several seats: people and programs act together, each seat from a window of its own."""

import asyncio
from pathlib import Path
from typing import Any

import numpy as np

import rlds_kit
from rlds_kit.studio.play.host import Scene
from rlds_kit.trials import ActorConfig, Driver, Turn
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.workers import requests
from tests.studio.play.server import Client, Clock, entered, run, serving
from tests.trials.environments.matching_pennies import MatchingPennies

PENNIES = "tests.trials.environments.matching_pennies:MatchingPennies"


def pennies(directory: Path, **settings: Any) -> Scene:
    """Two seats, a step for each press of those who are waited for."""
    spec = EnvironmentSpec(PENNIES, interface="pettingzoo", policies=settings.pop("policies", {}))
    return Scene(open=requests.Open(spec, str(directory)), turn=Turn.PRESS, seed=lambda _: 5, **settings)


async def begin(*clients: Client) -> None:
    """All say that they are ready."""
    for each in clients:
        await each.next_of("state", phase="waiting")
        await each.send("start")
    for each in clients:
        await each.next_of("state", phase="running")


def assert_same_offline(episode: Any) -> None:
    """The same actions with the same seed give the same steps."""
    env = MatchingPennies()
    observations, _ = env.reset(seed=episode.seed)
    steps = list(episode.steps)
    for step in steps[:-1]:
        np.testing.assert_equal(step["observation"], observations)
        observations, rewards, terminated, _, _ = env.step(step["action"])
        assert step["reward"] == rewards
        assert step["terminated"] == terminated
    np.testing.assert_equal(steps[-1]["observation"], observations)


def test_two_people_act_together(tmp_path: Path) -> None:
    """A step is done when both have pressed; both see it; one that is gone by the rules does nothing more."""
    with serving({"s": pennies(tmp_path)}) as served:

        async def play() -> None:
            async with entered(served.url, "s:ann::odd") as odd, entered(served.url, "s:bob::even") as even:
                await begin(odd, even)
                for number in range(6):
                    await odd.press("ArrowRight" if number % 2 else "ArrowLeft")
                    await even.press("ArrowRight")
                    frames = await odd.frame_of(number + 1), await even.frame_of(number + 1)
                    assert frames[0].step == frames[1].step
                await odd.next_of("ask", is_over=True)
                await even.send("confirm", save=True, completed=True)
                saved = await odd.next_of("saved", steps=6)
                assert saved["totals"]["even"] == -1.0  # of five steps: the other one pressed left in three

        run(play)
    (episode,) = rlds_kit.open(tmp_path).episodes[:1]
    assert_same_offline(episode)
    for step in list(episode.steps)[:-1]:
        assert {name: each["driver"] for name, each in step["play"]["seats"].items()} == {
            "odd": "human",
            "even": "human",
        }
    assert "even" not in list(episode.steps)[5]["action"]


def test_a_person_plays_with_a_policy_and_a_stranger_takes_no_seat(tmp_path: Path) -> None:
    """Only the person is waited for; seats of programs are not for people; what the program did is recorded."""
    scene = pennies(tmp_path, drivers={"even": Driver.POLICY}, policies={"even": "random"})
    with serving({"s": scene}) as served:

        async def play() -> None:
            async with entered(served.url, "s:ann::odd") as odd:
                async with entered(served.url, "s:bob::even") as even:
                    await even.next_of("error", code="seat")
                await begin(odd)
                for number in range(6):
                    await odd.press("ArrowRight")
                    await odd.frame_of(number + 1)
                await odd.send("confirm", save=True, completed=True)
                await odd.next_of("saved", steps=6)

        run(play)
    (episode,) = rlds_kit.open(tmp_path).episodes[:1]
    assert_same_offline(episode)
    steps = list(episode.steps)[:-1]
    assert {step["play"]["seats"]["even"]["driver"] for step in steps} == {"policy"}
    assert {int(step["action"]["even"]) for step in steps[:5]} == {0, 1}


def test_a_program_takes_over_for_a_person_who_is_lost(tmp_path: Path) -> None:
    """Within a step; the person who comes back takes over again; both are recorded with each step."""
    scene = pennies(tmp_path, fallbacks={"even": Driver.POLICY}, policies={"even": "random"})
    with serving({"s": scene}) as served:

        async def play() -> None:
            async with entered(served.url, "s:ann::odd") as odd:
                async with entered(served.url, "s:bob::even") as even:
                    await begin(odd, even)
                    await odd.press("ArrowLeft")
                    await even.press("ArrowRight")
                    await odd.frame_of(1)
                    await even.lose()
                await odd.next_of("driver", seat="even", driver="policy")
                await odd.press("ArrowLeft")
                await odd.frame_of(2)
                async with entered(served.url, "s:bob::even") as even:
                    await odd.next_of("driver", seat="even", driver="human")
                    await even.press("ArrowRight")
                    await odd.press("ArrowLeft")
                    await even.frame_of(3)
                    await odd.send("cancel")
                    await odd.next_of("ask")
                    await odd.send("confirm", save=True, completed=False)
                    await even.next_of("saved", steps=3)

        run(play)
    (episode,) = rlds_kit.open(tmp_path).episodes[:1]
    drivers = [step["play"]["seats"]["even"]["driver"] for step in list(episode.steps)[:-1]]
    assert drivers == ["human", "policy", "human"]
    assert_same_offline(episode)


def test_a_person_hands_over_to_a_policy_and_takes_over_again(tmp_path: Path) -> None:
    """Within a step; keys do nothing meanwhile, and only a seat that has a policy can be handed over."""
    with serving({"s": pennies(tmp_path, policies={"even": "random"})}) as served:

        async def play() -> None:
            async with entered(served.url, "s:ann::odd") as odd, entered(served.url, "s:bob::even") as even:
                await begin(odd, even)
                await odd.send("drive", driver="policy")
                await odd.next_of("error", code="policy")
                await even.send("drive", driver="policy")
                await odd.next_of("driver", seat="even", driver="policy")
                await even.press("ArrowRight")
                await odd.press("ArrowLeft")
                await odd.frame_of(1)
                await even.send("drive", driver="human")
                await odd.next_of("driver", seat="even", driver="human")
                await odd.press("ArrowLeft")
                await even.press("ArrowRight")
                await odd.frame_of(2)
                await even.send("drive", driver="human")
                await even.next_of("error", code="refused", where="drive")
                await odd.send("cancel")
                await odd.next_of("ask")
                await odd.send("confirm", save=True, completed=True)
                await odd.next_of("saved", steps=2)

        run(play)
    (episode,) = rlds_kit.open(tmp_path).episodes[:1]
    facts = [step["play"]["seats"]["even"] for step in list(episode.steps)[:-1]]
    assert [each["driver"] for each in facts] == ["policy", "human"]
    assert_same_offline(episode)


def own(directory: Path, **settings: Any) -> Scene:
    """The same, where each seat has a picture of its own."""
    spec = EnvironmentSpec(f"{__name__}:OwnPictures", interface="pettingzoo")
    return Scene(open=requests.Open(spec, str(directory)), turn=Turn.PRESS, **settings)


class OwnPictures(MatchingPennies):
    """Each sees a grey of their own."""

    def render_for(self, agent: str) -> np.ndarray:
        """A picture of one agent."""
        return np.full((8, 8, 3), 50 * (1 + self.possible_agents.index(agent)), np.uint8)


def test_c33_each_seat_sees_its_own_picture_and_onlookers_the_common_one(tmp_path: Path) -> None:
    """Where the environment has a method `render_for`."""
    with serving({"s": own(tmp_path)}) as served:

        async def play() -> None:
            async with (
                entered(served.url, "s:ann::odd") as odd,
                entered(served.url, "s:bob::even") as even,
                entered(served.url, "s:eve:look") as eve,
            ):
                await begin(odd, even)
                await odd.press("ArrowLeft")
                await even.press("ArrowRight")
                for each in (odd, even, eve):
                    await each.frame_of(1)
                pictures = [each.payloads[-1] for each in (odd, even, eve)]
                assert len(set(pictures)) == 3

        run(play)


def test_a_person_who_presses_nothing_is_stood_in_for_until_the_next_key(tmp_path: Path) -> None:
    """By the clock of the session; the others are not paused."""
    clock = Clock()
    scene = Scene(
        open=requests.Open(
            EnvironmentSpec(PENNIES, {"length": 100_000}, interface="pettingzoo"),
            str(tmp_path),
            are_observations_returned=True,
        ),
        turn=Turn.CLOCK,
        fps=60.0,
        fallbacks={"even": Driver.ACTOR},
        actors={"even": ActorConfig(implementation="random")},
        idle={"even": 5.0},
        people={"odd": "ann", "even": "bob"},
        limits={"idle_seconds": None},
    )
    with serving({"s": scene}, clock=clock) as served:

        async def play() -> None:
            async with entered(served.url, "s:ann::odd") as odd, entered(served.url, "s:bob::even") as even:
                await begin(odd, even)
                clock.offset += 6 * 10**9
                await odd.next_of("driver", seat="even", driver="actor")
                seats = [{"seat": "odd", "state": "person", "program": ""}]
                seats.append({"seat": "even", "state": "away", "program": "random"})
                await odd.next_of("participants", seats=seats)
                # The session's step, as a slow window may have seen earlier ones only. The step after it may have begun
                # before the program took over.
                await odd.reached(served.live_sessions._live["s"].episode.trial.step + 2)
                await even.press("ArrowRight")
                await odd.next_of("driver", seat="even", driver="human")
                await odd.send("cancel")
                await odd.next_of("ask")
                await odd.send("confirm", save=True, completed=True)
                await odd.next_of("saved")

        run(play)
    (episode,) = rlds_kit.open(tmp_path).episodes[:1]
    drivers = [step["play"]["seats"]["even"]["driver"] for step in list(episode.steps)[:-1]]
    assert {"human", "actor"} == set(drivers)
    assert episode.metadata["participants"] == {
        "odd": {"kind": "human", "agent_id": "ann"},
        "even": {"kind": "human", "agent_id": "bob", "fallback": f"random {rlds_kit.__version__}"},
    }


async def mute(observation: Any, reward: Any, messages: Any) -> None:
    """Never acts, and delays nobody else."""
    await asyncio.Event().wait()


def test_g7_a_program_that_is_silent_ends_the_episode_with_the_reason(tmp_path: Path) -> None:
    """After the time that it has to answer; the step that waited for it was not done."""
    scene = Scene(
        open=requests.Open(
            EnvironmentSpec(PENNIES, interface="pettingzoo"), str(tmp_path), are_observations_returned=True
        ),
        turn=Turn.PRESS,
        drivers={"even": Driver.ACTOR},
        actors={"even": ActorConfig(implementation=mute)},
        people={"odd": "ann"},
        limits={"answer_seconds": 0.2},
    )
    with serving({"s": scene}) as served:

        async def play() -> None:
            async with entered(served.url, "s:ann::odd") as odd:
                await begin(odd)
                await odd.press("ArrowLeft")
                await odd.next_of("notice", code="ended")

        run(play)
        (episode,) = served.host.episodes
    assert (episode.status.value, episode.reason) == ("abandoned", "even gave no action in time")


def test_rewards_of_people_are_kept_beside_those_of_the_environment(tmp_path: Path) -> None:
    """For any step that was done, of any seat; the mean by confidence is shown at once; the future is refused."""
    with serving({"s": pennies(tmp_path)}) as served:

        async def play() -> None:
            async with entered(served.url, "s:ann::odd") as odd, entered(served.url, "s:bob::even") as even:
                await begin(odd, even)
                for number in range(3):
                    await odd.press("ArrowLeft")
                    await even.press("ArrowRight")
                    await odd.frame_of(number + 1)
                await odd.send("reward", value=1.0, seat="even", step=1)
                await odd.next_of("amended", step=1, seat="even", aggregate=1.0)
                await even.send("reward", value=-1.0, confidence=0.5, seat="even", step=1, note="late")
                await odd.next_of("amended", step=1, value=-1.0, aggregate=1 / 3)
                await odd.send("reward", value=1.0, step=4)
                assert "which are done" in (await odd.next_of("error", code="refused", where="reward"))["message"]
                await odd.send("reward", value=1.0, episode=7)
                await odd.next_of("error", code="episode")
                await even.send("say", content="again?", to=["odd"])
                await odd.next_of("said", sender="even", content="again?")
                await odd.send("cancel")
                await odd.next_of("ask")
                await odd.send("confirm", save=True, completed=True)
                await odd.next_of("saved")

        run(play)
    (episode,) = rlds_kit.open(tmp_path).episodes[:1]
    first, second, note = rlds_kit.open(tmp_path).layer("judgements").annotations(episode)
    assert [(each.field, each.steps, each.user_data["done"]) for each in (first, second)] == [
        ("reward/even", range(1), 3)
    ] * 2
    assert [(each.value, each.confidence, each.source) for each in (first, second)] == [
        (1.0, 1.0, "ann"),
        (-1.0, 0.5, "bob"),
    ]
    assert (note.value, note.source) == ("late", "bob")
    amended = rlds_kit.open(tmp_path).as_amended("judgements").episodes[0]
    assert amended.steps[0]["reward"]["even"] == 1 / 3
    assert_same_offline(episode)
