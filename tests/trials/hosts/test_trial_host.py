"""Trials from Python: many at a time, recorded, changed by hooks, watched, ended and judged."""

import asyncio
import dataclasses
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.trials import (
    EnvironmentSpec,
    FinishedTrial,
    Phase,
    Status,
    TrialHost,
    TrialRefusedError,
    TrialSetup,
    TrialState,
    run_trials,
    run_trials_async,
)
from rlds_kit.trials.workers.channel import Channel
from tests.trials.hosts.running import CORRIDOR, PENNIES, corridor, odd, pennies, run, seats, steps


@pytest.mark.parametrize(
    ("make", "actors"),
    [
        (corridor, ["random"]),
        (pennies, [odd("Talking"), "random"]),
        (pennies, [odd("Heeding"), odd("Judging")]),
        (pennies, [odd("Judging"), odd("Heeding")]),
    ],
    ids=["one", "talking", "judged", "judging"],
)
def test_the_same_seed_and_script_give_the_same_recording_here_and_in_processes(
    make: Any, actors: list[Any], tmp_path: Path
) -> None:
    """Digest for digest, with one seat, with two that talk, or learn of rewards; one trial at a time or several."""
    talking: TrialSetup = make(*actors)
    digests = []
    for name, options in (("here", {"is_here": True}), ("one", {"parallel": 1}), ("three", {"parallel": 3})):
        found: dict[str, Any] = options
        trials = list(run_trials(talking, 4, directory=tmp_path / name, **found))
        assert sorted(trial.number for trial in trials) == [0, 1, 2, 3]
        assert sorted(trial.seed for trial in trials if trial.seed is not None) == [3, 4, 5, 6]
        digests.append(rlds_kit.open(tmp_path / name).content_digest)
    assert digests[0] == digests[1] == digests[2]
    changed = dataclasses.replace(talking, seed=99)
    list(run_trials(changed, 4, directory=tmp_path / "other", is_here=True))
    assert rlds_kit.open(tmp_path / "other").content_digest != digests[0]


def test_a_recording_is_what_the_environment_did(tmp_path: Path) -> None:
    """As a loop without trials plays it; each step says when its actor was asked, and when it answered."""
    spec = EnvironmentSpec("CartPole-v1")
    setup = TrialSetup(environment=spec, actors={"player": "random"}, seed=5)
    (trial,) = run_trials(setup, 1, directory=tmp_path)
    (episode,) = rlds_kit.open(tmp_path).episodes
    assert (episode.id.hex, trial.steps) == (trial.episode_id, len(episode) - 1)
    assert episode.end is EpisodeEnd.TERMINATED
    env = rlds_kit.open(tmp_path).make_env()
    observation, _ = env.reset(seed=5)
    for step in list(episode.steps)[:-1]:
        np.testing.assert_array_equal(step["observation"], observation)
        observation, reward, _, _, _ = env.step(step["action"])
        assert step["reward"] == reward
        clock = step["trial_clock"]["player"]
        assert 0 <= clock["requested_ns"] <= clock["answered_ns"]


def test_trials_are_yielded_while_others_run(tmp_path: Path) -> None:
    """A quick one comes before a slow one that began earlier, and can be read already."""
    slow = corridor(odd("Silent"), answer_seconds=60.0)

    async def play() -> list[FinishedTrial]:
        found = []
        async for trial in run_trials_async([slow, corridor()], directory=tmp_path, parallel=2):
            assert [each.id.hex for each in rlds_kit.open(tmp_path).episodes] == [trial.episode_id]
            found.append(trial)
            break
        return found

    assert [trial.number for trial in run(play)] == [1]


def test_leaving_the_loop_ends_what_runs() -> None:
    """As abandoned; no process is left, though one of them never answers."""
    for trial in run_trials([corridor(), corridor(odd("Silent"), answer_seconds=60.0)], parallel=2):
        assert trial.number == 0
        break


def test_g9_hooks_rewrite_the_whole_setup_in_their_order(tmp_path: Path) -> None:
    async def to_pennies(setup: TrialSetup) -> TrialSetup:
        await asyncio.sleep(0)
        return dataclasses.replace(setup, environment=PENNIES, actors={"odd": odd("Right"), "even": odd("left")})

    async def tagged(setup: TrialSetup) -> TrialSetup:
        return dataclasses.replace(setup, properties={"seats": sorted(setup.actors)}, trial_id="hooked", max_steps=2)

    (trial,) = run_trials(corridor(), 1, directory=tmp_path, hooks=[to_pennies, tagged])
    assert (trial.id, trial.steps, trial.setup.environment) == ("hooked", 2, PENNIES)
    (episode,) = rlds_kit.open(tmp_path).episodes
    assert episode.metadata["properties"] == {"seats": ["even", "odd"]}
    assert episode.metadata["trial"] == "hooked"


