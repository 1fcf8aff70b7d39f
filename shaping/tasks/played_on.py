"""A correction by playing: a person goes on from a step of a recorded episode."""

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
    """From where a person goes on.

    Attributes:
      dataset: of the episode.
      episode: its id.
      step: of the episode, from which the person acts.
      directory: where what they play is recorded.
      annotator: who plays: a pseudonym.
      modules: that register environments.
    """

    dataset: str
    episode: uuid.UUID
    step: int
    directory: str
    annotator: str
    modules: Sequence[str] = ()


def play_on(connection: Connection, order: PlayOn) -> None:
    """Plays on until the person is done, or the other end of the connection closes.

    Messages that come: {"do": "act", "action": number}, {"do": "done"}, {"do": "end"}. Those that go: {"picture",
    "n_actions", "done": how many actions, "is_over"}, then {"played": id, "actions"}, or {"failed": reason}.
    """
    try:
        for each in order.modules:
            importlib.import_module(each)
        dataset = rlds_kit.open(order.dataset)
        episode = next(each for each in dataset.episodes if each.id == order.episode)
        env, observation = standing_at(episode, order.step)
    except Exception as error:  # noqa: BLE001  environments may raise anything; the person has to read it
        with contextlib.suppress(OSError):
            connection.send({"failed": str(error)})
        return
    with contextlib.closing(env), contextlib.suppress(EOFError, OSError):
        _play(connection, order, env, observation)


def standing_at(episode: Episode, step: int) -> tuple[gymnasium.Env[Any, Any], Any]:
    """The environment of an episode after the steps before one, which were compared with the recording bit for bit.

    Returns:
      The environment, and the observation of the step.

    Raises:
      ValueError: the step is the last one, or the environment is not known, has no numbered actions, or does something
        else than then.
      RldsKitError: it cannot be made again, or the recording is damaged.
    """
    if reason := why_not_drawn(episode):
        raise ValueError(f"nobody can play on in this episode: {reason}")
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
    """Checks that an episode is what a person played on from a step.

    Raises:
      ValueError: it is not.
    """
    try:
        dataset = rlds_kit.open(order.directory, include_open=True)
        found = next((each for each in dataset.episodes if each.id == played), None)
    except NotADatasetError:  # nobody has played yet
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
