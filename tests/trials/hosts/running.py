"""What tests of hosts share: setups, and the episodes that were recorded."""

import asyncio
import importlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypeVar

import rlds_kit
from rlds_kit.trials import ActorConfig, EnvironmentSpec, TrialSetup

ODD = "tests.trials.actors.odd_actors"
CORRIDOR = EnvironmentSpec("tests.trials.environments.odd_environments:rlds_kit_tests/Corridor-v0")
PENNIES = EnvironmentSpec(
    "tests.trials.environments.matching_pennies:MatchingPennies", interface="pettingzoo", kwargs={"length": 4}
)
Found = TypeVar("Found")


def run(test: Callable[[], Coroutine[Any, Any, Found]]) -> Found:
    """Runs a coroutine to its end."""
    return asyncio.run(asyncio.wait_for(test(), 200))


def odd(name: str, **settings: Any) -> ActorConfig:
    """One of the odd actors."""
    return ActorConfig(implementation=f"{ODD}:{name}", **settings)


def corridor(actor: Any = None, **settings: Any) -> TrialSetup:
    """A trial of one seat, which ends three steps to the right."""
    return TrialSetup(environment=CORRIDOR, actors={"player": actor or odd("Right")}, **{"seed": 3, **settings})


def pennies(first: Any = None, second: Any = None, **settings: Any) -> TrialSetup:
    """A trial of two seats: four steps, and the second agent leaves after three. Needs PettingZoo."""
    importlib.import_module("pettingzoo")
    actors = {"odd": first or odd("Right"), "even": second or odd("left")}
    return TrialSetup(environment=PENNIES, actors=actors, **{"seed": 3, **settings})


def steps(directory: Path, number: int = 0) -> list[Any]:
    """The steps of a recorded episode that have an action."""
    return list(rlds_kit.open(directory).episodes[number].steps)[:-1]


def seats(directory: Path, seat: str = "player", number: int = 0) -> list[tuple[str, bool]]:
    """Of each step who acted from a seat, and whether it did its default action."""
    found = (step["play"]["seats"][seat] for step in steps(directory, number))
    return [(each["driver"], each["is_default"]) for each in found]
