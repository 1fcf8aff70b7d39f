"""Reads the CrowdPlay Atari dataset: people who play Atari games in a browser, alone, together, or beside a program.

The dataset (Gerstgrasser, Trivedi and Parkes, ICLR 2022) is a folder:

    dataset.sqlite                what is known about environments, episodes and users
    <episode_id>.pickle.bz2       a trajectory; `.pickle.gz` or `.pickle` after a user has unpacked it

A trajectory is a pickled list of one dict for every frame of the emulator, 60 in a second. It has our alignment: the
action was applied to the observation. The observation after the last action was not stored. Pickles are
read by `restricted_unpickler`, so that opening a download never runs code from it.
"""

import bz2
import contextlib
import datetime as dt
import gzip
import os
import sqlite3
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from rlds_kit.base.errors import FormatError, NotADatasetError
from rlds_kit.convert.crowdplay.restricted_unpickler import Limits, RefusedPickleError, load, loads

DATABASE: Final = "dataset.sqlite"
ALL_AGENTS: Final = "all"
"""In metadata by agent, the key of metadata that belongs to no single agent."""
FRAMES_PER_SECOND: Final = 60

Keywords = Mapping[str, Mapping[str, Any]]
"""Metadata by agent, then by key. Spans of time are in seconds, dates in the form of ISO 8601."""

_OPENERS: Final[dict[str, Callable[[Path], IO[bytes]]]] = {
    ".pickle.bz2": bz2.open,
    ".pickle.gz": gzip.open,  # type: ignore[dict-item]  # reads as any file does
    ".pickle": lambda path: path.open("rb"),
}
_KEYWORD_LIMITS: Final = Limits(value_bytes=1 << 24, total_bytes=1 << 26, operations=1 << 22, values=1 << 22)
_SMALL_BYTES: Final = 1 << 30
_MOST_COMPRESSED: Final = 20_000
"""Times the size of a compressed trajectory: bzip2 makes 1/500 to 1/2000 of Atari, and less of a still screen."""
_SQLITE_STEPS: Final = 1_000_000
_MOST_SQLITE_CALLS: Final = 10_000
"""Maximum number of `_SQLITE_STEPS` that reading a database may take, far more than millions of episodes need."""
_TABLES: Final = ("users", "episodes", "environments", "episodekeyworddata", "environmentkeyworddata")
_EPISODES: Final = """
    SELECT episodes.episode_id, episodes.environment_id, environments.task_id
    FROM episodes LEFT JOIN environments ON environments.environment_id = episodes.environment_id
    ORDER BY episodes.episode_id
"""


@dataclass(frozen=True)
class Played:
    """The data about an episode in the database.

    Attributes:
      path: of the trajectory.
      episode_id: CrowdPlay's.
      environment_id: of the session; several episodes may be of one.
      task_id: names game, task and channel, for instance "riverraid_left_email".
      game: in snake_case; "space_invaders_2p" and "space_invaders_ai" have two players.
      task: the instruction of the players: "plain", "left", "insideout", ...
      channel: how they were recruited: "mturk", "email", "socialmedia".
      players: by agent, a pseudonym that is the same in all episodes of a person.
      keywords: of the episode: scores, spans of time, measures of how well the task was followed.
      session_keywords: the same of the whole session.
    """

    path: Path
    episode_id: str
    environment_id: str
    task_id: str
    game: str
    task: str
    channel: str
    players: Mapping[str, str]
    keywords: Keywords
    session_keywords: Keywords

    def trajectory(self, limits: Limits | None = None) -> "Trajectory":
        """Reads the trajectory into memory: 100 kB for each agent and frame.

        Args:
          limits: for the pickle; None: the default ones, and lower ones for a small file.

        Raises:
          FormatError: it is not a pickle of a list with data only; the message names the file.
        """
        stored = _read(self.path, limits or _limits_of(self.path.stat().st_size))
        if not isinstance(stored, list):
            raise FormatError(f"{self.path}: expected a list of steps, got a {type(stored).__name__}")
        return Trajectory(self.path, stored)


@dataclass(frozen=True)
class Trajectory:
    """The trajectory of an episode.

    Attributes:
      path: of the file.
      stored: its content, unchanged.
    """

    path: Path
    stored: Sequence[Any]

    @property
    def agents(self) -> tuple[str, ...]:
        """The agents, sorted.

        Raises:
          FormatError: the first step is not of this form.
        """
        if not self.stored:
            return ()
        return tuple(sorted(_of(self.stored[0], "prev_obs", dict, f"{self.path}: step 0")))

    def steps(self, agent: str) -> Iterator["Step"]:
        """The frames of an agent, in order.

        Raises:
          FormatError: a step is not of this form; the message names it.
        """
        for number, stored in enumerate(self.stored):
            yield _step(stored, agent, f"{self.path}: step {number}")


