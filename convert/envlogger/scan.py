"""Finds where episodes begin in EnvLogger's shards, from the steps alone, without decoding more than their types."""

import itertools
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from google.protobuf.message import DecodeError

from rlds_kit.base.errors import FormatError
from rlds_kit.convert.envlogger.layout import end_of_type
from rlds_kit.convert.envlogger.recording import decode, read_shard
from rlds_kit.convert.envlogger_storage_pb2 import Data
from rlds_kit.convert.protocol import Loss
from rlds_kit.riegeli import RecordReader, RiegeliError, TruncatedWarning
from rlds_kit.riegeli.recovery import SkippedRegion

STEPS_FILE: Final = "steps.riegeli"
METADATA_OF_EPISODES: Final = "episode_metadata.riegeli"
OFFSETS_FILE: Final = "step_offsets.riegeli"
_MOST: Final = 4096
FIRST: Final = 0
MID: Final = 1
LAST: Final = 2


@dataclass(frozen=True, slots=True)
class StoredEpisode:
    """The position of an episode in EnvLogger's files.

    Attributes:
      shard: directory of the shard.
      number: of its first step in the shard.
      position: of that step's record.
      steps: number of its records.
      about: position of its metadata; None: there are none in the index.
    """

    shard: Path
    number: int
    position: int
    steps: int
    about: int | None


@dataclass(frozen=True, slots=True)
class Scan:
    """The content of a directory of EnvLogger.

    Attributes:
      episodes: in order.
      losses: steps and metadata that belong to no episode.
      truncated: names of shards whose last chunk is cut off.
      decoded: bytes of all steps, in stretches.
    """

    episodes: list[StoredEpisode] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    truncated: list[str] = field(default_factory=list)
    decoded: list[int] = field(default_factory=list)


def shards_of(path: Path) -> list[Path]:
    """The shards of a directory, in order."""
    return sorted({each.parent for name in (STEPS_FILE, OFFSETS_FILE) for each in path.glob(f"*/{name}")})


class Index(NamedTuple):
    """The readable part of a shard's index.

    Attributes:
      steps: how many steps it has.
      episodes: the position of the metadata of each episode, by its first step.
    """

    steps: int
    episodes: Mapping[int, int]


