"""Makes a small dataset of CrowdPlay's form: its database, and trajectories of frames that ALE really emitted."""

import bz2
import collections
import copy
import datetime as dt
import gzip
import pickle
import sqlite3
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ale_py
import gymnasium
import numpy as np

gymnasium.register_envs(ale_py)

FIRST, SECOND = "game_0>player_0", "game_0>player_1"
HUMAN, PROGRAM = 1, 2
SCHEMA = """
    CREATE TABLE environments (
        environment_id VARCHAR(255) NOT NULL, task_id VARCHAR(255) NOT NULL, PRIMARY KEY (environment_id));
    CREATE TABLE episodes (
        episode_id VARCHAR(255) NOT NULL, environment_id VARCHAR(255) NOT NULL, PRIMARY KEY (episode_id),
        FOREIGN KEY(environment_id) REFERENCES environments (environment_id));
    CREATE TABLE users (
        user_id VARCHAR(255) NOT NULL, permanent_user_id VARCHAR(255) NOT NULL, task_id VARCHAR(255) NOT NULL,
        environment_id VARCHAR(255) NOT NULL, agent_id VARCHAR(255) NOT NULL, PRIMARY KEY (user_id),
        FOREIGN KEY(environment_id) REFERENCES environments (environment_id));
    CREATE TABLE episodekeyworddata (
        episode_id VARCHAR(255) NOT NULL, agent_id VARCHAR(255) NOT NULL, "key" VARCHAR(255) NOT NULL,
        value BLOB NOT NULL, PRIMARY KEY (episode_id, agent_id, "key"),
        FOREIGN KEY(episode_id) REFERENCES episodes (episode_id));
    CREATE TABLE environmentkeyworddata (
        environment_id VARCHAR(255) NOT NULL, agent_id VARCHAR(255) NOT NULL, "key" VARCHAR(255) NOT NULL,
        value BLOB NOT NULL, PRIMARY KEY (environment_id, agent_id, "key"),
        FOREIGN KEY(environment_id) REFERENCES environments (environment_id));
"""
WRITERS: Mapping[str, Callable[[Path, bytes], object]] = {
    ".pickle.bz2": lambda path, data: path.write_bytes(bz2.compress(data)),
    ".pickle.gz": lambda path, data: path.write_bytes(gzip.compress(data)),
    ".pickle": lambda path, data: path.write_bytes(data),
}


@dataclass(frozen=True)
class Session:
    """One environment with its episodes.

    Attributes:
      task_id: as CrowdPlay names it.
      game: CrowdPlay's name of the game.
      rom: the id of ALE's environment.
      task: the instruction of the players.
      source: how the players were recruited.
      agents: who plays, by agent: `HUMAN` or `PROGRAM`.
      lengths: frames of each episode.
      ending: of the names of the trajectories.
    """

    task_id: str
    game: str
    rom: str
    task: str
    source: str
    agents: Mapping[str, int] = field(default_factory=lambda: {FIRST: HUMAN})
    lengths: tuple[int, ...] = (12,)
    ending: str = ".pickle.bz2"


SESSIONS = (
    Session(
        "space_invaders_insideout", "space_invaders", "ALE/SpaceInvaders-v5", "insideout", "mturk", lengths=(12, 9)
    ),
    Session("space_invaders_email", "space_invaders", "ALE/SpaceInvaders-v5", "plain", "email", ending=".pickle.gz"),
    Session("riverraid_left_email", "riverraid", "ALE/Riverraid-v5", "left", "email", ending=".pickle"),
    Session(
        "space_invaders_ai_cooperative_mturk",
        "space_invaders_ai",
        "ALE/SpaceInvaders-v5",
        "cooperative",
        "mturk",
        {FIRST: HUMAN, SECOND: PROGRAM},
    ),
)


