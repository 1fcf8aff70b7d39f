"""A correction by playing: a person continues from a step of a recorded episode."""

import base64
import contextlib
import importlib
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import gymnasium
import numpy as np

import rlds_kit
from rlds_kit.base.errors import NotADatasetError
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.episode.episode import Episode
from rlds_kit.logger.episode_writer import EpisodeWriter
from rlds_kit.tools.replay.drawn import MODE, why_not_drawn
from rlds_kit.tools.replay.playback import played
from rlds_kit.tools.replay.rebuilt import rebuilt
from rlds_kit.trials.frames.png import encode_flat


@dataclass(frozen=True, slots=True, kw_only=True)
class PlayOn:
    """The step from which a person continues.

    Attributes:
      dataset: of the episode.
      episode: its id.
      step: of the episode, from which the person acts.
      directory: for the recording.
      annotator: a pseudonym of the person.
      modules: that register environments.
    """

    dataset: str
    episode: uuid.UUID
    step: int
    directory: str
    annotator: str
    modules: Sequence[str] = ()


def play_on(connection: Connection, order: PlayOn) -> None:
    """Plays until the person has finished, or the other end of the connection is closed.

    It receives {"do": "act", "action": number}, {"do": "done"}, {"do": "end"}. It sends {"picture", "n_actions",
    "done": number of actions, "is_over"}, then {"played": id, "actions"}, or {"failed": reason}.
    """
    try:
        for each in order.modules:
            importlib.import_module(each)
        dataset = rlds_kit.open(order.dataset)
        episode = next(each for each in dataset.episodes if each.id == order.episode)
        env, observation = standing_at(episode, order.step)
    except Exception as error:  # noqa: BLE001  environments may raise any error; the message is for the person
        with contextlib.suppress(OSError):
            connection.send({"failed": str(error)})
        return
    with contextlib.closing(env), contextlib.suppress(EOFError, OSError):
        _play(connection, order, env, observation)


def standing_at(episode: Episode, step: int) -> tuple[gymnasium.Env[Any, Any], Any]:
    """The environment of an episode after replayed steps, which are compared with the recording bit for bit.

    Returns:
      The environment, and the observation of the step.

    Raises:
      ValueError: the step is the last one, or the environment is unknown, has no numbered actions, or differs from
        the recording.
      RldsKitError: it cannot be made again, or the recording is damaged.
    """
    if reason := why_not_drawn(episode):
        raise ValueError(f"this episode cannot be continued: {reason}")
    if not 0 <= step < episode.length - 1:
        raise ValueError(f"expected a step from 0 to {episode.length - 2}, before the last one, to play on, got {step}")
    env = rebuilt(episode.provenance, render_mode=MODE)
    try:
        if not isinstance(env.action_space, gymnasium.spaces.Discrete) or env.action_space.start != 0:
            raise ValueError(f"expected numbered actions, Discrete(n), to play on with, got {env.action_space}")
        if step not in played(env, episode, with_info=False):
            raise ValueError(f"the environment does not come to step {step} as it did when the episode was recorded")
    except BaseException:
        env.close()
        raise
    return env, episode.steps[step]["observation"]


def require_played(order: PlayOn, played: uuid.UUID) -> None:
    """Checks that an episode was recorded by a person who continued from a step.

    Raises:
      ValueError: it is not.
    """
    try:
        dataset = rlds_kit.open(order.directory, include_open=True)
        found = next((each for each in dataset.episodes if each.id == played), None)
    except NotADatasetError:  # no person has played yet
        found = None
    if found is None or not _about(order).items() <= dict(found.metadata).items():
        raise ValueError(f"expected the id of what you played on from this step, got {played}")


def _about(order: PlayOn) -> dict[str, Any]:
    return {"annotator": order.annotator, "plays_on": str(order.episode), "from_step": order.step}


def _play(connection: Connection, order: PlayOn, env: gymnasium.Env[Any, Any], observation: Any) -> None:
    space: Any = env.action_space
    actions: list[int] = []
    is_over = False
    with EpisodeWriter(order.directory) as writer, writer.episode(metadata=_about(order)) as recorded:
        recorded.start(observation)
        while True:
            connection.send(_shown(env, int(space.n), len(actions), is_over=is_over))
            match connection.recv():
                case {"do": "act", "action": action} if type(action) is int and not is_over and 0 <= action < space.n:
                    observation, reward, terminated, truncated, _ = env.step(action)
                    actions.append(action)
                    is_over = bool(terminated or truncated)
                    recorded.step(
                        action, float(reward), observation, terminated=bool(terminated), truncated=bool(truncated)
                    )
                case {"do": "done"} if actions:
                    if not is_over:
                        recorded.end(EpisodeEnd.INTERRUPTED)
                    writer.flush()
                    connection.send({"played": str(recorded.id), "actions": actions})
                    return
                case {"do": "end"}:
                    raise EOFError


def _shown(env: gymnasium.Env[Any, Any], n_actions: int, done: int, *, is_over: bool) -> dict[str, Any]:
    picture: Any = env.render()
    png = base64.b64encode(encode_flat(np.ascontiguousarray(picture))).decode("ascii")
    return {"picture": png, "n_actions": n_actions, "done": done, "is_over": is_over}
