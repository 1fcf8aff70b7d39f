"""Small datasets, sound ones and faulty ones, that the tests of rules look at."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np

from rlds_kit import EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.lint import Report, lint
from rlds_kit.logger import EpisodeWriter, GymnasiumLogger

WIDTH = 4
SPEC = specs.Dict(
    {
        "observation": specs.Array((WIDTH,), np.float32, minimum=-100, maximum=100),
        "action": specs.Array((), np.float32, minimum=-5, maximum=5),
        "reward": specs.Array((), np.float64, minimum=-10, maximum=10),
        "discount": specs.Array((), np.float64),
    }
)


class Course:
    """An episode of random numbers that a test may change before it is written."""

    def __init__(self, number: int, actions: int = 20) -> None:
        random = np.random.default_rng(number)
        self.observations: list[Any] = list(random.normal(0, 1, (actions + 1, WIDTH)).astype(np.float32))
        self.actions: list[Any] = list(random.normal(0, 1, actions).astype(np.float32))
        self.rewards: list[Any] = list(random.normal(0, 1, actions))
        self.discounts: list[Any] = [1.0] * (actions - 1) + [0.0]
        self.metadata: dict[str, Any] = {"number": number}
        self.seed: Any = number
        self.end = EpisodeEnd.TERMINATED
        self.truncated = False
        self.others: list[dict[str, Any]] = [{} for _ in range(actions + 1)]

    def truncate(self) -> None:
        """Makes it end by a limit."""
        self.end, self.truncated, self.discounts[-1:] = EpisodeEnd.TRUNCATED, True, [1.0]


def write(
    directory: Path,
    courses: Sequence[Course],
    *,
    spec: specs.Dict | None = None,
    environment: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Path:
    """Records courses; what a course lacks at its end is missing."""
    with EpisodeWriter(
        directory, spec, environment=environment or {}, metadata=metadata or {}, record_time=False
    ) as writer:
        for course in courses:
            _write(writer, course)
    return directory


def _write(writer: EpisodeWriter, course: Course) -> None:
    with writer.episode(metadata=course.metadata, seed=course.seed) as episode:
        episode.start(course.observations[0], **course.others[0])
        for number, action in enumerate(course.actions):
            following = course.observations[number + 1 : number + 2]
            episode.step(
                action,
                course.rewards[number],
                *following,
                discount=course.discounts[number],
                **(course.others[number + 1] if following else {}),
            )
        episode.end(course.end, terminated=course.end is EpisodeEnd.TERMINATED, truncated=course.truncated)


def courses(count: int = 12, change: Callable[[Course], None] = lambda _: None) -> list[Course]:
    """Sound courses, each with a change."""
    made = [Course(number) for number in range(count)]
    for course in made:
        change(course)
    return made


def found(path: Path, *rules: str) -> Report:
    """What some rules find."""
    return lint(path, select=rules)


def cartpoles(directory: Path, episodes: int = 6, game: str = "CartPole-v1") -> Path:
    """Plays a game at random, as it should be recorded."""
    with GymnasiumLogger(gymnasium.make(game), directory) as env:
        env.action_space.seed(0)
        for number in range(episodes):
            env.reset(seed=number)
            done = False
            while not done:
                _, _, terminated, truncated, _ = env.step(env.action_space.sample())
                done = terminated or truncated
    return directory
