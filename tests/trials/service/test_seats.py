"""Programs elsewhere take seats: by slot or by class, before and during a trial; they leave, return, and err."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit.trials import ActorConfig, run_trials
from rlds_kit.trials.client import ActorRequest, Client, Reward, ServiceError, StartTrial, Text
from rlds_kit.trials.service import Role
from tests.trials.hosts.running import PENNIES, steps
from tests.trials.hosts.running import corridor as corridor_setup
from tests.trials.service.services import (
    PATIENCE,
    REMOTE,
    corridor,
    ended,
    in_thread,
    reached,
    serving,
    token,
    until,
)


def play(client: Client, action: Any = 1, **wishes: Any) -> list[Any]:
    """Does the same action in each turn; returns the observations."""
    seen = []
    with client.join(**{"wait": 60.0, **wishes}) as seat:
        for turn in seat:
            seen.append(turn.observation)
            seat.act(action)
    return seen


def test_g8_a_program_elsewhere_plays_as_one_that_is_here(tmp_path: Path) -> None:
    """Digest for digest, though its observations and actions went through JSON."""
    with serving(directory=tmp_path / "remote") as client:
        trial = client.start(corridor("remote"))
        seen = play(client, seat="player")
        assert ended(client, trial).status == "completed"
    here = corridor_setup(ActorConfig(implementation="scripted", config={"actions": [np.int64(1)]}))
    list(run_trials(here, 1, directory=tmp_path / "here", is_here=True))
    for one, two in zip(steps(tmp_path / "remote"), steps(tmp_path / "here"), strict=True):
        np.testing.assert_array_equal(one["observation"], two["observation"])
        assert (one["action"], one["reward"]) == (two["action"], two["reward"])
        assert type(one["action"]) is type(two["action"])
    assert len(seen) == len(steps(tmp_path / "here"))
    assert steps(tmp_path / "remote")[0]["play"]["seats"]["player"]["implementation"] == "remote"


def test_g8_g26_two_programs_take_seats_by_slot_and_by_class_and_talk(tmp_path: Path) -> None:
    """Who waits for a seat gets it when its trial begins; messages and rewards of programs are recorded."""
    with serving(directory=tmp_path) as client:
        heard: list[Text] = []

        def even() -> None:
            with client.join(actor_class="even", wait=60) as seat:
                for turn in seat:
                    heard.extend(turn.messages)
                    rewards = [Reward(seat="odd", value=-1.0)] if turn.step == 2 else []
                    seat.act(0, rewards=rewards)

        thread, errors = in_thread(even)
        actors = {"odd": REMOTE, "even": REMOTE}
        trial = client.start(StartTrial(environment="pennies", actors=actors, seed=1, answer_seconds=PATIENCE))
        with client.join(trial, "odd", wait=60) as seat:
            assert (seat.joined.seat, seat.joined.trial) == ("odd", trial)
            for turn in seat:
                seat.act(1, messages=[Text(content=f"step {turn.step}", to=("even",))] if turn.step < 3 else [])
        thread.join(PATIENCE)
        assert (thread.is_alive(), errors, ended(client, trial).status) == (False, [], "completed")
    assert [text.content for text in heard] == ["step 1", "step 2"]
    assert {text.sender for text in heard} == {"odd"}
    episode = rlds_kit.open(tmp_path).as_amended("judgements").episodes[0]
    assert episode.length >= 3


def test_an_action_that_is_no_action_is_refused_and_another_one_may_come() -> None:
    with serving() as client:
        trial = client.start(corridor("remote"))
        with client.join(trial, wait=60) as seat:
            turns = iter(seat)
            next(turns)
            for wrong in (7, "right", [1], 1.5, None, np.array([[1]]), {"$array": "x"}):
                seat.act(wrong)
                with pytest.raises(ServiceError, match=r"action: expected Discrete|expected an array"):
                    next(turns)
                turns = iter(seat)
            seat.act(np.int64(1))
            assert next(turns).step == 2
            seat.act(1)
            seat.act(1)
            with pytest.raises(ServiceError, match=r"expected no action now|expected an action for step"):
                [seat for _ in turns]
        info = ended(client, trial)
        assert (info.status, "program" in info.reason) == ("abandoned", True)


def test_a_program_that_leaves_is_replaced_by_the_default_and_may_return() -> None:
    """Of a seat that is not required; the trial goes on meanwhile."""
    long = dataclasses.replace(PENNIES, kwargs={"length": 1_000_000})
    remote = ActorRequest(implementation="remote", is_required=False, default_action=0)
    actors = {"odd": remote, "even": REMOTE}
    start = StartTrial(environment="long", actors=actors, seed=1, answer_seconds=PATIENCE)
    with serving(environments={"long": long}) as client:
        trial = client.start(start)
        thread, errors = in_thread(lambda: play(client, 0, actor_class="even"))
        with client.join(trial, "odd", wait=60) as odd:
            next(iter(odd))
            odd.leave()
        before = client.info(trial).step
        reached(client, trial, lambda info: info.step > before + 2)  # odd does its default action
        with client.join(trial, "odd", wait=60) as again:
            turns = iter(again)
            next(turns)
            again.act(1)
            assert next(turns).step == 2
            client.end(trial, is_hard=True)
        thread.join(PATIENCE)
        assert (thread.is_alive(), errors, ended(client, trial).reason) == (False, [], "it was ended")


def test_a_seat_that_stays_free_ends_its_trial() -> None:
    with serving(join_seconds=0.05) as client:
        info = ended(client, client.start(corridor("remote")))
        assert (info.status, info.reason) == ("abandoned", "player: no program took the seat in 0.05 seconds")


def test_a_trial_that_waits_for_a_program_can_be_ended() -> None:
    with serving() as client:
        trial = client.start(corridor("remote"))
        until(client.seats)
        assert client.info(trial).phase == "initializing"
        client.end(trial, "enough")
        assert "enough" in ended(client, trial).reason
        assert client.seats() == ()


def test_seats_are_refused_with_a_reason() -> None:
    with serving() as client:
        with pytest.raises(ServiceError, match="no seat \\(seat 'goalkeeper'\\) waits for a program"):
            client.join(seat="goalkeeper")
        watcher = Client(client._url, token(Role.WATCHER))
        with pytest.raises(ServiceError, match="expected a token of an actor, got one of a watcher"):
            watcher.join()
        with pytest.raises(ServiceError, match="secret of this service"):
            Client(client._url, "forged.token").join()


def test_an_action_after_the_end_is_no_error() -> None:
    """A program may be about to act when its trial ends; its loop ends then."""
    with serving() as client:
        trial = client.start(corridor("remote"))
        with client.join(trial, wait=60) as seat:
            turns = iter(seat)
            next(turns)
            client.end(trial, is_hard=True)
            assert ended(client, trial).reason == "it was ended"
            for _ in range(50):
                seat.act(1)
            assert list(turns) == []
