"""Services for tests, at 127.0.0.1."""

import asyncio
import contextlib
import dataclasses
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from rlds_kit.base.rate_limit import Limit
from rlds_kit.trials.client import ActorRequest, Client, StartTrial, TrialInfo
from rlds_kit.trials.service import Role, ServiceSettings, Signer, running
from tests.trials.hosts.running import CORRIDOR, ODD, PENNIES

SECRET = b"a secret of the tests"
SETTINGS = ServiceSettings(
    secret=SECRET,
    environments={"corridor": CORRIDOR, "pennies": PENNIES},
    actors={"random": "random", "scripted": "scripted", "right": f"{ODD}:Right", "patient": f"{__name__}:patient"},
    parallel=4,
    is_here=True,
    limit=Limit(per_second=1e6, burst=1_000_000),
)
PATIENCE = 300.0
"""Seconds for an answer; a machine of CI is slow."""
REMOTE = ActorRequest(implementation="remote")


async def patient(observation: Any, reward: Any, messages: Any) -> None:
    """Never acts, and delays no other actor."""
    await asyncio.Event().wait()


def token(role: Role = Role.ADMIN, name: str = "", seconds: float = 600) -> str:
    """A token of the services."""
    return Signer(SECRET).sign(name or role.value, role, seconds=seconds)


@contextlib.contextmanager
def serving(role: Role = Role.ADMIN, **changes: Any) -> Iterator[Client]:
    """A service, and a client of it."""
    with running(dataclasses.replace(SETTINGS, **changes)) as url, Client(url, token(role)) as client:
        yield client


def corridor(implementation: str = "right", **settings: Any) -> StartTrial:
    """A trial of one seat, which ends three steps to the right; a slow machine ends none."""
    actors = {"player": ActorRequest(implementation=implementation)}
    return StartTrial(environment="corridor", **{"seed": 3, "actors": actors, "answer_seconds": PATIENCE, **settings})


def reached(client: Client, trial: str, condition: Callable[[TrialInfo], bool]) -> None:
    """Watches a trial until something is so; one that is over before has no more states to wait for."""
    for each in client.watch(trial):
        if condition(each):
            return
        assert each.phase != "ended", client.info(trial)


def ended(client: Client, trial: str) -> TrialInfo:
    """Where a trial stands when it is over."""
    reached(client, trial, lambda info: info.phase == "ended")
    until(lambda: client.info(trial).status is not None)  # then its recording is closed
    return client.info(trial)


def until(condition: Callable[[], object]) -> None:
    """Waits until something is so, and not for ever."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "waited in vain"


def in_thread(act: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    """Runs a program beside the test; its errors are in the list."""
    errors: list[BaseException] = []

    def run() -> None:
        try:
            act()
        except BaseException as error:  # noqa: BLE001  the test raises it
            errors.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread, errors
