"""What both systems play: a lamp that stands where the last key put it, for one player or for two.

The same file runs in Multi-User Gymnasium's server, in its page (Pyodide), and in the studio's worker. It needs
Gymnasium, NumPy and nothing else, but `mug` where that draws.
"""

from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

WIDTH, HEIGHT = 300, 200
LEFT, RIGHT = 1, 2
AGENTS = ("first", "second")


class Lamp(gymnasium.Env[np.ndarray, Any]):
    """Action 1 puts the lamp to the left, 2 to the right, 0 leaves it; the observation counts steps, too.

    Args:
      render_mode: "rgb_array", or "mug", whose pictures are lists of shapes.
    """

    metadata = {"render_modes": ["rgb_array", "mug"], "render_fps": 30}  # noqa: RUF012  Gymnasium's

    def __init__(self, render_mode: str = "rgb_array") -> None:
        self.render_mode = render_mode
        self.observation_space = spaces.Box(0, 1e6, (2,), np.float32)
        self.action_space: Any = spaces.Discrete(3)
        self.place, self.count = 0, 0
        if render_mode == "mug":
            from mug.rendering import Surface

            self.surface = Surface(WIDTH, HEIGHT)

    def get_keys_to_action(self) -> dict[tuple[str, ...], int]:
        """Arrows, as `gymnasium.utils.play` reads them."""
        return {("left",): LEFT, ("right",): RIGHT}

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[np.ndarray, dict[str, Any]]:  # noqa: ARG002
        """To the left."""
        super().reset(seed=seed)
        self.place, self.count = 0, 0
        if self.render_mode == "mug":
            self.surface.reset()
        return self._observation(), {}

    def step(self, action: Any) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Moves it."""
        chosen = int(action["human"] if isinstance(action, dict) else action)
        self.count += 1
        self.place = chosen - 1 if chosen else self.place
        return self._observation(), float(self.place), False, False, {}

    def _observation(self) -> np.ndarray:
        return np.array([self.place, self.count], np.float32)

    def render(self) -> Any:
        """A square of 100 x 100 in one of the two halves."""
        left = 25 + 150 * self.place
        if self.render_mode == "mug":
            self.surface.rect(x=left, y=50, w=100, h=100, color="#000000", id="lamp")
            return self.surface.commit().to_dict()
        picture = np.full((HEIGHT, WIDTH, 3), 255, np.uint8)
        picture[50:150, left : left + 100] = 0
        return picture


class Lamps:
    """Two lamps, each with its player; both get a point for every step in which the lamps stand on the same side.

    It is a parallel environment of PettingZoo, and has what MUG needs to correct its predictions: `get_state` and
    `set_state`.

    Args:
      render_mode: "rgb_array" or "mug".
    """

    metadata = {"render_modes": ["rgb_array", "mug"], "render_fps": 30, "name": "lamps"}  # noqa: RUF012  PettingZoo's
    possible_agents = AGENTS

    def __init__(self, render_mode: str = "rgb_array") -> None:
        self.render_mode, self.agents = render_mode, list(AGENTS)
        self._lamps = {agent: Lamp(render_mode) for agent in AGENTS}
        if render_mode == "mug":
            self.surface = self._lamps[AGENTS[0]].surface

    def observation_space(self, agent: str) -> Any:
        """Of the agent's lamp."""
        return self._lamps[agent].observation_space

    def action_space(self, agent: str) -> Any:
        """Of the agent's lamp."""
        return self._lamps[agent].action_space

    @property
    def unwrapped(self) -> "Lamps":
        """Itself."""
        return self

    def reset(self, seed: int | None = None, options: Any = None) -> tuple[dict[str, Any], dict[str, Any]]:
        """Both to the left."""
        self.agents = list(AGENTS)
        return {agent: self._lamps[agent].reset(seed=seed, options=options)[0] for agent in AGENTS}, _each({})

    def step(self, actions: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """Moves both."""
        seen = {agent: self._lamps[agent].step(actions[agent])[0] for agent in AGENTS}
        point = float(len({lamp.place for lamp in self._lamps.values()}) == 1)
        return seen, _each(point), _each(False), _each(False), _each({})

    def get_state(self) -> dict[str, Any]:
        """All that a step depends on."""
        return {agent: [lamp.place, lamp.count] for agent, lamp in self._lamps.items()}

    def set_state(self, state: dict[str, Any]) -> None:
        """Goes on from there."""
        for agent, lamp in self._lamps.items():
            lamp.place, lamp.count = map(int, state[agent])

    def render(self) -> Any:
        """One above the other."""
        if self.render_mode == "mug":
            for number, (agent, lamp) in enumerate(self._lamps.items()):
                self.surface.rect(x=25 + 150 * lamp.place, y=10 + 100 * number, w=100, h=80, color="#000000", id=agent)
            return self.surface.commit().to_dict()
        return np.concatenate([lamp.render()[50:150] for lamp in self._lamps.values()])

    def close(self) -> None:
        """Nothing."""


parallel_env = Lamps
"""PettingZoo's name for what makes an environment, by which the studio finds it."""


def _each(value: Any) -> dict[str, Any]:
    return dict.fromkeys(AGENTS, value)


gymnasium.register("rlds_kit_benchmarks/Lamp-v0", entry_point=Lamp)
