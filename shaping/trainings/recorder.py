"""Records a training."""

import os
import uuid
from types import TracebackType
from typing import Any, Self

import rlds_kit
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.logger.episode_writer import EpisodeWriter, OpenEpisode
from rlds_kit.shaping.feedback.event import FeedbackEvent
from rlds_kit.shaping.feedback.layer import FeedbackWriter
from rlds_kit.shaping.feedback.step_clock import Mark


class TrainingRecorder:
    """Writes the games of a training to a dataset, and the feedback to its layer. Existing data are never replaced.

    A press and the steps before it are durable when `take` returns; other steps follow the writer's policy, within
    about a second.

    Args:
      directory: of the dataset.
      source: the author, such as the name of the program.
    """

    def __init__(self, directory: str | os.PathLike[str], source: str) -> None:
        self._directory, self._source = directory, source
        self._writer = EpisodeWriter(directory)
        self._episode: OpenEpisode | None = None
        self._feedback: FeedbackWriter | None = None
        self._id = uuid.UUID(int=0)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        self.close()

    def begin(self, observation: Any, metadata: dict[str, Any]) -> None:
        """Begins a game; from now on feedback may arrive. If the previous game is not over, it ends as interrupted."""
        self._interrupt()
        self._episode = self._writer.episode(metadata=metadata)
        self._episode.start(observation)
        self._id = self._episode.id
        self._writer.flush()
        if self._feedback is None:
            dataset = rlds_kit.open(self._directory, include_open=True)
            self._feedback = FeedbackWriter(dataset, self._source)

    def step(
        self, action: Any, reward: float, observation: Any, *, terminated: bool, truncated: bool, **acted: Any
    ) -> None:
        """Records a step, and other fields of its action; with the last step the game is complete.

        Raises:
          ValueError: no game has begun.
        """
        if self._episode is None:
            raise ValueError("expected a game that has begun, got a step; call begin first")
        self._episode.step(
            action=action,
            reward=reward,
            discount=0.0 if terminated else 1.0,
            observation=observation,
            terminated=terminated,
            truncated=truncated,
            acted=acted,
        )
        if terminated or truncated:
            self._episode = None
            self._writer.flush()

    def take(self, *items: FeedbackEvent | Mark) -> None:
        """Records marks and events of the latest game, also after its end. Events are durable when it returns.

        Raises:
          ValueError: no game has begun.
        """
        if self._feedback is None:
            raise ValueError("expected a game that has begun, got feedback; call begin first")
        self._feedback.add(self._id, *items)
        if any(isinstance(each, FeedbackEvent) for each in items):
            self._writer.flush()  # a press without its step could not be learned again
            self._feedback.flush()

    def close(self) -> None:
        """Closes the files; a game that is not over is recorded as interrupted."""
        self._interrupt()
        self._writer.close()
        if self._feedback is not None:
            self._feedback.close()

    def _interrupt(self) -> None:
        episode, self._episode = self._episode, None
        if episode is not None:
            episode.end(EpisodeEnd.INTERRUPTED)