def make_sample(directory: Path, sessions: tuple[Session, ...] = SESSIONS) -> dict[str, list[dict[str, Any]]]:
    """Writes a dataset; returns its trajectories by the id of their episode."""
    directory.mkdir(parents=True, exist_ok=True)
    trajectories: dict[str, list[dict[str, Any]]] = {}
    with sqlite3.connect(directory / "dataset.sqlite") as base:
        base.executescript(SCHEMA)
        for number, session in enumerate(sessions):
            _add_session(base, session, number)
            for index, length in enumerate(session.lengths):
                episode = f"{number:08x}-0000-4000-8000-{index:012x}"
                trajectory = play(session, length, seed=100 * number + index)
                _add_episode(base, episode, f"environment-{number}", session, trajectory)
                WRITERS[session.ending](directory / (episode + session.ending), pickle.dumps(trajectory, 4))
                trajectories[episode] = trajectory
    base.close()
    return trajectories


def _add_session(base: sqlite3.Connection, session: Session, number: int) -> None:
    key = f"environment-{number}"
    base.execute("INSERT INTO environments VALUES (?, ?)", (key, session.task_id))
    for agent, kind in session.agents.items():
        if kind == HUMAN:
            user = (f"visit-{number}-{agent}", f"{number % 2:040x}", session.task_id, key, agent)
            base.execute("INSERT INTO users VALUES (?, ?, ?, ?, ?)", user)
    about = {
        "game": session.game,
        "task": session.task,
        "source": session.source,
        "created_on": dt.datetime(2021, 9, 1),  # noqa: DTZ001  CrowdPlay's has no zone
    }
    for name, value in about.items():
        row = (key, "all", name, pickle.dumps(value, 5))
        base.execute("INSERT INTO environmentkeyworddata VALUES (?, ?, ?, ?)", row)


def _add_episode(
    base: sqlite3.Connection, episode: str, key: str, session: Session, trajectory: list[dict[str, Any]]
) -> None:
    base.execute("INSERT INTO episodes VALUES (?, ?)", (episode, key))
    rows: list[tuple[str, str, Any]] = [("all", "created_on", dt.datetime(2021, 9, 1, 12, 30, 5, 250))]  # noqa: DTZ001
    for agent in session.agents:
        rows += [(agent, name, state[agent]) for name, state in trajectory[-1]["episode_callables"].items()]
    for agent, name, value in rows:
        row = (episode, agent, name, pickle.dumps(value, 5))
        base.execute("INSERT INTO episodekeyworddata VALUES (?, ?, ?, ?)", row)


def play(session: Session, length: int, seed: int) -> list[dict[str, Any]]:
    """CrowdPlay's data of an episode: one dict per frame, the last one with `done` if the game ends by then."""
    env = gymnasium.make(session.rom, frameskip=1, repeat_action_probability=0.0, full_action_space=True)
    observation, _ = env.reset(seed=seed)
    rng = np.random.default_rng(seed)
    scores = dict.fromkeys(session.agents, 0.0)
    trajectory = []
    for number in range(length):
        actions = {agent: {"game": int(rng.integers(18))} for agent in session.agents}
        seen, (observation, reward, terminated, _, _) = observation, env.step(actions[FIRST]["game"])
        for agent in scores:
            scores[agent] += float(reward)
        measures = {"Score": dict(scores), "Time played": dict.fromkeys(scores, dt.timedelta(seconds=number // 60))}
        ram = env.unwrapped.ale.getRAM()  # type: ignore[attr-defined]  # ALE's own
        is_last = terminated or number == length - 1
        step = {
            "prev_obs": {agent: collections.OrderedDict(image=seen) for agent in session.agents},
            "action": actions,
            "action_step_iter": dict.fromkeys(session.agents, max(number - 3, -1)),
            "reward": dict.fromkeys(session.agents, float(reward)),
            "done": dict.fromkeys(session.agents, is_last and length % 2 == 0),
            "info": {agent: {"RAM": ram} for agent in session.agents},
            "step_iter": number + 1,
            "user_type": dict(session.agents),
            "task_callables": measures,
            "episode_callables": measures,
        }
        trajectory.append(copy.deepcopy(step))
        if is_last:
            break
    env.close()
    return trajectory
