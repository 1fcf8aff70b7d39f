"""What a collector sees of one action, live or of a recording: the step before it, and the step after it."""

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from rlds_kit.base.step import ACTION, INFO, OBSERVATION, REWARD, TIME_NS, TRIAL_CLOCK

Ram = npt.NDArray[np.uint8]

FRAMES_PER_SECOND: Final = 60
"""Of a console of Atari, if nothing says otherwise."""
_BY_AGENT: Final = (OBSERVATION, ACTION, REWARD, INFO)
_RAM: Final = ("ram", "RAM")
_NEXT_RAM: Final = "next_ram"
_PLAY, _SEATS = "play", "seats"


@dataclass(frozen=True, slots=True)
class Moment:
    """One action of one agent.

    Attributes:
      index: of the action in its episode, from 0.
      action: what was done.
      reward: obtained for it; 0.0 if there was none, or if it was not a number.
      before: fields of the step in which it was done, such as `observation` and `info`.
      after: fields of the next step; empty if that was not recorded.
      began_ns, ended_ns: when, in nanoseconds since the episode began.

    >>> Moment(0, 2, 1.0, {}, {}, 0, 16_666_666).ended_ns
    16666666
    """

    index: int
    action: Any  # whatever the environment takes
    reward: float
    before: Mapping[str, Any]
    after: Mapping[str, Any]
    began_ns: int
    ended_ns: int

    @property
    def ram_before(self) -> Ram | None:
        """The console's memory before the action, uint8 `[128]`; None if it was not recorded."""
        return _ram_of(self.before)

    @property
    def ram_after(self) -> Ram | None:
        """The console's memory after the action, uint8 `[128]`; None if it was not recorded."""
        found = self.before.get(_NEXT_RAM)
        return _ram_of(self.after) if found is None else np.asarray(found, np.uint8)


def moments(
    steps: Iterable[Mapping[str, Any]], agent: str | None = None, *, fps: float | None = None
) -> Iterator[Moment]:
    """The actions of one agent in the steps of an episode, n of n + 1 steps.

    Args:
      steps: of an episode: `episode.steps`, or the same dicts as they come from an environment.
      agent: whose; None: of episodes with one agent. Moments in which it did nothing are left out.
      fps: steps in a second; None: the times that were recorded, or 60 if there are none.

    Raises:
      ValueError: `fps` is not above 0.

    >>> steps = [{"action": 1, "reward": 2.0}, {"action": 0, "reward": None}, {}]
    >>> [(each.index, each.reward) for each in moments(steps)]
    [(0, 2.0), (1, 0.0)]
    """
    for index, (before, after) in enumerate(pairwise(steps)):
        found = moment(index, before, after, agent, fps=fps)
        if found is not None:
            yield found


def moment(
    index: int,
    before: Mapping[str, Any],
    after: Mapping[str, Any],
    agent: str | None = None,
    *,
    fps: float | None = None,
) -> Moment | None:
    """One action of one agent; None if it did nothing there. Arguments as for `moments`.

    >>> moment(0, {"action": {"ada": 1}, "reward": {"ada": 3}}, {}, "ada").reward
    3.0
    >>> moment(0, {"action": {"ada": 1}}, {}, "bob") is None
    True
    """
    if agent is not None:
        before, after = _of_agent(before, agent), _of_agent(after, agent)
        if ACTION not in before and REWARD not in before:
            return None
    began, ended = _times(index, before, after, fps)
    return Moment(index, before.get(ACTION), number(before.get(REWARD)), before, after, began, ended)


def number(value: object) -> float:
    """A reward as a number: 0.0 for None, for what is not finite, and for the zeros of undefined fields.

    >>> number(None), number(float("nan")), number(np.float32(1.5))
    (0.0, 0.0, 1.5)
    """
    if value is None:
        return 0.0
    found = float(np.asarray(value, dtype=np.float64).reshape(()))
    return found if math.isfinite(found) else 0.0


def _of_agent(step: Mapping[str, Any], agent: str) -> dict[str, Any]:
    picked = {name: value for name, value in step.items() if name not in _BY_AGENT}
    for name in _BY_AGENT:
        below = step.get(name)
        if isinstance(below, Mapping) and agent in below:
            picked[name] = below[agent]
    play = step.get(_PLAY)
    if isinstance(play, Mapping) and agent in play.get(_SEATS, ()):
        picked[_PLAY] = {**play, _SEATS: {agent: play[_SEATS][agent]}}
    clock = step.get(TRIAL_CLOCK)
    if isinstance(clock, Mapping):
        picked[TRIAL_CLOCK] = {agent: clock[agent]} if agent in clock else {}
    return picked


def _times(index: int, before: Mapping[str, Any], after: Mapping[str, Any], fps: float | None) -> tuple[int, int]:
    if fps is None and TIME_NS in before and TIME_NS in after:
        return int(before[TIME_NS]), int(after[TIME_NS])
    rate = FRAMES_PER_SECOND if fps is None else fps
    if not 0 < rate < math.inf:
        raise ValueError(f"fps: expected steps in a second, a number above 0, got {rate}")
    return int(index * 1_000_000_000 / rate), int((index + 1) * 1_000_000_000 / rate)


def _ram_of(step: Mapping[str, Any]) -> Ram | None:
    info, observation = step.get(INFO), step.get(OBSERVATION)
    for place in (step, info, observation):
        if isinstance(place, Mapping):
            for name in _RAM:
                if name in place:
                    return np.asarray(place[name], np.uint8)
    if isinstance(observation, np.ndarray) and observation.shape == (128,) and observation.dtype == np.uint8:
        return observation
    return None
