"""Actors that are slow, die, err, talk, judge and learn."""

import asyncio
import json
import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from rlds_kit.trials import ActorInfo, Experience, Judgement, Reply, Text


class Right:
    """Goes right.

    Attributes:
      info: of the trial.
      step: how many actions it gave.
    """

    version = "7"
    info: ActorInfo
    step: int

    def reset(self, info: ActorInfo) -> None:
        self.info, self.step = info, 0

    def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Any:
        self.step += 1
        return self.given()

    def given(self) -> Any:
        return 1

    @property
    def is_time(self) -> bool:
        """Whether trouble is due: with the second action."""
        return self.step == 2


def left(observation: Any, reward: float | None, messages: tuple[Text, ...]) -> int:
    """An actor that is a function."""
    return 0


class Later(Right):
    """Acts by a coroutine."""

    async def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Any:
        await asyncio.sleep(0)
        return 1


class Dying(Right):
    """Its process is gone with the second action."""

    def given(self) -> Any:
        if self.is_time:
            os._exit(3)
        return 1


class Raising(Right):
    """Raises an error in place of the second action."""

    def given(self) -> Any:
        if self.is_time:
            raise RuntimeError("it stumbled")
        return 1


class Outside(Right):
    """Its second action is none."""

    def given(self) -> Any:
        return 99 if self.is_time else 1


class Silent(Right):
    """Does not answer the second request for longer than anybody waits."""

    def given(self) -> Any:
        if self.is_time:
            time.sleep(120)
        return 1


class Unmade(Right):
    """Cannot begin."""

    def reset(self, info: ActorInfo) -> None:
        raise RuntimeError("it has no shoes")


class Talking(Right):
    """Says what it hears, and how many actions it gave."""

    def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Any:
        self.step += 1
        heard = ",".join(f"{each.sender}:{each.content.count('<')}" for each in messages)
        return Reply(1, messages=(("*", f"<{self.info.seat}{self.step} heard {heard}"),))


class Judging(Right):
    """Judges the first step again and again."""

    def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Any:
        self.step += 1
        rewards = () if self.step == 1 else (Judgement("*", float(self.step), 0.5, 1),)
        return Reply(1, rewards=rewards)


class Learning(Right):
    """Writes what it learns to the file that its configuration names, when its trial is over."""

    def reset(self, info: ActorInfo) -> None:
        super().reset(info)
        self.learnt: list[Any] = []

    def learn(self, experience: Experience) -> None:
        before, after = (None if each is None else each.tolist() for each in (experience[0], experience[3]))
        action, reward, _, is_over, _, is_default = experience[1:]
        self.learnt.append([before, action, reward, after, is_over, is_default])
        Path(self.info.config["file"]).write_text(json.dumps(self.learnt), "utf-8")

    def given(self) -> Any:
        return self.info.config.get("second", 1) if self.is_time else 1

    def amended(self, step: int, value: float) -> None:
        self.learnt.append([step, value])
        Path(self.info.config["file"]).write_text(json.dumps(self.learnt), "utf-8")


class Together(Right):
    """All trials at once; the number of the actors that act together is in a file."""

    @classmethod
    def act_batch(
        cls,
        actors: Sequence[Self],
        observations: Sequence[Any],
        rewards: Sequence[float | None],
        messages: Sequence[tuple[Text, ...]],
    ) -> list[int]:
        with Path(actors[0].info.config["file"]).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {len(actors)}\n")
        time.sleep(0.02)  # requests of other trials come meanwhile
        return [int(actor.info.config.get("action", 1)) for actor in actors]


class Correcting(Right):
    """A teacher that takes over in every second step."""

    def given(self) -> Any:
        return {"active": int(self.is_time), "action": 0} if self.step % 2 == 0 else None


class Slow(Right):
    """Takes as long as its configuration says; goes right, or to and fro."""

    def given(self) -> Any:
        time.sleep(self.info.config["seconds"])
        return 1 if self.info.config.get("action") != "both" else self.step % 2


class Heeding(Right):
    """Does what the latest reward says, of which it learns before it acts."""

    def reset(self, info: ActorInfo) -> None:
        super().reset(info)
        self.heard = 0.0

    def amended(self, step: int, value: float) -> None:
        self.heard = value

    def given(self) -> Any:
        return int(2 * self.heard) % 2


class SilentTogether(Right):
    """Does not answer, for all trials at once."""

    @classmethod
    def act_batch(cls, actors: Sequence[Self], *given: Any) -> list[int]:
        time.sleep(120)
        return [1] * len(actors)


class Placed(Right):
    """Writes what a cluster gave it to a file."""

    def given(self) -> Any:
        import ray

        context: Any = ray.get_runtime_context()
        Path(self.info.config["file"]).write_text(json.dumps(context.get_assigned_resources()), "utf-8")
        return 1
