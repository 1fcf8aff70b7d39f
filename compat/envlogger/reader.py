"""The names of `envlogger.reader`."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import dm_env

import rlds_kit
from rlds_kit.base.step import ACTED_FIELDS, ACTION, DISCOUNT, FLAGS, OBSERVATION, REWARD, STEP_INDEX, TIME_NS
from rlds_kit.closing import Closing
from rlds_kit.compat.envlogger.backends.backend_type import BackendType
from rlds_kit.convert.envlogger import recording
from rlds_kit.logger.schedulers import StepData

CUSTOM_DATA = "custom_data"
_OWN = {OBSERVATION, *ACTED_FIELDS, *FLAGS, STEP_INDEX, TIME_NS}


class Reader(Closing):
    """Reads recordings of EnvLogger, or of its replacement in this package. A context manager.

    Args:
      data_directory: a dataset of rlds_kit, or a directory of EnvLogger.
      backend: only `BackendType.RIEGELI`.

    Raises:
      NotImplementedError: it is another backend.
      NotADatasetError: it is neither.
    """

    def __init__(self, data_directory: str | os.PathLike[str], *, backend: BackendType = BackendType.RIEGELI) -> None:
        if backend is not BackendType.RIEGELI:
            raise NotImplementedError(f"{backend}: only BackendType.RIEGELI is read; datasets of TFDS with `tfds.load`")
        is_foreign = (Path(data_directory) / "metadata.riegeli").is_file()
        self._metadata, found = _foreign(data_directory) if is_foreign else _own(data_directory)
        self._episodes = [episode for episode, _ in found]
        self._about = [about for _, about in found]

    def close(self) -> None:
        """Does nothing: no file is open."""

    @property
    def episodes(self) -> Sequence[Sequence[StepData]]:
        """The steps of each episode, read when they are requested."""
        return self._episodes

    @property
    def steps(self) -> Sequence[StepData]:
        """The steps of all episodes."""
        return [step for episode in self._episodes for step in episode]

    def metadata(self) -> Any:
        """Returns the metadata of the run."""
        return self._metadata

    def episode_metadata(self) -> Sequence[Any]:
        """Returns the result of `episode_fn` for each episode; None for episodes without one."""
        return self._about

    def observation_spec(self) -> Any:
        """Raises an error: recorded observations have no dm_env spec here.

        Raises:
          NotImplementedError: always; the message names the replacement.
        """
        raise NotImplementedError("specs are not dm_env's here; use `rlds_kit.open(directory).spec`")

    action_spec = reward_spec = discount_spec = observation_spec


class _Steps(Sequence[StepData]):
    """The steps of an episode of rlds_kit, in EnvLogger's alignment: each with the action that led to it."""

    def __init__(self, episode: rlds_kit.Episode) -> None:
        self._episode = episode

    def __len__(self) -> int:
        return self._episode.length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        number = range(len(self))[index]
        here = self._episode.steps[number]
        before = self._episode.steps[number - 1] if number else None
        return self._step(here, before)

    def __iter__(self) -> Iterator[StepData]:
        before = None
        for here in self._episode.steps:
            yield self._step(here, before)
            before = here

    def _step(self, here: Any, before: Any) -> StepData:
        kind = dm_env.StepType.FIRST if before is None else dm_env.StepType.MID
        kind = dm_env.StepType.LAST if here["is_last"] and before is not None else kind
        acted = [None if before is None else before.get(name) for name in (REWARD, DISCOUNT, ACTION)]
        custom: Any = {name: here[name] for name in here if name not in _OWN}
        custom = custom[CUSTOM_DATA] if custom.keys() == {CUSTOM_DATA} else custom or None
        return StepData(dm_env.TimeStep(kind, acted[0], acted[1], here[OBSERVATION]), acted[2], custom)


def _own(path: str | os.PathLike[str]) -> tuple[Any, list[tuple[Sequence[StepData], Any]]]:
    dataset = rlds_kit.open(path)
    metadata = dict(dataset.episodes[0].run_metadata) if len(dataset.episodes) else {}
    return metadata, [(_Steps(episode), dict(episode.metadata) or None) for episode in dataset.episodes]


def _foreign(path: str | os.PathLike[str]) -> tuple[Any, list[tuple[Sequence[StepData], Any]]]:
    found = recording.open_recording(path)
    return found.metadata, [([_data(record) for record in each.records], each.metadata) for each in found]


def _data(record: recording.Record) -> StepData:
    step = dm_env.TimeStep(dm_env.StepType(record.step_type), record.reward, record.discount, record.observation)
    return StepData(step, record.action, record.custom_data)
