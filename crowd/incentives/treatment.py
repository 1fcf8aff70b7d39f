"""How people are rewarded for a task: the treatments of CrowdPlay's experiment, a raffle, a challenge."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rlds_kit.crowd.incentives.bonus import Bonus
from rlds_kit.crowd.incentives.requirement import Requirement, completion

_SECONDS: Final = 300.0
_CORRECT, _FRACTION = 50.0, 0.8


@dataclass(frozen=True, slots=True)
class Treatment:
    """How people are rewarded.

    Attributes:
      name: of the treatment.
      base_cents: paid when all requirements are met.
      requirements: of the task.
      bonus: paid beside that, also only when they are met; None: there is none.
      tickets: for a raffle, when they are met.
    """

    name: str
    base_cents: int = 0
    requirements: tuple[Requirement, ...] = ()
    bonus: Bonus | None = None
    tickets: int = 0

    def __post_init__(self) -> None:
        numbers: dict[str, Any] = {"base_cents": self.base_cents, "tickets": self.tickets}
        for name, number in numbers.items():
            if not isinstance(number, int) or number < 0:
                raise ValueError(f"the treatment {self.name}, {name}: expected a whole number from 0 on, got {number}")

    @property
    def collectors(self) -> tuple[str, ...]:
        """The names of the collectors that it needs, each once."""
        bonus = () if self.bonus is None else (self.bonus.count, self.bonus.fraction)
        return tuple(dict.fromkeys((*(each.collector for each in self.requirements), *bonus)))


@dataclass(frozen=True, slots=True)
class Reward:
    """What a participant gets for a session.

    Attributes:
      completion: how much of the requirements is met, from 0 to 1.
      base_cents: 0 unless that is 1, or the study ended the game: then in proportion.
      bonus_cents: 0 unless that is 1.
      tickets: for the raffle; 0 unless that is 1.
    """

    completion: float
    base_cents: int
    bonus_cents: int
    tickets: int

    @property
    def total_cents(self) -> int:
        """Base and bonus."""
        return self.base_cents + self.bonus_cents


def reward(treatment: Treatment, values: Mapping[str, float]) -> Reward:
    """What a session's values give. While a participant plays, this is the live estimate once requirements are met.

    >>> reward(presets(200, 50, "inside_out")["none"], {"time_played": 300.0})
    Reward(completion=1.0, base_cents=200, bonus_cents=0, tickets=0)
    """
    done = completion(treatment.requirements, values)
    if done < 1:
        return Reward(done, 0, 0, 0)
    bonus = 0 if treatment.bonus is None else treatment.bonus.cents(values)
    return Reward(done, treatment.base_cents, bonus, treatment.tickets)


def reward_in_proportion(treatment: Treatment, values: Mapping[str, float]) -> Reward:
    """What a session gives that the study ended before its requirements were met: that part of the base pay.

    >>> reward_in_proportion(presets(200, 50)["none"], {"time_played": 100.0})
    Reward(completion=0.3333333333333333, base_cents=67, bonus_cents=0, tickets=0)
    """
    whole = reward(treatment, values)
    if whole.completion >= 1:
        return whole
    return Reward(whole.completion, math.ceil(treatment.base_cents * whole.completion), 0, 0)


def presets(lump_cents: int, base_cents: int, order: str = "inside_out") -> dict[str, Treatment]:
    """The five treatments of CrowdPlay's experiment, by name, its raffle and its challenge.

    Args:
      lump_cents: paid in treatments without a bonus; elsewhere base and full bonus together.
      base_cents: paid beside a bonus.
      order: the collector of the fraction that was rightly done; `<order>_count` is that of the number.

    Raises:
      ValueError: the base is not below the lump sum.

    >>> sorted(presets(200, 50))
    ['active_time', 'all', 'challenge', 'minimum', 'none', 'raffle', 'sliding_bonus']
    """
    if not 0 <= base_cents < lump_cents:
        raise ValueError(f"base_cents: expected 0 or more, and less than {lump_cents}, got {base_cents}")
    played, active = Requirement("time_played", _SECONDS), Requirement("active_time", _SECONDS)
    minimum = (played, Requirement(f"{order}_count", _CORRECT), Requirement(order, _FRACTION))
    bonus = Bonus(lump_cents - base_cents, f"{order}_count", order)
    every = (
        Treatment("none", lump_cents, (played,)),
        Treatment("active_time", lump_cents, (active,)),
        Treatment("minimum", lump_cents, minimum),
        Treatment("sliding_bonus", base_cents, (active,), bonus),
        Treatment("all", base_cents, minimum, bonus),
        Treatment("raffle", 0, minimum, tickets=1),
        Treatment("challenge", 0, minimum),
    )
    return {each.name: each for each in every}


Draw = Callable[[int], int]
"""Draws a number below another: `random.SystemRandom().randrange`, or that of a seeded generator."""


def draw_raffle(tickets: Mapping[str, int], prizes: int, draw: Draw) -> tuple[str, ...]:
    """Draws the winners of a raffle: each at most once, with chances by tickets.

    Args:
      tickets: of each participant.
      prizes: how many.
      draw: random numbers.

    >>> import random
    >>> draw_raffle({"ada": 1, "bob": 0}, 3, random.Random(0).randrange)
    ('ada',)
    """
    left = {name: number for name, number in sorted(tickets.items()) if number > 0}
    winners: list[str] = []
    while left and len(winners) < prizes:
        ticket = draw(sum(left.values()))
        for name, number in left.items():
            ticket -= number
            if ticket < 0:
                winners.append(name)
                break
        del left[winners[-1]]
    return tuple(winners)