def test_g9_a_hook_that_raises_refuses_that_trial_and_no_other() -> None:
    async def picky(setup: TrialSetup) -> TrialSetup:
        if setup.seed == 4:
            raise LookupError("no opponent for it")
        return setup

    trials = {trial.number: trial for trial in run_trials(corridor(), 3, hooks=[picky], is_here=True)}
    assert [trials[number].status for number in range(3)] == [Status.COMPLETED, None, Status.COMPLETED]
    refused = trials[1].error
    assert isinstance(refused, TrialRefusedError)
    assert isinstance(refused.__cause__, LookupError)
    assert "no opponent for it" in trials[1].reason


def test_g9_a_hook_that_returns_something_else_refuses_the_trial() -> None:
    async def forgetful(setup: TrialSetup) -> Any:
        return None

    (trial,) = run_trials(corridor(), 1, hooks=[forgetful], is_here=True)
    assert "expected a hook to return a TrialSetup, got NoneType" in trial.reason


def test_g17_limits_of_steps_and_time_truncate_with_a_whole_last_step(tmp_path: Path) -> None:
    slow = corridor(odd("Slow", config={"seconds": 0.15}), max_seconds=0.2)
    (by_steps,) = run_trials(corridor(max_steps=2), 1, directory=tmp_path / "steps")
    (by_time,) = run_trials(slow, 1, directory=tmp_path / "time")
    assert (by_steps.status, by_steps.steps) == (Status.COMPLETED, 2)
    assert by_time.status is Status.COMPLETED
    assert by_time.steps < 3
    for name, done in (("steps", 2), ("time", by_time.steps)):
        (episode,) = rlds_kit.open(tmp_path / name).episodes
        assert (episode.end, len(episode)) == (EpisodeEnd.TRUNCATED, done + 1)


def test_g17_a_trial_is_ended_softly_or_hard(tmp_path: Path) -> None:
    """Both leave a whole last step; a soft end does one more, which is truncated."""

    async def play(is_hard: bool) -> FinishedTrial:
        async with TrialHost(tmp_path / str(is_hard), parallel=1) as host:
            trial = await host.start(corridor(odd("Slow", config={"seconds": 0.05, "action": "both"}), max_steps=500))
            await reached(host, 2)
            assert host.end(trial, "enough", is_hard=is_hard)
            found = await host.result(trial)
            assert not host.end(trial)
            return found

    soft, hard = run(lambda: play(is_hard=False)), run(lambda: play(is_hard=True))
    assert (soft.status, hard.status, hard.reason) == (Status.COMPLETED, Status.ABANDONED, "enough")
    for trial, name, end in ((soft, "False", EpisodeEnd.TRUNCATED), (hard, "True", EpisodeEnd.INTERRUPTED)):
        (episode,) = rlds_kit.open(tmp_path / name).episodes
        assert (episode.end, len(episode)) == (end, trial.steps + 1)


def test_g18_properties_filter_episodes(tmp_path: Path) -> None:
    setups = [corridor(properties={"level": level, "tags": ["a"]}, user="ann") for level in (1, 2, 2)]
    list(run_trials(setups, directory=tmp_path, parallel=1))
    found = rlds_kit.open(tmp_path).where(lambda metadata: metadata["properties"]["level"] == 2)
    assert len(found.episodes) == 2
    assert found.episodes[0].metadata["user"] == "ann"


def test_g19_an_id_is_given_once(tmp_path: Path) -> None:
    """Also one of a trial that is over; the others have ids of their own."""
    setups = [corridor(trial_id="one"), corridor(trial_id="one"), corridor(), corridor()]
    trials = {trial.number: trial for trial in run_trials(setups, directory=tmp_path, parallel=1)}
    assert isinstance(trials[1].error, TrialRefusedError)
    assert "'one'" in trials[1].reason
    assert len({trials[number].id for number in (0, 2, 3)}) == 3
    assert len(rlds_kit.open(tmp_path).episodes) == 3
    with pytest.raises(ValueError, match="without trial_id"):
        next(iter(run_trials(corridor(trial_id="one"), 2)))


