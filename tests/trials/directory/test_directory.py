"""The directory of services, and trials whose actors it chooses."""

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rlds_kit.base.errors import FormatError
from rlds_kit.trials import ActorConfig, Status, TrialRefusedError, TrialSetup, run_trials
from rlds_kit.trials.client import ActorRequest, Joined, ServiceError, Turn, offering
from rlds_kit.trials.directory import ServiceActor, ServiceDirectory, UnknownServiceError, WrongSecretError, choosing
from tests.trials.hosts.running import CORRIDOR, corridor, run, steps
from tests.trials.service import services

TOKEN = "a token of this test"  # noqa: S105
SERVICE = f"{ServiceActor.__module__.rpartition('.')[0]}:ServiceActor"


class Clock:
    """Shows what it was set to."""

    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def _actor(**config: Any) -> ActorConfig:
    return ActorConfig(implementation=SERVICE, config=config)


def test_g11_services_register_are_found_by_all_their_properties_and_deregister() -> None:
    directory = ServiceDirectory()
    pong, secret = directory.register("ws://pong", {"game": "pong", "level": "3"})
    chess, _ = directory.register("ws://chess", {"game": "chess", "level": "3"})
    assert directory.inquire({"level": "3"}) == [chess, pong]  # the newest first
    assert directory.inquire({"level": "3", "game": "pong"}) == [pong]
    assert directory.inquire({"level": "4"}) == []
    with pytest.raises(WrongSecretError):
        directory.deregister(chess.id, secret)
    directory.deregister(pong.id, secret)
    assert directory.inquire() == [chess]
    with pytest.raises(UnknownServiceError, match="register it again"):
        directory.heartbeat(pong.id, secret)


def test_g11_who_is_silent_is_removed_unless_it_is_permanent() -> None:
    clock = Clock()
    directory = ServiceDirectory(alive_seconds=30, clock=clock)
    dead, dead_secret = directory.register("ws://dead", {})
    alive, alive_secret = directory.register("ws://alive", {})
    stays, _ = directory.register("ws://stays", {}, is_permanent=True)
    clock.seconds = 20
    directory.heartbeat(alive.id, alive_secret, load=0.75)
    clock.seconds = 31
    assert [each.url for each in directory.inquire()] == ["ws://stays", "ws://alive"]
    with pytest.raises(UnknownServiceError):
        directory.heartbeat(dead.id, dead_secret)
    assert [each.load for each in directory.inquire(is_by_load=True)] == [0.0, 0.75]
    clock.seconds = 51
    assert directory.inquire() == [stays]


def test_g11_permanent_services_are_there_after_a_restart(tmp_path: Path) -> None:
    file = tmp_path / "state" / "services.json"
    directory = ServiceDirectory(file)
    stays, secret = directory.register("ws://stays", {"game": "pong"}, is_permanent=True)
    directory.register("ws://goes", {})
    again = ServiceDirectory(file)
    assert again.inquire() == [stays]
    later, _ = again.register("ws://later", {})
    assert later.number > stays.number
    again.deregister(stays.id, secret)
    assert ServiceDirectory(file).inquire() == []
    file.write_text("[1]", "utf-8")
    with pytest.raises(FormatError, match="permanent services"):
        ServiceDirectory(file)


def test_g10_a_hook_spreads_trials_evenly() -> None:
    """Over three services, by the chi-squared test: 13.8 is exceeded once in a thousand; the draws are seeded."""
    directory = ServiceDirectory()
    for number in range(3):
        directory.register(f"ws://{number}", {"game": "corridor"})
    directory.register("ws://other", {"game": "chess"})
    hook = choosing(directory, draws=random.Random(1))
    setup = TrialSetup(environment=CORRIDOR, actors={"player": _actor(properties={"game": "corridor"})})

    async def choose() -> Counter[str]:
        found: Counter[str] = Counter()
        for _ in range(600):
            actor = (await hook(setup)).actor("player")
            assert actor is not None
            found[actor.config["url"]] += 1
        return found

    found = run(choose)
    assert found.keys() == {"ws://0", "ws://1", "ws://2"}
    assert sum((count - 200) ** 2 / 200 for count in found.values()) < 13.8


def test_g10_the_least_busy_service_is_chosen_and_no_service_refuses_the_trial() -> None:
    directory = ServiceDirectory()
    for number, load in enumerate((0.5, 0.25, 0.75)):
        service, secret = directory.register(f"ws://{number}", {})
        directory.heartbeat(service.id, secret, load=load)

    async def choose(**config: Any) -> str:
        setup = TrialSetup(environment=CORRIDOR, actors={"player": _actor(**config)})
        actor = (await choosing(directory, is_by_load=True)(setup)).actor("player")
        assert actor is not None
        return str(actor.config["url"])

    assert run(choose) == "ws://1"
    assert run(lambda: choose(url="ws://mine")) == "ws://mine"
    setup = TrialSetup(environment=CORRIDOR, actors={"player": _actor(properties={"game": "go"})})
    (refused,) = run_trials(setup, 1, is_here=True, hooks=[choosing(directory)])
    assert isinstance(refused.error, TrialRefusedError)
    assert "none is registered" in refused.reason


def _right(seen: list[Any]) -> Callable[[Joined], Callable[[Turn], int]]:
    def make(joined: Joined) -> Callable[[Turn], int]:
        seen.append(joined)
        return lambda turn: 1

    return make


def test_g8_a_trial_calls_a_service(tmp_path: Path) -> None:
    """It plays as a program that is here; its secret is not recorded."""
    seen: list[Joined] = []
    with offering(_right(seen), token=TOKEN) as url:
        (trial,) = run_trials(
            corridor(_actor(url=url, token=TOKEN)),
            1,
            directory=tmp_path,
            is_here=True,
        )
        (refused,) = run_trials(corridor(_actor(url=url, token=TOKEN[1:])), 1, is_here=True)
    assert (trial.status, len(steps(tmp_path))) == (Status.COMPLETED, 3)
    assert [(each.seat, "token" in each.config) for each in seen] == [("player", False)]
    assert (refused.status, "cannot be reached" in refused.reason) == (Status.ABANDONED, True)


def test_a_service_that_errs_ends_its_trial_alone() -> None:
    def wrong(joined: Joined) -> Callable[[Turn], Any]:
        return lambda turn: "sideways"

    with offering(wrong) as url:
        (trial,) = run_trials(corridor(_actor(url=url)), 1, is_here=True)
    assert (trial.status, "action: expected Discrete" in trial.reason) == (Status.ABANDONED, True)


def test_g10_g11_services_over_http_act_in_trials() -> None:
    """Registered by a client, chosen by the service's hook."""
    seen: list[Joined] = []
    with services.serving() as client, offering(_right(seen)) as url:
        player = ActorRequest(implementation="service", config={"properties": {"game": "corridor"}})
        start = services.corridor(actors={"player": player})
        with pytest.raises(ServiceError, match="none is registered"):
            client.start(start)
        registration = client.register(url, {"game": "corridor"})
        client.heartbeat(registration, load=0.5)
        assert [(each.url, each.load) for each in client.services({"game": "corridor"})] == [(url, 0.5)]
        client.deregister(client.register("ws://other", {"game": "corridor"}))
        assert services.ended(client, client.start(start)).status == "completed"
        assert len(seen) == 1
        client.deregister(registration)
        with pytest.raises(ServiceError) as caught:
            client.heartbeat(registration)
        assert caught.value.status == 404
        assert client.services() == ()