@dataclass(frozen=True, slots=True)
class Step:
    """One frame, as one agent saw it.

    Attributes:
      observation: the screen before the action, uint8 `[H, W, 3]`.
      action: the number of an action of ALE's full set.
      reward: for the action.
      done: whether the episode ended here.
      ram: the console's memory after the action, uint8 `[128]`; None: it was not stored.
      step_iter: the number of this frame.
      action_step_iter: the number of the frame that was displayed when the key was pressed.
      user_type: of the player: 0 has left, 1 a person, 2 a program.
      collectors: the values of the task's measures after the step, for the session and for the episode.
    """

    observation: np.ndarray
    action: int
    reward: float
    done: bool
    ram: np.ndarray | None
    step_iter: int
    action_step_iter: int
    user_type: int
    collectors: Mapping[str, Any]


def read_episodes(
    directory: str | os.PathLike[str],
    *,
    games: Sequence[str] = (),
    tasks: Sequence[str] = (),
    channels: Sequence[str] = (),
) -> list[Played]:
    """Reads the episodes in the database of a dataset. No trajectory is read.

    Args:
      directory: with `dataset.sqlite`; trajectories are beside it.
      games: to choose; none of them: all.
      tasks: to choose; none of them: all.
      channels: to choose; none of them: all.

    Returns:
      The episodes, sorted by id.

    Raises:
      NotADatasetError: there is no database.
      FormatError: the database is not of this form, or a trajectory is missing.
    """
    root = Path(directory)
    if not (root / DATABASE).is_file():
        raise NotADatasetError(f"{root}: expected {DATABASE} of the CrowdPlay Atari dataset; unpack data-v0.zip here")
    try:
        with contextlib.closing(sqlite3.connect(f"{(root / DATABASE).absolute().as_uri()}?mode=ro", uri=True)) as base:
            _restrict(base)
            _require_tables(base, root)
            found = list(_episodes(base, root))
    except (sqlite3.Error, UnicodeError) as error:
        raise FormatError(f"{root / DATABASE}: not a database of CrowdPlay: {error}") from error
    return [
        each
        for each in found
        if _is_chosen(each.game, games) and _is_chosen(each.task, tasks) and _is_chosen(each.channel, channels)
    ]


def _restrict(base: sqlite3.Connection) -> None:
    """Restricts SQLite: an untrusted database must not call functions, run without end, or use all memory."""
    base.execute("PRAGMA trusted_schema = OFF")
    base.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _KEYWORD_LIMITS.total_bytes)
    left = iter(range(_MOST_SQLITE_CALLS))
    base.set_progress_handler(lambda: int(next(left, None) is None), _SQLITE_STEPS)


def _require_tables(base: sqlite3.Connection, root: Path) -> None:
    """Raises an error for views and virtual tables, which may have infinitely many rows, unlike tables in the file.

    Raises:
      FormatError: there is no table of this name.
    """
    kinds = {name: (kind, sql) for name, kind, sql in base.execute("SELECT lower(name), type, sql FROM sqlite_master")}
    for name in _TABLES:
        kind, sql = kinds.get(name, ("missing", ""))
        if kind != "table" or not str(sql).upper().startswith("CREATE TABLE"):
            raise FormatError(f"{root / DATABASE}: expected the table {name} of CrowdPlay, got {kind}: {sql!r:.200}")


def _is_chosen(value: str, chosen: Sequence[str]) -> bool:
    return not chosen or value in chosen


def _episodes(base: sqlite3.Connection, root: Path) -> Iterator[Played]:
    of_episode = _keywords(base, "episodekeyworddata", "episode_id", root)
    of_session = _keywords(base, "environmentkeyworddata", "environment_id", root)
    players: dict[str, dict[str, str]] = defaultdict(dict)
    for session, agent, person in base.execute("SELECT environment_id, agent_id, permanent_user_id FROM users"):
        players[session][agent] = person
    seen = set[str]()
    for episode, session, task_id in base.execute(_EPISODES):
        if episode in seen:  # in an invalid database each episode may have many sessions of the same id
            raise FormatError(f"{root / DATABASE}: expected one session of episode {episode!r}, got several")
        seen.add(episode)
        if not isinstance(episode, str) or not isinstance(task_id, str):
            raise FormatError(f"{root / DATABASE}: expected episode {episode!r} to have an id and a session of a task")
        about = of_session.get(session, {}).get(ALL_AGENTS, {})
        game, task, channel = (_text(about, key, f"{root / DATABASE}: {session}") for key in ("game", "task", "source"))
        yield Played(
            path=_trajectory(root, episode),
            episode_id=episode,
            environment_id=session,
            task_id=task_id,
            game=game,
            task=task,
            channel=channel,
            players=dict(players[session]),
            keywords=of_episode.get(episode, {}),
            session_keywords=of_session[session],
        )


def _keywords(base: sqlite3.Connection, table: str, key: str, root: Path) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    for owner, agent, name, stored in base.execute(f"SELECT {key}, agent_id, key, value FROM {table}"):  # noqa: S608  ours
        place = f"{root / DATABASE}: {table}, {owner}, {agent}, {name!r}"
        if not isinstance(stored, bytes):
            raise FormatError(f"{place}: expected a pickle, got {stored!r:.200}")
        try:
            found[owner][agent][name] = plain(loads(stored, _KEYWORD_LIMITS))
        except RefusedPickleError as error:
            raise RefusedPickleError(f"{place}: {error}") from error
    return {owner: dict(agents) for owner, agents in found.items()}


