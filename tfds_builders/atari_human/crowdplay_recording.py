"""Converts episodes of the CrowdPlay Atari dataset to our format, and proves that no value changed."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final

from rlds_kit.base.errors import FormatError, SpecError
from rlds_kit.base.step import ACTION, DECLARED_FIELDS, DISCOUNT, OBSERVATION, REWARD
from rlds_kit.convert.crowdplay.reader import ENVIRONMENT, episode_of, step_spec
from rlds_kit.convert.crowdplay.trajectories import Played, Step
from rlds_kit.convert.episode_content import content_of
from rlds_kit.convert.protocol import ForeignEpisode
from rlds_kit.convert.rlds_kit_dataset import DatasetReader
from rlds_kit.logger import EpisodeWriter
from rlds_kit.logger.whole_episode import MISSING
from rlds_kit.tfds_builders.proof import ProofError

PERSON: Final = 1
"""The `user_type` of steps that a person played."""


def record(episodes: Iterable[Played], directory: str | os.PathLike[str], about: Mapping[str, str]) -> int:
    """Records episodes; each becomes one for every agent that a person played at least part of the time.

    A step has the screen before the action; `next_ram`, the memory after it; `user_type`; and two counts of frames,
    `step_iter` and `action_step_iter`, whose difference is the delay of the action. There is one step more than
    actions, and nothing is defined in the last one, because CrowdPlay lacks the last screen. A game that the players
    left before its end is INTERRUPTED.

    Args:
      episodes: of one game.
      directory: of the dataset; created if it does not exist.
      about: name, description, citation and licence.

    Returns:
      The number of recorded episodes.

    Raises:
      FormatError: a trajectory is not of CrowdPlay's form, or has no player.
      ProofError: the recorded values differ from the given ones.
    """
    given: dict[tuple[str, str], bytes] = {}
    writer: EpisodeWriter | None = None
    try:
        for played in episodes:
            trajectory = played.trajectory()
            for agent in trajectory.agents:
                steps = list(trajectory.steps(agent))
                if any(step.user_type == PERSON for step in steps):
                    writer = writer or _writer(steps[0], directory, about)
                    episode = episode_of(played, agent, steps)
                    try:
                        _record(writer, episode)
                    except SpecError as error:
                        raise FormatError(f"{played.path}: {agent}: {error}") from error
                    given[played.episode_id, agent] = content_of(episode)
    finally:
        if writer is not None:
            writer.close()
    if not given:
        raise FormatError("expected trajectories that people played, got none; choose another game, task or channel")
    prove(given, directory)
    return len(given)


def prove(given: Mapping[tuple[str, str], bytes], directory: str | os.PathLike[str]) -> None:
    """Reads everything back and compares it with the given values.

    Args:
      given: digests by CrowdPlay's id of the episode, and agent.
      directory: of the dataset.

    Raises:
      ProofError: an episode is missing, different or duplicate.
    """
    left = dict(given)
    for episode in DatasetReader(Path(directory)):
        key = (episode.metadata["crowdplay_episode"], episode.metadata["agent_id"])
        if left.pop(key, None) != content_of(episode):
            raise ProofError(
                f"{directory}: {key} was read back with other content than it was given, or is there twice"
            )
    if left:
        raise ProofError(f"{directory}: expected {len(given)} episodes, {len(left)} are missing: {sorted(left)[:3]}")


def _writer(first: Step, directory: str | os.PathLike[str], about: Mapping[str, str]) -> EpisodeWriter:
    spec = step_spec(first.observation.shape)
    return EpisodeWriter(directory, spec, environment=ENVIRONMENT, record_time=False, about=about)


def _record(writer: EpisodeWriter, given: ForeignEpisode) -> None:
    with writer.episode(metadata=given.metadata) as episode:
        first, *others = (row[OBSERVATION] for row in given.observed)
        episode.start(first)
        for row, observation in zip(given.acted, (*others, MISSING), strict=True):
            acted = {name: value for name, value in row.items() if name not in DECLARED_FIELDS}
            is_over = row[DISCOUNT] == 0
            episode.step(row[ACTION], row[REWARD], observation, discount=row[DISCOUNT], acted=acted, terminated=is_over)