def test_g1_g20_every_phase_is_watched_and_trials_are_listed() -> None:
    """With the latest observation, and how long it takes; the list can be of some phases only."""

    async def play() -> tuple[list[TrialState], FinishedTrial]:
        async with TrialHost(parallel=1) as host:
            seen: list[TrialState] = []
            watching = asyncio.create_task(_collect(host, seen))
            await asyncio.sleep(0)
            trial = await host.start(corridor(properties={"colour": "red"}))
            found = await host.result(trial)
            (listed,) = host.trials(Phase.ENDED)
            assert (listed.id, listed.step, host.trials(Phase.RUNNING)) == (trial, 3, [])
        await watching
        return seen, found

    seen, found = run(play)
    phases = [state.phase for state in seen]
    assert [phase for at, phase in enumerate(phases) if phase not in phases[:at]] == [
        Phase.INITIALIZING,
        Phase.WAITING,
        Phase.RUNNING,
        Phase.ENDED,
    ]
    last = seen[-1]
    assert (last.id, last.step, last.totals, last.properties) == (found.id, 3, found.totals, {"colour": "red"})
    np.testing.assert_array_equal(last.observations["player"], [3])
    assert last.seconds > 0
    assert [state.step for state in seen] == sorted(state.step for state in seen)


def test_g14_g15_rewards_come_at_any_age_and_amend_the_recording(tmp_path: Path) -> None:
    """During the trial and after it; as recorded and as amended; learners hear of each new aggregate."""
    heard: list[tuple[str, int, float]] = []

    async def play() -> None:
        def amended(trial: str, seat: str, step: int, value: float) -> None:
            heard.append((seat, step, value))

        async with TrialHost(tmp_path, parallel=1, amended=amended) as host:
            trial = await host.start(pennies())
            await host.result(trial)
            assert await host.reward(trial, "even", 1.0, source="ann", confidence=0.5, step=1) == {"even": 1.0}
            assert await host.reward(trial, "*", 4.0, source="bob", step=1) == {"odd": 4.0, "even": 3.0}
            for step in (0, 5, -1):
                with pytest.raises(ValueError, match="expected one of the steps 1 to 4"):
                    await host.reward(trial, "even", 1.0, source="ann", step=step)
            on_disk = rlds_kit.open(tmp_path).layer("judgements").annotations(rlds_kit.open(tmp_path).episodes[0])
            assert len(on_disk) == 3

    run(play)
    assert heard == [("even", 1, 1.0), ("odd", 1, 4.0), ("even", 1, 3.0)]
    recorded = rlds_kit.open(tmp_path)
    assert recorded.episodes[0].steps[0]["reward"]["even"] == -1.0
    assert recorded.as_amended("judgements").episodes[0].steps[0]["reward"]["even"] == 3.0
    assert recorded.as_amended("judgements").episodes[0].steps[1]["reward"]["even"] == -1.0


def test_g21_g22_a_learner_reads_while_trials_run(tmp_path: Path) -> None:
    """Episodes that are over, and the steps of one that still goes on."""

    async def play() -> None:
        async with TrialHost(tmp_path, parallel=1) as host:
            await host.result(await host.start(corridor()))
            running = await host.start(
                corridor(odd("Slow", config={"seconds": 0.02, "action": "both"}), max_steps=5000)
            )
            await reached(host, 5)
            async with asyncio.timeout(60):
                while len(lengths := _lengths(tmp_path)) < 2 or min(lengths) < 4:  # noqa: ASYNC110  the disk has no events
                    await asyncio.sleep(0.05)
            batch = next(iter(rlds_kit.open(tmp_path).transitions().batches(3, shuffle="global", seed=0)))
            assert sorted(batch["action"].tolist()) == [1, 1, 1]
            assert host.end(running)

    run(play)


def test_g29_a_teacher_overrides_and_both_actions_are_recorded(tmp_path: Path) -> None:
    """The environment does the teacher's action; the record has the proposal, and says which was done."""
    spec = dataclasses.replace(CORRIDOR, has_teacher=True)
    setup = TrialSetup(
        environment=spec, actors={"player": odd("Right"), "teacher": odd("Correcting")}, seed=1, max_steps=4
    )
    (trial,) = run_trials(setup, 1, directory=tmp_path)
    assert (trial.status, trial.totals["player"]) == (Status.COMPLETED, 1.0 + 0.0 + 1.0 + 2.0)
    fields = [(int(each["proposal"]), int(each["action"]), bool(each["intervention"])) for each in steps(tmp_path)]
    assert fields == [(1, 1, False), (1, 0, True), (1, 1, False), (1, 1, False)]
    assert seats(tmp_path, "teacher") == [("actor", False)] * 4


def test_g29_there_is_no_teaching_without_a_teacher_and_only_one_seat_is_taught(tmp_path: Path) -> None:
    """The seat may be empty; an environment of two agents has none."""
    spec = dataclasses.replace(CORRIDOR, has_teacher=True)
    (alone,) = run_trials(TrialSetup(environment=spec, actors={"player": odd("Right")}), 1, directory=tmp_path)
    assert alone.status is Status.COMPLETED
    assert not any(step["intervention"] for step in steps(tmp_path))
    (refused,) = run_trials(
        dataclasses.replace(pennies(), environment=dataclasses.replace(PENNIES, has_teacher=True)), 1
    )
    assert "expected an environment with one seat" in refused.reason


