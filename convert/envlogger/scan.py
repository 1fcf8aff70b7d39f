"""Finds where episodes begin in EnvLogger's shards, from the steps alone, without decoding more than their types."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

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
      steps: so many records belong to it.
      about: position of its metadata; None: the index knows of none.
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
      losses: steps and metadata that belong to none of them.
      truncated: names of shards whose last chunk is cut off.
    """

    episodes: list[StoredEpisode] = field(default_factory=list)
    losses: list[Loss] = field(default_factory=list)
    truncated: list[str] = field(default_factory=list)


def shards_of(path: Path) -> list[Path]:
    """The shards of a directory, in order."""
    return sorted({each.parent for name in (STEPS_FILE, OFFSETS_FILE) for each in path.glob(f"*/{name}")})


def indexed(shard: Path) -> dict[int, int]:
    """Maps the first step of each episode in the index to the position of its metadata."""
    return {int(first): int(position) for first, position in _index(shard)[1]}


def scan(shards: Sequence[Path], progress: Callable[[int], None] = lambda _: None) -> Scan:
    """Reads every step.

    Args:
      shards: directories.
      progress: gets the bytes of each file after it is read.

    Raises:
      FormatError: a record is no step.
    """
    found = Scan()
    for shard in shards:
        begin = len(found.episodes)
        steps = _scan_steps(shard, found) if (shard / STEPS_FILE).is_file() else 0
        _note_missing(shard, steps, found)
        _note_metadata(shard, sum(each.about is not None for each in found.episodes[begin:]), found)
        progress(sum(each.stat().st_size for each in shard.glob("*.riegeli")))
    return found


def _scan_steps(shard: Path, found: Scan) -> int:
    """Adds the episodes of a shard; returns how many steps it has."""
    regions = list[SkippedRegion]()

    def note(region: SkippedRegion) -> bool:
        regions.append(region)
        return True

    positions, count = indexed(shard), 0
    open_steps = list[tuple[int, int]]()
    with RecordReader(shard / STEPS_FILE, recovery=note) as reader:
        for number, is_broken, step_type in _types(reader, shard, regions):
            count = number + 1
            if open_steps and (step_type == FIRST or is_broken):
                found.episodes.append(_stored(shard, open_steps, positions))
                open_steps = []
            if open_steps or step_type == FIRST:
                open_steps.append((number, reader.last_position))
            else:
                found.losses.append(Loss("episode", "a step that follows on no first step"))
            if step_type == LAST and open_steps:
                found.episodes.append(_stored(shard, open_steps, positions))
                open_steps = []
        if open_steps:
            found.episodes.append(_stored(shard, open_steps, positions))
        _note_damage(shard, regions, found, is_truncated=reader.truncated is not None)
    return count


def _types(reader: RecordReader, shard: Path, regions: Sequence[SkippedRegion]) -> Iterator[tuple[int, bool, int]]:
    """Number of a step, whether damaged bytes stand before it, and its type."""
    damaged = 0
    ends: dict[int, int | None] = {}
    types: dict[bytes, int] = {}
    for number, data in enumerate(reader):
        is_broken, damaged = len(regions) > damaged, len(regions)
        # Steps of one length have few beginnings, which determine their types.
        end = ends.get(len(data))
        known = None if end is None else types.get(data[:end])
        if known is None:
            known = _type_of(data, f"{shard / STEPS_FILE}, step {number}")
            end = ends[len(data)] = end_of_type(data)
            if end is not None and len(types) < _MOST:
                types[data[:end]] = known
        yield number, is_broken, known


def _type_of(data: bytes, place: str) -> int:
    """The first part of the first part of a step."""
    expected = f"{place}: expected ((type, reward, discount, observation), action, data)"
    try:
        step_type = decode(Data.FromString(data).tuple.values[0].tuple.values[0])
    except (DecodeError, FormatError, IndexError) as error:
        raise FormatError(f"{expected}: {error}") from error
    if not isinstance(step_type, int):
        raise FormatError(f"{expected}, got the type {step_type!r}")
    return step_type


def _stored(shard: Path, steps: Sequence[tuple[int, int]], positions: dict[int, int]) -> StoredEpisode:
    number, position = steps[0]
    about = positions.get(number, 0)
    return StoredEpisode(shard, number, position, len(steps), about if about > 0 else None)


def _note_missing(shard: Path, steps: int, found: Scan) -> None:
    """Notes steps that the index of a shard names and that are not there."""
    known = len(_index(shard)[0])
    if known > steps:
        found.losses.append(Loss("episode", f"the index has steps that {STEPS_FILE} has not", known - steps))


def _note_metadata(shard: Path, known: int, found: Scan) -> None:
    """Notes metadata that no index gives to an episode."""
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


def _index(shard: Path) -> tuple[Sequence[int], Sequence[Sequence[int]]]:
    """What the index of a shard says, as far as it can be read: where steps are, and where episodes begin."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncatedWarning)
        try:
            found = read_shard(shard)
        except (FormatError, RiegeliError, FileNotFoundError):
            return (), ()
    return found.step_offsets.tolist(), found.episode_index.tolist()
