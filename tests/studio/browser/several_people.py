"""Games that several people play in browsers of their own, with programs in the other seats."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
import pettingzoo
from numpy.typing import NDArray
from playwright.sync_api import Locator, Page

import rlds_kit
from tests.studio.studio_process import Api


@dataclass(frozen=True)
class Game:
    """A game of PettingZoo with pictures.

    Attributes:
      id: of PettingZoo.
      seats: in order; people have the first ones.
      actions: names of the actions in order, and the key of each.
      default: number of the action without a key.
      fps: steps a second.
      kwargs: of the game.
    """

    id: str
    seats: tuple[str, ...]
    actions: Mapping[str, str]
    default: int
    fps: float
    kwargs: Mapping[str, Any] = field(default_factory=dict)

    def study(self, designer: Api, people: int, **together: Any) -> dict[str, Any]:
        """A study of so many people; programs act for people who are gone, too."""
        rows = [{"name": name, "keys": [key]} for name, key in self.actions.items()]
        controls = {"actions": rows, "default": self.default}
        seats = [
            {"name": name, "is_human": number < people, "actor": "random", "controls": controls}
            for number, name in enumerate(self.seats)
        ]
        environment = {
            "environment": self.id,
            "interface": "pettingzoo",
            "fps": self.fps,
            "kwargs": dict(self.kwargs),
            "seats": seats,
            "together": {"countdown_seconds": 1.0, **together},
        }
        return designer.study(f"{self.id} for {people}", environment, instructions="Play together.")

    def replayed(self, episode: rlds_kit.Episode) -> Iterator[tuple[int, dict[str, float], NDArray[np.uint8]]]:
        """Plays the recorded actions offline, and compares observations and rewards.

        Yields:
          Number of the step, sums of rewards, picture.
        """
        env: Any = pettingzoo.make("parallel", self.id, render_mode="rgb_array", **{**self.kwargs, **_roms(self.id)})
        try:
            observations, _ = env.reset(seed=episode.seed)
            totals = dict.fromkeys(self.seats, 0.0)
            steps = list(episode.steps)
            yield 0, dict(totals), np.array(env.render())
            for number, step in enumerate(steps[:-1], start=1):
                np.testing.assert_equal(step["observation"], observations)
                observations, rewards, *_ = env.step({name: int(action) for name, action in step["action"].items()})
                assert step["reward"] == rewards
                for name, reward in rewards.items():
                    totals[name] += reward
                yield number, dict(totals), np.array(env.render())
            np.testing.assert_equal(steps[-1]["observation"], observations)
        finally:
            env.close()


def _roms(game: str) -> dict[str, str]:
    if not game.startswith("atari/"):
        return {}
    from ale_py import roms

    return {"auto_rom_install_path": str(Path(roms.__file__).parent)}


ZOMBIES: Final = Game(
    "butterfly/knights_archers_zombies-v11",
    ("archer_0", "archer_1", "knight_0", "knight_1"),
    {
        "forward": "ArrowUp",
        "back": "ArrowDown",
        "turn left": "ArrowLeft",
        "turn right": "ArrowRight",
        "attack": "Space",
        "wait": "KeyQ",
    },
    default=5,
    fps=10.0,
    kwargs={"max_cycles": 5000, "spawn_delay": 100_000},
)
"""All against zombies."""
PONG: Final = Game(
    "atari/pong-v3",
    ("first_0", "second_0", "third_0", "fourth_0"),
    {
        "wait": "KeyQ",
        "serve": "Space",
        "up": "ArrowUp",
        "down": "ArrowDown",
        "serve up": "KeyE",
        "serve down": "KeyC",
    },
    default=0,
    fps=30.0,
    kwargs={"num_players": 4, "max_cycles": 5000},
)
"""Two against two."""


def lobby(study: Mapping[str, Any]) -> str:
    """The link of its lobby."""
    return f"#lobby?study={study['id']}&environment={study['environments'][0]['id']}"


def state_of(page: Page, seat: str) -> Locator:
    """What a page says of a seat."""
    return page.get_by_role("region", name="Players").get_by_role("listitem").filter(has_text=seat)
