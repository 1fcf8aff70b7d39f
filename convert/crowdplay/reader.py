"""The CrowdPlay Atari dataset behind the protocol of conversions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.step import ACTION, DISCOUNT, OBSERVATION, REWARD, EpisodeEnd
from rlds_kit.convert.crowdplay.trajectories import (
    ALL_AGENTS,
    DATABASE,
    FRAMES_PER_SECOND,
    Played,
    Step,
    Trajectory,
    read_episodes,
)
from rlds_kit.convert.protocol import ForeignEpisode, Format, Loss, PartReader

ACTIONS: Final = 18
"""Number of actions in ALE's full set."""
NEXT_RAM, USER_TYPE, STEP_ITER, ACTION_STEP_ITER = "next_ram", "user_type", "step_iter", "action_step_iter"
COLLECTORS: Final = "collectors"
FIELDS: Final = (OBSERVATION, ACTION, REWARD, DISCOUNT, NEXT_RAM, USER_TYPE, STEP_ITER, ACTION_STEP_ITER)
"""The fields of every step, all arrays. `collectors`, the values of the task's measures, is an additional field."""
METADATA: Final = (
    *("game", "task", "channel", "task_id", "agent_id", "player", "score", "created_on"),
    *("crowdplay_episode", "crowdplay_session"),
)
"""Metadata of every episode, besides `keywords` and `session_keywords` of the database."""
ENVIRONMENT: Final = {"simulator": "Arcade Learning Environment", "frames_per_second": FRAMES_PER_SECOND}

_KNOWN: Final = {
    "": {
        *("prev_obs", "action", "action_step_iter", "reward", "done", "info", "step_iter", "user_type"),
        *("task_callables", "episode_callables"),
    },
    "prev_obs": {"image"},
    "action": {"game"},
    "info": {"RAM"},
}
"""The keys that are read of a stored step, and of each agent's part of it."""


class CrowdPlayReader(PartReader):
    """Reads all trajectories; each becomes one episode for every agent, whether a person or a program.

    Episodes are counted as trajectories. CrowdPlay did not store the last screen, so the final observation is missing.
    A game that the players left before its end is INTERRUPTED.
    """

    def __init__(self, path: Path) -> None:
        self._played = read_episodes(path)
        self._sizes = [played.path.stat().st_size for played in self._played]
        self.size = sum(self._sizes)
        self.about: Mapping[str, str] = {}
        self.spec = step_spec()
        self.metadata: Mapping[str, Any] = {}
        self.environment: Mapping[str, Any] = dict(ENVIRONMENT)
        self.lossy: Mapping[str, str] = {}
        self.losses: list[Loss] = []

    def __len__(self) -> int:
        return len(self._played)

    def weigh(self, _progress: Callable[[int], None]) -> Sequence[int]:
        """Estimates the bytes of each episode from the sizes of its files."""
        return self._sizes

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        """Reads some of the trajectories."""
        self.losses.clear()
        for played in self._played[begin:end]:
            trajectory = played.trajectory()
            for agent in trajectory.agents:
                yield self._episode(played, trajectory, agent)

    def _episode(self, played: Played, trajectory: Trajectory, agent: str) -> ForeignEpisode:
        steps = list(trajectory.steps(agent))
        for name, count in _left_out(trajectory.stored, agent).items():
            self.losses.append(Loss(name, "is nothing that CrowdPlay's steps are known to have", count))
        return episode_of(played, agent, steps)


def episode_of(played: Played, agent: str, steps: Sequence[Step]) -> ForeignEpisode:
    """An episode as one agent saw it."""
    rows = [_row(step, is_last=step is steps[-1]) for step in steps]
    is_over = bool(rows) and bool(rows[-1][DISCOUNT] == 0)
    return ForeignEpisode(
        [{OBSERVATION: row.pop(OBSERVATION)} for row in rows],
        rows,
        EpisodeEnd.TERMINATED if is_over else EpisodeEnd.INTERRUPTED,
        terminated=is_over,
        metadata=_metadata(played, agent, steps),
    )


def step_spec(screen: tuple[int, ...] | None = None) -> specs.Dict:
    """The fields of a step.

    Args:
      screen: shape of the observation; None if games differ in it.
    """
    number = specs.Array((), np.int64)
    fields: dict[str, specs.Spec] = {} if screen is None else {OBSERVATION: specs.Array(screen, np.uint8)}
    return specs.Dict(
        {
            **fields,
            ACTION: specs.Array((), np.int64, minimum=0, maximum=ACTIONS - 1),
            REWARD: specs.Array((), np.float64),
            DISCOUNT: specs.Array((), np.float64, minimum=0, maximum=1),
            NEXT_RAM: specs.Array((128,), np.uint8),
            USER_TYPE: number,
            STEP_ITER: number,
            ACTION_STEP_ITER: number,
        }
    )


def _row(step: Step, *, is_last: bool) -> dict[str, Any]:
    """The values of a step."""
    row = {
        OBSERVATION: step.observation,
        ACTION: np.int64(step.action),
        REWARD: np.float64(step.reward),
        DISCOUNT: np.float64(0 if step.done and is_last else 1),  # one agent may be done before the others
        USER_TYPE: np.int64(step.user_type),
        STEP_ITER: np.int64(step.step_iter),
        ACTION_STEP_ITER: np.int64(step.action_step_iter),
        COLLECTORS: step.collectors,
    }
    return row if step.ram is None else {**row, NEXT_RAM: step.ram}


def _metadata(played: Played, agent: str, steps: Sequence[Step]) -> dict[str, Any]:
    """The metadata of an episode of one agent."""
    return {
        "game": played.game,
        "task": played.task,
        "channel": played.channel,
        "task_id": played.task_id,
        "agent_id": agent,
        "player": played.players.get(agent, ""),
        "score": float(sum(step.reward for step in steps)),
        "created_on": str(played.keywords.get(ALL_AGENTS, {}).get("created_on", "")),
        "crowdplay_episode": played.episode_id,
        "crowdplay_session": played.environment_id,
        "keywords": dict(played.keywords),
        "session_keywords": dict(played.session_keywords),
    }


def _left_out(stored: Sequence[Any], agent: str) -> dict[str, int]:
    """Data that are not converted, with the number of values."""
    found: dict[str, int] = {}
    for step in stored:
        for place, known in _KNOWN.items():
            here = step.get(place, {}).get(agent) if place else step
            for name in here if isinstance(here, dict) else ():
                if name not in known:
                    key = f"{place}/{name}" if place else str(name)
                    found[key] = found.get(key, 0) + 1
    return found


def _recognises(path: Path) -> bool:
    return (path / DATABASE).is_file()


FORMAT: Final = Format(
    name="crowdplay",
    summary=f"the CrowdPlay Atari dataset, with {DATABASE}",
    recognises=_recognises,
    open=CrowdPlayReader,
)
