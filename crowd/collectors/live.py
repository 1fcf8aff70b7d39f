"""Collectors of a Gymnasium environment while it is played."""

from collections.abc import Sequence
from typing import Any

import gymnasium

from rlds_kit.base.step import ACTION, INFO, OBSERVATION, REWARD
from rlds_kit.crowd.collectors.collector import Collector
from rlds_kit.crowd.collectors.moment import FRAMES_PER_SECOND, moment
from rlds_kit.crowd.collectors.tally import Tally, Values

FIELD = "collectors"
"""The entry of the info dict that has the values."""


class CollectorWrapper(gymnasium.Wrapper[Any, Any, Any, Any]):
    """Counts while an environment is played: `info["collectors"]` has the values, `info["ram"]` a console's memory.

    Around it a `GymnasiumLogger` with `record_info=True` records both, so that everything can be counted again.

    Args:
      env: to count in; an environment of ale-py has a console's memory.
      collectors: what to count.
      fps: steps in a second.

    >>> from rlds_kit.crowd.collectors import SCORE
    >>> env = CollectorWrapper(gymnasium.make("CartPole-v1"), [SCORE])
    >>> _ = env.reset(seed=0)
    >>> env.step(0)[4]["collectors"]["episode"]
    {'score': 1.0}
    """

    def __init__(
        self, env: gymnasium.Env[Any, Any], collectors: Sequence[Collector], *, fps: float = FRAMES_PER_SECOND
    ) -> None:
        super().__init__(env)
        self._tally, self._fps = Tally(collectors), fps
        self._index = 0
        self._before: dict[str, Any] = {}

    @property
    def values(self) -> Values:
        """The values so far."""
        return self._tally.values

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Begins an episode; the session goes on."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._tally.begin_episode()
        self._index = 0
        return observation, self._after(observation, info)

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        """Does a step and counts it."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        before = {**self._before, ACTION: action, REWARD: reward}
        found = moment(self._index, before, {OBSERVATION: observation, INFO: self._with_ram(info)}, fps=self._fps)
        if found is not None:
            self._tally.add(found)
        self._index += 1
        return observation, reward, terminated, truncated, self._after(observation, info)

    def _after(self, observation: Any, info: dict[str, Any]) -> dict[str, Any]:
        values = self._tally.values
        full = {**self._with_ram(info), FIELD: {"episode": values.episode, "session": values.session}}
        self._before = {OBSERVATION: observation, INFO: full}
        return full

    def _with_ram(self, info: dict[str, Any]) -> dict[str, Any]:
        console = getattr(self.env.unwrapped, "ale", None)
        return info if console is None else {**info, "ram": console.getRAM()}
