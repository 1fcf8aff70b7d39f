"""Inspects environments in a process of its own, not in the server or in the processes of games."""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rlds_kit import spec as specs
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.seat_problems import seat_problems
from rlds_kit.studio.database.studies import StudyEnvironment
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import EnvironmentLostError, RequestFailedError, WorkerPool

_ANYTHING: Final[Mapping[str, Any]] = {"type": "object", "properties": {}, "required": [], "additionalProperties": True}
"""The arguments of environments of PettingZoo are not known."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """Why a study cannot have its environments.

    Attributes:
      environment: its place in the list.
      where: the field that differs; "": the environment cannot be made, reset or drawn.
      message: for people.
    """

    environment: int
    where: str
    message: str


class Inspector:
    """Makes environments to inspect them, one after another, in a process of its own.

    Each is reset and drawn once: Gymnasium imports its drawing library only then, and an error would otherwise reach
    the first player.

    Args:
      modules: that register environments, from the configuration.
      answer_seconds: time limit for an environment to answer.
      actors: implementations that studies may name.
      matchmakers: that studies may name.
    """

    def __init__(
        self,
        modules: tuple[str, ...],
        answer_seconds: float,
        actors: Collection[str] = (),
        matchmakers: Collection[str] = (),
    ) -> None:
        self.matchmakers = frozenset(matchmakers)
        self._pool = WorkerPool(1, answer_seconds=answer_seconds)
        self._requests = requests.Catalogue(modules), requests.Catalogue(modules, "pettingzoo")
        self._actors = frozenset(actors)
        self._several: Mapping[str, str] = {}
        self._one_at_a_time = asyncio.Lock()
        self._known: Mapping[str, str] = {}
        self._schemas: dict[str, Mapping[str, Any]] = {}

    async def ids(self) -> Sequence[str]:
        """The environments that can be made and have one seat, in alphabetical order."""
        return [each for each in await self._modules() if each not in self._several]

    async def of_several(self) -> Sequence[str]:
        """Those of PettingZoo, which have several seats."""
        await self._modules()
        return list(self._several)

    @property
    def actors(self) -> Sequence[str]:
        """Implementations of programs that studies may name."""
        return sorted(self._actors)

    async def schema(self, environment: str) -> Mapping[str, Any]:
        """JSON schema of the keyword arguments of an environment; the result is cached.

        Raises:
          ApiError: there is no such environment.
          RequestFailedError: a package that it needs is not installed.
        """
        made = _as_made(await self._require(environment), environment)
        if environment in self._several:
            return _ANYTHING
        async with self._one_at_a_time:
            if environment not in self._schemas:
                self._schemas[environment] = await self._pool.request(requests.Describe(made))
        return self._schemas[environment]

    async def spec_of(self, environment: StudyEnvironment) -> EnvironmentSpec:
        """The environment that a worker makes for an environment of a study.

        Raises:
          ApiError: there is no such environment.
        """
        module = await self._require(environment.environment)
        is_several = environment.environment in self._several
        if is_several != (environment.interface == "pettingzoo"):
            expected = "pettingzoo" if is_several else "another one"
            message = f"expected the interface {expected} for {environment.environment}, got {environment.interface}"
            raise ApiError(422, "interface", message, "interface")
        made = _as_made(module, environment.environment)
        return EnvironmentSpec(
            made,
            environment.kwargs,
            environment.interface,
            name=environment.name,
            controls=environment.controls,
            seat_controls={each.name: each.controls for each in environment.seats if each.controls is not None},
        )

    async def misfits(self, environments: Sequence[StudyEnvironment]) -> list[Misfit]:
        """Why one study cannot have these environments; empty: it can.

        Their spaces must be those of the first that can be made, so that all episodes fit one dataset.

        Raises:
          ApiError: there is no such environment.
        """
        wanted = [await self.spec_of(each) for each in environments]
        found: list[Misfit] = []
        first: tuple[str, specs.Dict] | None = None
        for number, each in enumerate(wanted):
            try:
                opened = await self._opened(each)
            except (RequestFailedError, EnvironmentLostError) as error:
                found.append(Misfit(number, "", f"{each.name} cannot be played: {error}"))
                continue
            problems = seat_problems(environments[number].seats, opened, self._actors)
            found += [Misfit(number, "seats", problem) for problem in problems]
            declared = opened.declared
            first = first or (each.name, declared)
            found += _differences(number, each.name, declared, *first)
        return found

    async def controls(self, environment: StudyEnvironment) -> Mapping[str, Any] | None:
        """The keys and names of an environment's discrete actions, as `Controls.as_json` gives them; None: it has none.

        Raises:
          ApiError: there is no such environment.
          RequestFailedError, EnvironmentLostError: it cannot be made.
        """
        opened = await self._opened(await self.spec_of(environment))
        first = opened.controls[opened.seats[0]]
        return None if first.axes else first.as_json()

    async def seats(self, environment: StudyEnvironment) -> Mapping[str, Mapping[str, Any] | None]:
        """The seats of an environment in order, each with the keys of its discrete actions; None: it has none.

        Raises:
          ApiError: there is no such environment.
          RequestFailedError, EnvironmentLostError: it cannot be made.
        """
        opened = await self._opened(await self.spec_of(environment))
        return {seat: None if (each := opened.controls[seat]).axes else each.as_json() for seat in opened.seats}

    async def close(self) -> None:
        """Ends the process."""
        await self._pool.close()

    async def _opened(self, spec: EnvironmentSpec) -> requests.Opened:
        async with self._one_at_a_time:
            environment = await self._pool.open(requests.Open(spec, None))
            try:
                await environment.request(requests.Reset(requests.View()))
            finally:
                await environment.close()
        return environment.opened

    async def _require(self, environment: str) -> str:
        """The module that registers an environment."""
        modules = await self._modules()
        if environment not in modules:
            raise ApiError(
                422,
                "unknown_environment",
                f"expected an environment that is known here, got {environment!r}; those of other "
                "packages are known once the studio is started with their module",
                "environment",
            )
        return modules[environment]

    async def _modules(self) -> Mapping[str, str]:
        if not self._known:  # players do not wait while a designer inspects a slow environment
            async with self._one_at_a_time:
                if not self._known:  # by who came first
                    one, several = self._requests
                    found = await self._pool.request(one)  # first: it finds what importing a module registers
                    self._several = await self._pool.request(several)
                    self._known = {**found, **self._several}
        return self._known


def _as_made(module: str, environment: str) -> str:
    """The id that `gymnasium.make` accepts in any process."""
    return f"{module}:{environment}" if module else environment


def _differences(number: int, name: str, declared: specs.Dict, other: str, others: specs.Dict) -> list[Misfit]:
    found = []
    for field, theirs in others.fields.items():
        own = declared.fields[field]
        for problem in (specs.compatible(theirs, own, field) or specs.compatible(own, theirs, field))[:1]:
            differ = f"{name} has {specs.describe_spec(own)} and {other} has {specs.describe_spec(theirs)}"
            message = f"{field}: {differ}; they differ in {problem.place}. Put them in different studies"
            found.append(Misfit(number, problem.place, message))
    return found