def _text(about: Mapping[str, Any], key: str, place: str) -> str:
    value = about.get(key)
    if not isinstance(value, str):
        raise FormatError(f"{place}: expected text for {key!r} of the session, got {value!r}")
    return value


def _trajectory(root: Path, episode: str) -> Path:
    if Path(episode).name != episode:
        raise FormatError(f"{root / DATABASE}: expected an id for the episode, got {episode!r}")
    for ending in _OPENERS:
        path = root / (episode + ending)
        if path.is_file():
            return path
    raise FormatError(f"{root}: the trajectory {episode}.pickle.bz2 is missing; unpack data-v0.zip again")


def _limits_of(size: int) -> Limits:
    """Lower limits for small files, which cannot contain long trajectories."""
    return Limits(total_bytes=min(Limits().total_bytes, max(_SMALL_BYTES, _MOST_COMPRESSED * size)))


def _read(path: Path, limits: Limits) -> Any:
    """The value of a trajectory's pickle."""
    ending = next(each for each in _OPENERS if path.name.endswith(each))
    try:
        with _OPENERS[ending](path) as file:
            return load(file, limits)
    except RefusedPickleError as error:
        raise RefusedPickleError(f"{path}: {error}") from error


def plain(value: Any) -> Any:
    """A value with its dates as text of ISO 8601, its spans of time as seconds, and its sets as sorted lists.

    >>> plain({"Time played": dt.timedelta(minutes=2), "Score": 10})
    {'Time played': 120.0, 'Score': 10}
    """
    match value:
        case dt.datetime():
            return value.isoformat()
        case dt.timedelta():
            return value.total_seconds()
        case dict():
            return {key: plain(item) for key, item in value.items()}
        case list() | tuple():
            return type(value)(plain(item) for item in value)
        case set():
            return sorted((plain(item) for item in value), key=lambda item: (type(item).__name__, item))
    return value


def _step(stored: Any, agent: str, place: str) -> Step:
    def own(field: str, kind: Any) -> Any:
        return _of(_of(stored, field, dict, place), agent, kind, f"{place}: {field}")

    action = own("action", (dict, int, np.integer))
    agents = _of(stored, "prev_obs", dict, place).keys()
    return Step(
        observation=_of(own("prev_obs", dict), "image", np.ndarray, f"{place}: prev_obs: {agent}"),
        action=int(_of(action, "game", (int, np.integer), place) if isinstance(action, dict) else action),
        reward=float(own("reward", (float, int, np.number))),
        done=bool(own("done", (bool, np.bool_))),
        ram=_ram(own("info", dict), f"{place}: info: {agent}"),
        step_iter=int(_of(stored, "step_iter", int, place)),
        action_step_iter=int(own("action_step_iter", int)),
        user_type=int(own("user_type", int)),
        collectors={
            "session": _collected(stored.get("task_callables"), agent, agents),
            "episode": _collected(stored.get("episode_callables"), agent, agents),
        },
    )


def _of(container: Any, key: str, kind: Any, place: str) -> Any:
    """An item of a dict, of the expected kind."""
    if not isinstance(container, dict) or key not in container:
        raise FormatError(f"{place}: expected {key!r}, got {container!r:.200}")
    value = container[key]
    if not isinstance(value, kind):
        raise FormatError(f"{place}: {key}: expected {kind}, got {value!r:.200}")
    return value


def _ram(info: Mapping[str, Any], place: str) -> np.ndarray | None:
    if "RAM" not in info:
        return None
    ram: np.ndarray = _of(info, "RAM", np.ndarray, place)
    if ram.dtype != np.uint8 or ram.shape != (128,):
        raise FormatError(f"{place}: RAM: expected 128 uint8, got {ram.dtype} of shape {ram.shape}")
    return ram


def _collected(states: Any, agent: str, agents: Collection[str]) -> Any:
    """The values of the measures for one agent.

    Args:
      states: by the name of the measure: states by agent, or one state.
      agent: to select.
      agents: of the episode; states of the others are left out.

    >>> _collected({"Score": {"p0": 1, "p1": 2}, "Team": {"all": 3}, "Both": {"p1": 4, "all": 5}}, "p0", ["p0", "p1"])
    {'Score': 1, 'Team': {'all': 3}, 'Both': {'all': 5}}
    """
    if states is None:
        return {}
    if not isinstance(states, dict):
        return plain(states)
    found: dict[str, Any] = {}
    for name, state in states.items():
        if not isinstance(state, dict) or not state.keys() & {*agents}:
            found[str(name)] = plain(state)
        elif state.keys() <= {*agents}:
            found |= {str(name): plain(state[agent])} if agent in state else {}
        else:
            own = {key: item for key, item in state.items() if key == agent or key not in agents}
            found[str(name)] = plain(own)
    return found