def test_setups_that_cannot_be_are_refused_with_the_reason() -> None:
    """Actors without a seat, and a seat without an actor."""
    setups: Sequence[TrialSetup] = [
        dataclasses.replace(corridor(), actors={"player": "random", "ghost": "random"}),
        dataclasses.replace(pennies(), actors={"odd": "random"}),
        dataclasses.replace(corridor(), environment=EnvironmentSpec("NoSuchThing-v0")),
        corridor("nothing_known"),
    ]
    reasons = [trial.reason for trial in sorted(run_trials(setups, is_here=True), key=lambda each: each.number)]
    assert "expected actors for the seats player, got ghost" in reasons[0]
    assert "expected an actor for seat 'even'" in reasons[1]
    assert "NoSuchThing" in reasons[2]
    assert "one of the actors" in reasons[3]


@pytest.mark.parametrize("is_here", [False, True])
def test_an_environment_that_fails_abandons_its_trial_and_no_other(is_here: bool, tmp_path: Path) -> None:
    """The next trial gets another environment."""
    failing = dataclasses.replace(CORRIDOR, kwargs={"trouble": "crash"})
    setups = [dataclasses.replace(corridor(), environment=each) for each in (failing, CORRIDOR, failing, CORRIDOR)]
    trials = sorted(run_trials(setups, directory=tmp_path, parallel=2, is_here=is_here), key=lambda each: each.number)
    assert [trial.status for trial in trials] == [Status.ABANDONED, Status.COMPLETED] * 2
    assert "the corridor fell in" in trials[0].reason


async def reached(host: TrialHost, step: int) -> None:
    """Waits until a trial has done a step."""
    async for state in host.watch():
        if state.phase is Phase.RUNNING and state.step >= step:
            return


async def _collect(host: TrialHost, seen: list[TrialState]) -> None:
    async for state in host.watch():
        seen.append(state)  # noqa: PERF401  what came is seen also if this is cancelled


def _lengths(directory: Path) -> list[int]:
    return [episode.length for episode in rlds_kit.open(directory, include_open=True).episodes]


def test_g6_those_who_watch_change_nothing(tmp_path: Path) -> None:
    """They come and go in mid-trial, and the recording is the same."""

    async def play(directory: Path, watchers: int) -> None:
        async with TrialHost(directory, parallel=1) as host:
            seen: list[list[TrialState]] = [[] for _ in range(watchers)]
            watching = [asyncio.create_task(_collect(host, each)) for each in seen]
            trial = await host.start(pennies("random", "random"))
            if watchers:
                await reached(host, 1)
                watching[0].cancel()
            await host.result(trial)
            assert all(seen)
        await asyncio.gather(*watching, return_exceptions=True)

    run(lambda: play(tmp_path / "alone", 0))
    run(lambda: play(tmp_path / "watched", 2))
    alone, watched = (rlds_kit.open(tmp_path / name).content_digest for name in ("alone", "watched"))
    assert alone == watched


def test_processes_of_environments_and_actors_are_used_again() -> None:
    """And one that was killed while it was free is not: the next trial gets another."""

    async def play() -> None:
        async with TrialHost(parallel=1) as host:
            assert host._pool is not None
            for _ in range(3):
                assert (await host.result(await host.start(corridor()))).status is Status.COMPLETED
            (worker,) = host._pool.processes
            (place,) = [home.place for home in host._actors._homes]
            assert isinstance(place, Channel)
            os.kill(worker, signal.SIGKILL)
            os.kill(place.pid, signal.SIGKILL)
            while host._pool.processes or place.is_alive:  # noqa: ASYNC110  their pipes tell
                await asyncio.sleep(0.005)
            assert (await host.result(await host.start(corridor()))).status is Status.COMPLETED

    run(play)


def test_an_environment_whose_process_is_killed_abandons_its_trial(tmp_path: Path) -> None:
    """What was durable is there; the next trial runs."""

    async def play() -> list[FinishedTrial]:
        async with TrialHost(tmp_path, parallel=1) as host:
            assert host._pool is not None
            slow = odd("Slow", config={"seconds": 0.01, "action": "both"})
            first = await host.start(corridor(slow, max_steps=100_000))
            await reached(host, 3)
            os.kill(host._pool.processes[0], signal.SIGKILL)
            second = await host.start(corridor())
            return [await host.result(first), await host.result(second)]

    first, second = run(play)
    assert (first.status, second.status) == (Status.ABANDONED, Status.COMPLETED)
    assert first.reason.startswith("the process of the environment ")
    assert [each.id.hex for each in rlds_kit.open(tmp_path).episodes if each.length == 4] == [second.episode_id]
