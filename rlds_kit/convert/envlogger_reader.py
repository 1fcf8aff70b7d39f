"""EnvLogger's directories behind the protocol of conversions, those that a crash left among them.

Episodes are rebuilt from the steps alone: each begins where a step says that it is a first one. A killed EnvLogger
leaves an index that is empty or too short, which would merge the episodes after its end; nothing is asked of the index
but which metadata belong to the episode that begins at a step.
"""

import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np
from google.protobuf.message import DecodeError

from rlds_kit import spec as specs
from rlds_kit.convert.envlogger import Record, Value, decode, read_shard
from rlds_kit.convert.envlogger_storage_pb2 import Data
from rlds_kit.convert.protocol import Capabilities, ForeignEpisode, Format, Loss
from rlds_kit.errors import DamagedError, FormatError
from rlds_kit.riegeli import RecordReader, TruncatedWarning
from rlds_kit.riegeli.recovery import SkippedRegion
from rlds_kit.step import ACTION, DECLARED_FIELDS, DISCOUNT, FLAGS, INFO, OBSERVATION, REWARD, STEP_INDEX, TIME_NS
from rlds_kit.step import EpisodeEnd as End

METADATA_FILE: Final = "metadata.riegeli"
STEPS_FILE: Final = "steps.riegeli"
METADATA_OF_EPISODES: Final = "episode_metadata.riegeli"
CUSTOM_DATA: Final = "custom_data"
"""The field of what `step_fn` returned where that is no dict, or a dict with names that the model itself uses."""
EPISODE_METADATA: Final = "episode_metadata"
"""The name of what `episode_fn` returned where that is no dict of names."""
_FIRST: Final = 0
_LAST: Final = 2
_TAKEN: Final = frozenset((*DECLARED_FIELDS, *FLAGS, INFO, STEP_INDEX, TIME_NS, CUSTOM_DATA))


class EnvLoggerReader:
    """Reads a directory of EnvLogger's. A `Reader`.

    dm_env says that a last step with discount 0 is a terminal one, and that another one was cut off; an episode without
    a last step was interrupted.
    """

    def __init__(self, path: Path) -> None:
        self._shards = sorted(each.parent for each in path.glob(f"*/{STEPS_FILE}"))
        with RecordReader(path / METADATA_FILE, recovery=lambda _: False) as reader:
            record = reader.read_record()
        metadata = None if record is None else recordable(_parsed(record, f"{path / METADATA_FILE}"))
        self.metadata: Mapping[str, Any] = metadata if isinstance(metadata, dict) else {}
        self.about: Mapping[str, str] = {}
        self.spec = specs.Dict({})
        self.environment: Mapping[str, Any] = {}
        self.size = sum(each.stat().st_size for each in path.rglob("*.riegeli"))
        self._lossy: dict[str, str] = {}
        self.lossy: Mapping[str, str] = self._lossy
        self.losses: list[Loss] = []
        self._count = sum(len(_positions(shard)) for shard in self._shards)

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[ForeignEpisode]:
        """Reads the episodes in order."""
        self.losses.clear()
        for shard in self._shards:
            positions = _positions(shard)
            known = 0
            for first, records in self._episodes(shard):
                position = positions.get(first, 0)
                known += position > 0
                yield _episode(records, self._metadata_at(shard, position))
            self._note_metadata(shard, known)

    def _note_metadata(self, shard: Path, known: int) -> None:
        """Notes metadata that no index gives to an episode."""
        path = shard / METADATA_OF_EPISODES
        if not path.is_file():
            return
        with RecordReader(path, recovery=lambda _: True) as reader:
            left = sum(1 for _ in reader) - known
        if left > 0:
            self.losses.append(Loss("metadata", "which episode it belongs to is in no index", left))

    def _metadata_at(self, shard: Path, position: int) -> Value:
        """Reads the metadata of an episode; a position of 0 or less says that there are none."""
        if position <= 0:
            return None
        try:
            with RecordReader(shard / METADATA_OF_EPISODES, recovery=lambda _: False) as reader:
                reader.seek(position)
                data = reader.read_record()
                if data is not None and reader.last_position == position:
                    return _parsed(data, f"{shard / METADATA_OF_EPISODES}")
        except (OSError, ValueError):  # a position beyond the end, or what is there is no message
            pass
        self.losses.append(Loss("metadata", "the index of a shard names metadata that are not there"))
        return None

    def _episodes(self, shard: Path) -> Iterator[tuple[int, list[Record]]]:
        """The number of the first step of each episode, counted in its shard, and the episode's records."""
        regions: list[SkippedRegion] = []
        begin, records = 0, list[Record]()

        def note(region: SkippedRegion) -> bool:
            regions.append(region)
            return True

        with RecordReader(shard / STEPS_FILE, recovery=note) as reader:
            number, damaged = -1, 0
            for number, data in enumerate(reader):
                record = _record(data, shard, number)
                is_broken, damaged = len(regions) > damaged, len(regions)
                if records and (record.step_type == _FIRST or is_broken):
                    yield begin, records
                    records = []
                if records or record.step_type == _FIRST:
                    begin = begin if records else number
                    records.append(record)
                else:
                    self.losses.append(Loss("episode", "a step that follows on no first step"))
                if record.step_type == _LAST and records:
                    yield begin, records
                    records = []
            if records:
                yield begin, records
            self._note(shard, regions, reader.truncated is not None)

    def _note(self, shard: Path, regions: list[SkippedRegion], is_truncated: bool) -> None:
        damaged = regions[:-1] if is_truncated else regions
        if damaged:
            self.losses.append(Loss("episode", f"{shard.name}/{STEPS_FILE} has damaged bytes", len(damaged)))
        if is_truncated:
            self._lossy[shard.name] = f"{STEPS_FILE} ends inside a chunk: its writer died"


