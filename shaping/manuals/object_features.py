"""Objects on the screen as the observation of an agent: a few numbers instead of pixels."""

from collections.abc import Mapping
from typing import Any, Final

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlds_kit.shaping.manuals.contact_rewards import ContactRewards

N_FEATURES: Final = 7
"""Number of features of each object."""
_MIDDLE: Final = (80.0, 105.0)
_NEAR: Final = 40.0
_FAST: Final = 10.0


class ObjectFeatures(gymnasium.ObservationWrapper[NDArray[np.float32], Any, Any]):
    """Observations are the objects in the latest frame: `[7 * objects]` float32, in the order of `counts`.

    The numbers of an object: 1 if it exists; its position on the screen, from -1 to 1; its position relative to the
    player, in units of 40 pixels; its movement since the last observation, in units of 10 pixels. All are clipped to
    [-3, 3], and 0 if the object does not exist. If there are more objects than in `counts`, those nearest to the height
    of the player are used.

    Args:
      env: with `ManualReward` inside, which passes every frame to `rewards`.
      rewards: with the objects.
      counts: number of observed objects of each category, such as `{"Player": 1, "Ball": 1}`.
    """

    def __init__(self, env: gymnasium.Env[Any, Any], rewards: ContactRewards, counts: Mapping[str, int]) -> None:
        super().__init__(env)
        self._rewards, self._counts = rewards, dict(counts)
        self._before: dict[int, tuple[float, float]] = {}
        size = N_FEATURES * sum(self._counts.values())
        self.observation_space = gymnasium.spaces.Box(-3.0, 3.0, (size,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[NDArray[np.float32], dict[str, Any]]:
        """Resets; movements are 0."""
        self._before = {}
        return super().reset(seed=seed, options=options)

    def observation(self, observation: object) -> NDArray[np.float32]:  # noqa: ARG002  the screen is not used
        """See the class."""
        boxes = self._rewards.boxes
        places = {box.slot: (box.x + box.width / 2, box.y + box.height / 2) for box in boxes}
        player = next((places[box.slot] for box in boxes if box.category == self._rewards.player), _MIDDLE)
        rows: list[tuple[float, ...]] = []
        for category, count in self._counts.items():
            slots = [box.slot for box in boxes if box.category == category]
            nearest = sorted(slots, key=lambda slot: abs(places[slot][1] - player[1]))[:count]
            rows += [self._numbers(places[slot], player, self._before.get(slot)) for slot in nearest]
            rows += [(0.0,) * N_FEATURES] * (count - len(nearest))
        self._before = places
        return np.clip(np.array(rows, np.float32).ravel(), -3, 3)

    def _numbers(
        self, place: tuple[float, float], player: tuple[float, float], before: tuple[float, float] | None
    ) -> tuple[float, ...]:
        (x, y), (old_x, old_y) = place, before or place
        away = ((x - player[0]) / _NEAR, (y - player[1]) / _NEAR)
        return (1.0, x / _MIDDLE[0] - 1, y / _MIDDLE[1] - 1, *away, (x - old_x) / _FAST, (y - old_y) / _FAST)
