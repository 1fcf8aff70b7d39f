"""Space Invaders for two who share what they earn."""

from collections.abc import Mapping
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from rlds_kit.base.extras import needs

with needs("multi-agent-atari"):
    from pettingzoo import ParallelEnv

Frame = npt.NDArray[np.uint8]
AGENTS: Final = ("first_0", "second_0")
REWARDS: Final = ("sum", "mean_clipped")
_MEANINGS: Final = ("NOOP", "FIRE", "RIGHT", "LEFT", "RIGHTFIRE", "LEFTFIRE")
_CODES: Final = (0, 1, 3, 4, 11, 12)
"""ALE's numbers of these actions."""
_MODE: Final = 33
_PLACES: Final = (0x1C, 0x1D)
_LEFTMOST, _RIGHTMOST = 0x23, 0x75
_HIT: Final = 0x2A
_HIT_BITS: Final = (0x04, 0x02)
_HIT_BONUS: Final = 200.0


class CooperativeSpaceInvaders(ParallelEnv[str, Any, Any]):
    """Two cannons, one score.

    The game gives 200 points when the other player is hit; here they are not paid. What is left is shared: both get the
    sum, or the mean of both rewards after clipping them to -1, 0 and 1. Observations are the screen, uint8
    `[210, 160, 3]`, a frame a step; infos have the console's memory, `ram`.

    Args:
      reward: "sum" or "mean_clipped".
      random_starts: whether cannons begin at random places, at each reset and after each hit.
      max_frames: after which an episode is truncated.
      render_mode: "rgb_array" or None.

    Raises:
      ValueError: there is no such reward.
      MissingExtraError: the extra `multi-agent-atari` is not installed.
    """

    metadata: dict[str, Any] = {  # noqa: RUF012  as PettingZoo declares it
        "name": "cooperative_space_invaders_v0",
        "render_modes": ["rgb_array"],
        "render_fps": 60,
    }

    def __init__(
        self,
        *,
        reward: str = "sum",
        random_starts: bool = True,
        max_frames: int = 100_000,
        render_mode: str | None = None,
    ) -> None:
        if reward not in REWARDS:
            raise ValueError(f"reward: expected one of {', '.join(REWARDS)}, got {reward!r}")
        self.render_mode = render_mode
        self._reward, self._random_starts, self._max_frames = reward, random_starts, max_frames
        self.possible_agents = [*AGENTS]
        self.agents: list[str] = []
        self._console = _console()
        self._random = np.random.default_rng()
        self._space = spaces.Box(0, 255, (210, 160, 3), np.uint8)
        self._actions = {agent: spaces.Discrete(len(_CODES)) for agent in AGENTS}
        self._frames = 0
        self._is_down = [False, False]

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """The screen."""
        del agent
        return self._space

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Six actions."""
        return self._actions[agent]

    def get_action_meanings(self) -> list[str]:
        """Their names, which give them keys."""
        return [*_MEANINGS]

    def reset(
        self, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[dict[str, Frame], dict[str, dict[str, Any]]]:
        """Begins a game; with a seed, cannons begin at the places that follow from it."""
        del options
        if seed is not None:
            self._random = np.random.default_rng(seed)
        self._console.reset_game()
        self.agents = [*AGENTS]
        self._frames, self._is_down = 0, [False, False]
        for player in (0, 1):
            self._place(player)
        return self._observed()

    def step(
        self, actions: Mapping[str, int]
    ) -> tuple[dict[str, Frame], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]]:
        """Plays a frame.

        Raises:
          ValueError: the game is over, or an action is missing.
        """
        if set(actions) != set(self.agents) or not self.agents:
            raise ValueError(
                f"expected actions of {', '.join(self.agents) or 'no agent: reset first'}, got {[*actions]}"
            )
        codes = [_CODES[int(actions[agent])] for agent in AGENTS]
        earned = [float(each) for each in self._console.act(np.array(codes, np.intc))]
        self._frames += 1
        shared = self._shared(self._without_hits(earned))
        is_over = bool(self._console.game_over())
        is_late = not is_over and self._frames >= self._max_frames
        observations, infos = self._observed()
        if is_over or is_late:
            self.agents = []
        return (
            observations,
            dict.fromkeys(AGENTS, shared),
            dict.fromkeys(AGENTS, is_over),
            dict.fromkeys(AGENTS, is_late),
            infos,
        )

    def render(self) -> Frame | None:
        """The screen."""
        return self._screen() if self.render_mode == "rgb_array" else None

    def close(self) -> None:
        """Nothing is open."""

    def _without_hits(self, earned: list[float]) -> list[float]:
        """Rewards without the points for the other player's hit; a cannon that is there again gets a random place."""
        left = [*earned]
        state = int(self._console.getRAM()[_HIT])
        for player, bit in enumerate(_HIT_BITS):
            is_down = bool(state & bit)
            if is_down and not self._is_down[player] and left[1 - player] >= _HIT_BONUS:
                left[1 - player] -= _HIT_BONUS
            if self._is_down[player] and not is_down:
                self._place(player)
            self._is_down[player] = is_down
        return left

    def _shared(self, earned: list[float]) -> float:
        return sum(earned) if self._reward == "sum" else float(np.mean(np.clip(earned, -1, 1)))

    def _place(self, player: int) -> None:
        if self._random_starts:
            self._console.setRAM(_PLACES[player], int(self._random.integers(_LEFTMOST, _RIGHTMOST + 1)))

    def _observed(self) -> tuple[dict[str, Frame], dict[str, dict[str, Any]]]:
        screen, ram = self._screen(), self._console.getRAM().copy()
        return {agent: screen.copy() for agent in AGENTS}, {agent: {"ram": ram.copy()} for agent in AGENTS}

    def _screen(self) -> Frame:
        screen: Frame = np.asarray(self._console.getScreenRGB(), np.uint8).reshape(210, 160, 3).copy()
        return screen


def _console() -> Any:  # of multi_agent_ale_py, which has no types
    with needs("multi-agent-atari"):
        import multi_agent_ale_py
        from ale_py.roms import get_rom_path
    console = multi_agent_ale_py.ALEInterface()
    console.setFloat(b"repeat_action_probability", 0.0)
    console.loadROM(str(get_rom_path("space_invaders")))
    console.setMode(_MODE)
    console.setDifficulty(0)
    console.reset_game()
    return console


def make(render_mode: str | None = "rgb_array", **options: Any) -> CooperativeSpaceInvaders:
    """Makes the game; `rlds_kit.crowd.space_invaders:make` names it in studies and crowds.

    Args:
      render_mode: as of the class.
      options: of `CooperativeSpaceInvaders`.
    """
    return CooperativeSpaceInvaders(render_mode=render_mode, **options)