def _positions(shard: Path) -> dict[int, int]:
    """For the first step of each episode that the index knows, the position of its metadata."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncatedWarning)
        try:
            index = read_shard(shard).episode_index
        except (FormatError, DamagedError, FileNotFoundError):
            return {}
    return {int(first): int(position) for first, position in index}


def _parsed(data: bytes, place: str) -> Value:
    try:
        return decode(Data.FromString(data))
    except (DecodeError, FormatError) as error:
        raise FormatError(f"{place}: {error}") from error


def _record(data: bytes, shard: Path, number: int) -> Record:
    place = f"{shard / STEPS_FILE}, step {number}"
    match _parsed(data, place):
        case ((int(step_type), reward, discount, observation), action, custom_data):
            return Record(step_type, reward, discount, observation, action, custom_data)
        case other:
            raise FormatError(f"{place}: expected ((type, reward, discount, observation), action, data), got {other!r}")


def _episode(records: list[Record], about: Value) -> ForeignEpisode:
    """An episode in the alignment of RLDS: an action stands with the observation that it was applied to."""
    last = records[-1]
    is_over = last.step_type == _LAST and len(records) > 1
    end = End.INTERRUPTED
    if is_over:
        end = End.TERMINATED if last.discount is not None and not np.any(last.discount) else End.TRUNCATED
    about = recordable(about)
    named = about is None or (isinstance(about, dict) and all(isinstance(key, str) for key in about))
    return ForeignEpisode(
        [_observed(record) for record in records],
        [_acted(record) for record in records[1:]],
        end,
        terminated=end is End.TERMINATED,
        truncated=end is End.TRUNCATED,
        metadata=(about or {}) if named else {EPISODE_METADATA: about},
    )


def _observed(record: Record) -> dict[str, Any]:
    custom = recordable(record.custom_data)
    row = {OBSERVATION: recordable(record.observation)}
    if isinstance(custom, dict) and all(isinstance(key, str) and key not in _TAKEN for key in custom):
        return row | custom
    return row if custom is None else row | {CUSTOM_DATA: custom}


def _acted(record: Record) -> dict[str, Any]:
    """What the action of a record brought; EnvLogger stores an undefined reward or discount as None."""
    row = {ACTION: recordable(record.action), REWARD: recordable(record.reward), DISCOUNT: recordable(record.discount)}
    return {name: value for name, value in row.items() if name == ACTION or value is not None}


def recordable(value: Value) -> Value:
    """The value with lists instead of arrays of text, which have elements of different lengths.

    >>> recordable({"words": np.array(["a", "long"], object)})
    {'words': ['a', 'long']}
    """
    match value:
        case dict():
            return {key: recordable(item) for key, item in value.items()}
        case tuple():
            return tuple(recordable(item) for item in value)
        case list():
            return [recordable(item) for item in value]
        case np.ndarray() if value.dtype == np.object_:
            return value.tolist()
    return value


def _recognises(path: Path) -> bool:
    return (path / METADATA_FILE).is_file()


FORMAT: Final = Format(
    name="envlogger",
    summary="a directory of EnvLogger's, with metadata.riegeli",
    recognises=_recognises,
    open=EnvLoggerReader,
    capabilities=Capabilities(
        missing_final_observation=False,
        gaps=False,
        other_fields=True,
        changing_fields=True,
        discount=True,
        end=False,
        episode_metadata=True,
        seeds=False,
    ),
)