def index_of(shard: Path) -> Index:
    """Reads the index of a shard; it is empty where that is not possible."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncatedWarning)
        try:
            found = read_shard(shard)
        except (FormatError, RiegeliError, FileNotFoundError):
            return Index(0, {})
    return Index(len(found.step_offsets), dict(found.episode_index.tolist()))


def scan(
    shards: Sequence[Path],
    progress: Callable[[int], None] = lambda _: None,
    indices: Mapping[Path, Index] | None = None,
) -> Scan:
    """Reads every step.

    Args:
      shards: directories.
      progress: gets the bytes of each file after it is read.
      indices: of the shards, if they were read already.

    Raises:
      FormatError: a record is no step.
    """
    found = Scan()
    for shard in shards:
        begin, index = len(found.episodes), index_of(shard) if indices is None else indices[shard]
        steps = _scan_steps(shard, found, index.episodes) if (shard / STEPS_FILE).is_file() else 0
        _note_missing(index, steps, found)
        _note_metadata(shard, sum(each.about is not None for each in found.episodes[begin:]), found)
        progress(sum(each.stat().st_size for each in shard.glob("*.riegeli")))
    return found


def _scan_steps(shard: Path, found: Scan, positions: Mapping[int, int]) -> int:
    """Adds the episodes of a shard; returns how many steps it has."""
    regions = list[SkippedRegion]()

    def note(region: SkippedRegion) -> bool:
        regions.append(region)
        return True

    count = 0
    opened: StoredEpisode | None = None

    def end() -> None:
        nonlocal opened
        if opened is not None:
            found.episodes.append(opened)
        opened = None

    with RecordReader(shard / STEPS_FILE, recovery=note) as reader:
        for run in _runs(reader, shard, regions):
            found.decoded.append(run.nbytes)
            count = run.number + run.count
            if run.is_broken:
                end()
            if run.type == FIRST:
                for number in range(run.count):
                    end()
                    opened = _begun(shard, run.number + number, run.position + number, positions)
                continue
            followers = run.count if opened is not None and run.type != LAST else min(run.count, 1)
            if opened is not None:
                opened = replace(opened, steps=opened.steps + followers)
            lost = run.count if opened is None else run.count - followers
            found.losses.extend([Loss("episode", "a step that follows on no first step")] * lost)
            if run.type == LAST:
                end()
        end()
        _note_damage(shard, regions, found, is_truncated=reader.truncated is not None)
    return count


@dataclass(frozen=True, slots=True)
class _StepRun:
    """Consecutive steps of one type, in one chunk.

    Attributes:
      number: of the first one.
      position: of its record; those of the others follow.
      count: how many there are.
      nbytes: of their records.
      type: first, mid or last.
      is_broken: whether there are damaged bytes before them.
    """

    number: int
    position: int
    count: int
    nbytes: int
    type: int
    is_broken: bool


def _runs(reader: RecordReader, shard: Path, regions: Sequence[SkippedRegion]) -> Iterator[_StepRun]:
    """The steps of a shard."""
    damaged, number = 0, 0
    types = _Types(shard)
    while records := reader.read_some(_MOST):
        is_broken, damaged = len(regions) > damaged, len(regions)
        begin, position = 0, reader.last_position - len(records) + 1
        for step_type, run in itertools.groupby(types.of(records, number)):
            count = len(list(run))
            nbytes = sum(map(len, records[begin : begin + count]))
            yield _StepRun(number, position, count, nbytes, step_type, is_broken)
            begin, number, position, is_broken = begin + count, number + count, position + count, False


class _Types:
    """The types of steps. Steps of one length have few beginnings, which determine their types."""

    def __init__(self, shard: Path) -> None:
        self._shard = shard
        self._ends: dict[int, int | None] = {}
        self._known: dict[bytes, int] = {}

    def of(self, records: Sequence[bytes], number: int) -> list[int]:
        """The type of each record; `number` is that of the first one."""
        found = list[int]()
        for length, run in itertools.groupby(records, len):
            same, end = list(run), self._ends.get(length)
            known = [] if end is None else list(map(self._known.get, (data[:end] for data in same)))
            if not known or None in known:
                known = [self._found(data, number + len(found) + at) for at, data in enumerate(same)]
            found += known  # type: ignore[arg-type]  # none is None
        return found

    def _found(self, data: bytes, number: int) -> int:
        end = self._ends.get(len(data))
        known = None if end is None else self._known.get(data[:end])
        if known is None:
            known = _type_of(data, f"{self._shard / STEPS_FILE}, step {number}")
            end = self._ends[len(data)] = end_of_type(data)
            if end is not None and len(self._known) < _MOST:
                self._known[data[:end]] = known
        return known


def _type_of(data: bytes, place: str) -> int:
    """The first item of the first item of a step."""
    expected = f"{place}: expected ((type, reward, discount, observation), action, data)"
    try:
        step_type = decode(Data.FromString(data).tuple.values[0].tuple.values[0])
    except (DecodeError, FormatError, IndexError) as error:
        raise FormatError(f"{expected}: {error}") from error
    if not isinstance(step_type, int):
        raise FormatError(f"{expected}, got the type {step_type!r}")
    return step_type


def _begun(shard: Path, number: int, position: int, positions: Mapping[int, int]) -> StoredEpisode:
    """An episode from its first step."""
    about = positions.get(number, 0)
    return StoredEpisode(shard, number, position, 1, about if about > 0 else None)


def _note_missing(index: Index, steps: int, found: Scan) -> None:
    """Records steps that are missing although they are in the index of a shard."""
    if index.steps > steps:
        found.losses.append(Loss("episode", f"the index has steps that {STEPS_FILE} has not", index.steps - steps))


def _note_metadata(shard: Path, known: int, found: Scan) -> None:
    """Records metadata that belong to no episode of any index."""
    path = shard / METADATA_OF_EPISODES
    if not path.is_file():
        return
    with RecordReader(path, recovery=lambda _: True) as reader:
        left = sum(1 for _ in reader) - known
    if left > 0:
        found.losses.append(Loss("metadata", "which episode it belongs to is in no index", left))


def _note_damage(shard: Path, regions: Sequence[SkippedRegion], found: Scan, *, is_truncated: bool) -> None:
    damaged = regions[:-1] if is_truncated else regions
    if damaged:
        found.losses.append(Loss("episode", f"{shard.name}/{STEPS_FILE} has damaged bytes", len(damaged)))
    if is_truncated:
        found.truncated.append(shard.name)
