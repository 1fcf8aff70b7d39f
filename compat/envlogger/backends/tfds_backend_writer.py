"""The names of `envlogger.backends.tfds_backend_writer`."""

import os
from collections.abc import Mapping
from typing import Any

from rlds_kit.compat.envlogger.backends.rlds_utils import to_rlds_step
from rlds_kit.logger.schedulers import StepData
from rlds_kit.tfds_builders import EpisodeWriter
from rlds_kit.tfds_builders.tfds_extra import tfds

DatasetConfig = tfds.rlds.rlds_base.DatasetConfig


class TFDSBackendWriter:
    """Writes each episode to a dataset of TFDS as it ends, in the form of RLDS.

    Args:
      data_directory: of the dataset; an existing one of the same name is replaced, as in EnvLogger.
      ds_config: the features.
      max_episodes_per_file: in a shard.
      split_name: of the split; None is "train".
      version: of the dataset.
      metadata: of the run; not stored, as EnvLogger's default.

    Raises:
      ValueError: a name is not valid for a split.
    """

    def __init__(
        self,
        data_directory: str | os.PathLike[str],
        ds_config: Any,
        max_episodes_per_file: int = 1000,
        split_name: str | None = None,
        version: str = "0.0.1",
        *,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        del metadata
        self._writer = EpisodeWriter(data_directory, ds_config, max_episodes_per_file, split_name or "train", version)
        self._steps: list[StepData] = []
        self._metadata: Mapping[str, Any] = {}

    def record_step(self, data: StepData, is_new_episode: bool) -> None:
        """Adds a step; the previous episode is written when a new one begins.

        Raises:
          ValueError: the episode does not fit the features; the message names the field.
        """
        if is_new_episode:
            self._write()
        self._steps.append(data)

    def set_episode_metadata(self, data: Mapping[str, Any]) -> None:
        """Replaces the metadata of the episode."""
        self._metadata = data

    def close(self) -> None:
        """Writes the last episode and finishes the dataset."""
        try:
            self._write()
        finally:
            self._writer.close()

    def _write(self) -> None:
        steps, metadata = self._steps, self._metadata
        self._steps, self._metadata = [], {}
        if steps:
            after = [*steps[1:], None]
            self._writer.add_episode(
                {"steps": [to_rlds_step(*pair) for pair in zip(steps, after, strict=True)], **metadata}
            )
