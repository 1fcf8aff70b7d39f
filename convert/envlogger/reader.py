"""Reads EnvLogger's directories for conversions, including those that a crash left incomplete.

Episodes are rebuilt from the steps alone: each begins where a step states that it is a first one. A killed EnvLogger
leaves an index that is empty or too short, which would merge the episodes after its end; the index is only used to
find the metadata of the episode that begins at a step.

Data that EnvLogger cannot represent are under the key `rlds_kit` of the metadata of a directory, of an episode, or of a
step, where `envlogger.writer` stores them.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import numpy as np
from google.protobuf.message import DecodeError

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError, SpecError
from rlds_kit.base.origin import SOURCE, lossy_of
from rlds_kit.base.step import ACTION, DECLARED_FIELDS, DISCOUNT, FLAGS, OBSERVATION, REWARD, STEP_INDEX, TIME_NS
from rlds_kit.base.step import EpisodeEnd as End
from rlds_kit.convert.envlogger.columns import Layouts, OtherLayoutError, Stretch, joined, repeated
from rlds_kit.convert.envlogger.layout import Constant, Integer, Items, Node
from rlds_kit.convert.envlogger.recording import Record, Value, decode, recordable
from rlds_kit.convert.envlogger.scan import (
    LAST,
    METADATA_OF_EPISODES,
    STEPS_FILE,
    Scan,
    StoredEpisode,
    index_of,
    scan,
    shards_of,
)
from rlds_kit.convert.envlogger_storage_pb2 import Data
from rlds_kit.convert.protocol import ForeignEpisode, Loss, PartReader, Row
from rlds_kit.convert.rows import Rows
from rlds_kit.riegeli import RecordReader

METADATA_FILE: Final = "metadata.riegeli"
CUSTOM_DATA: Final = "custom_data"
"""The field of what `step_fn` returned where that is no dict, or a dict with names that the model itself uses."""
EPISODE_METADATA: Final = "episode_metadata"
"""The name of what `episode_fn` returned where that is no dict of names."""
EXTRA: Final = "rlds_kit"
"""The key of data that EnvLogger has no place for."""
ENVIRONMENT_SPECS: Final = "environment_specs"
"""The key of a directory's metadata where EnvLogger itself puts the specs of the environment."""
TAKEN: Final = frozenset((*DECLARED_FIELDS, *FLAGS, STEP_INDEX, TIME_NS, CUSTOM_DATA, EXTRA))
"""Names of what `step_fn` returned that cannot be names of fields."""
_ENDS: Final = frozenset(end.value for end in End if end is not End.INCOMPLETE)


class EnvLoggerReader(PartReader):
    """Reads a directory of EnvLogger's.

    dm_env defines a last step with discount 0 as terminal, and any other as cut off; an episode without
    a last step was interrupted.
    """

    def __init__(self, path: Path) -> None:
        self._shards = shards_of(path)
        content, self._lost = _metadata(path / METADATA_FILE)
        metadata, extra = _split(content)
        origin = _dict_at(extra, SOURCE)
        self.metadata: Mapping[str, Any] = {**metadata, **({SOURCE: origin} if origin else {})}
        self.about: Mapping[str, str] = {name: str(value) for name, value in _dict_at(extra, "about").items()}
        self.spec = _spec(extra, path / METADATA_FILE)
        self.environment: Mapping[str, Any] = _dict_at(extra, "environment")
        self.size = sum(each.stat().st_size for each in path.rglob("*.riegeli"))
        self._lossy = lossy_of(self.metadata)
        self.lossy: Mapping[str, str] = self._lossy
        self.decoded = 0
        self.losses: list[Loss] = []
        self._indices = {shard: index_of(shard) for shard in self._shards}
        self._count = sum(len(each.episodes) for each in self._indices.values())
        self._scanned: Scan | None = None

    def __len__(self) -> int:
        return self._count if self._scanned is None else len(self._scanned.episodes)

    def __iter__(self) -> Iterator[ForeignEpisode]:
        """Reads the episodes in order."""
        return self.read(0, len(self._scan().episodes))

    def weigh(self, progress: Callable[[int], None]) -> Sequence[int]:
        """Estimates the bytes of each episode from its steps, all of which are read to find where episodes begin."""
        episodes = self._scan(progress).episodes
        self.decoded = sum(self._scan().decoded)
        total = sum(each.steps for each in episodes)
        return [self.size * each.steps // total for each in episodes]

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        """Reads some of the episodes; losses outside of episodes are reported with the first one."""
        found = self._scan()
        self.losses[:] = [*self._lost, *found.losses] if begin == 0 else []
        for shard, episodes in groupby(found.episodes[begin:end], lambda each: each.shard):
            with RecordReader(shard / STEPS_FILE, recovery=lambda _: True) as reader:
                layouts = Layouts()
                for stored in episodes:
                    yield _episode(_data(reader, stored), stored, self._metadata_at(shard, stored.about), layouts)

    def _scan(self, progress: Callable[[int], None] = lambda _: None) -> Scan:
        if self._scanned is None:
            self._scanned = scan(self._shards, progress, self._indices)
            for name in self._scanned.truncated:
                self._lossy[name] = f"{STEPS_FILE} ends inside a chunk: its writer died"
        return self._scanned

    def _metadata_at(self, shard: Path, position: int | None) -> Value:
        """Reads the metadata of an episode; without a position there are none."""
        if position is None:
            return None
        try:
            with RecordReader(shard / METADATA_OF_EPISODES, recovery=lambda _: False) as reader:
                reader.seek(position)
                data = reader.read_record()
                if data is not None and reader.last_position == position:
                    return _parsed(data, f"{shard / METADATA_OF_EPISODES}")
        except (OSError, ValueError):  # a position beyond the end, or without a valid message
            pass
        self.losses.append(Loss("metadata", "the index of a shard names metadata that are not there"))
        return None


def _metadata(path: Path) -> tuple[Any, list[Loss]]:
    """The metadata of a directory, and whether they are lost: EnvLogger writes a file even if there are none."""
    with RecordReader(path, recovery=lambda _: False) as reader:
        record = reader.read_record()
    if record is None:
        return None, [Loss("dataset metadata", f"{path.name} is empty or damaged")]
    return recordable(_parsed(record, str(path))), []


def _split(content: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """The metadata of EnvLogger's user, and those that `envlogger_writer` added."""
    if not isinstance(content, dict):
        return {}, {}
    extra = content.get(EXTRA)
    if not isinstance(extra, dict):
        return content, {}
    derived = (EXTRA, ENVIRONMENT_SPECS) if extra.get("specs_derived") else (EXTRA,)
    return {name: value for name, value in content.items() if name not in derived}, extra


def _dict_at(content: Mapping[str, Any], name: str) -> dict[str, Any]:
    found = content.get(name)
    return found if isinstance(found, dict) else {}


def _spec(extra: Mapping[str, Any], path: Path) -> specs.Dict:
    """The declared fields, if they are in the metadata."""
    text = extra.get("spec")
    if not isinstance(text, str):
        return specs.Dict({})
    try:
        found = specs.from_json(json.loads(text))
    except (ValueError, SpecError, RecursionError) as error:
        raise FormatError(f"{path}: expected specs in its {EXTRA}/spec: {error}") from error
    if not isinstance(found, specs.Dict):
        raise FormatError(f"{path}: expected specs by field in its {EXTRA}/spec, got {found!r}")
    return found


def _parsed(data: bytes, place: str) -> Value:
    try:
        return decode(Data.FromString(data))
    except (DecodeError, FormatError) as error:
        raise FormatError(f"{place}: {error}") from error


def _data(reader: RecordReader, stored: StoredEpisode) -> list[bytes]:
    """The records of an episode."""
    reader.seek(stored.position)
    found = list[bytes]()
    while len(found) < stored.steps:
        some = reader.read_some(stored.steps - len(found))
        if not some:
            place = f"{stored.shard / STEPS_FILE}, step {stored.number + len(found)}"
            raise FormatError(f"{place}: expected a step, but the file ends: it changed while it was read")
        found += some
    return found


def _episode(data: Sequence[bytes], stored: StoredEpisode, about: Value, layouts: Layouts) -> ForeignEpisode:
    """An episode as columns, or as rows if its steps do not make columns."""

    def record(step: int) -> Record:
        return _record(data[step], stored.shard, stored.number + step)

    try:
        observed, acted = _columns(layouts.stretches(data))
    except (OtherLayoutError, FormatError):  # decoding step by step gives an error that names the damaged one
        return episode_of([record(step) for step in range(len(data))], about)
    return _with_metadata(observed, acted, record(len(data) - 1), about)


def _columns(stretches: Sequence[Stretch]) -> tuple[Rows, Rows]:
    """The two sides of an episode; an action is in the row of the observation that it was applied to.

    Raises:
      OtherLayoutError: some values cannot form columns.
    """
    observed, acted = _Parts(), _Parts()
    row = 0
    for each in (*stretches[0].divided(1), *stretches[1:]):  # the action of the first step led to no observation
        match each.node:
            case Items(
                _,
                {
                    0: Items(_, {0: Constant(int()) | Integer(), 1: reward, 2: discount, 3: observation} as four),
                    1: action,
                    2: custom,
                } as three,
            ) if (len(four), len(three)) == (4, 3):
                pass
            case _:
                raise OtherLayoutError
        own = _fields_of(each, custom)
        observed.add(row, len(each), {OBSERVATION: each.column(observation), **own[0]})
        if row:
            found = {name: node for name, node in ((REWARD, reward), (DISCOUNT, discount)) if not _is_nothing(node)}
            done = {name: each.column(node) for name, node in ({ACTION: action} | found).items()}
            acted.add(row - 1, len(each), done | own[1])
        row += len(each)
    return observed.rows(row), acted.rows(row - 1)


def _fields_of(stretch: Stretch, custom: Node) -> tuple[dict[str, Any], dict[str, Any]]:
    """The columns of the results of `step_fn`, as fields of the observation side and of the action side."""
    if isinstance(custom, Constant):
        sides = fields_of(custom.value)
        return tuple({name: repeated(each, len(stretch)) for name, each in side.items()} for side in sides)  # type: ignore[return-value]  # two
    if not isinstance(custom, Items) or custom.kind is not dict:
        return _fields(stretch.column(custom))
    columns = {name: stretch.column(each) for name, each in custom.items.items()}
    extra = custom.items.get(EXTRA)
    if isinstance(extra, Constant):
        raise OtherLayoutError
    if isinstance(extra, Items) and all(map(_is_dict, extra.items.values())):
        parts = extra.items.items()
        columns[EXTRA] = {name: {} if isinstance(each, Constant) else stretch.column(each) for name, each in parts}
    found = _fields(columns)
    if extra is not None and CUSTOM_DATA in found[0]:  # it is no dict of fields, in which an empty dict is a value
        raise OtherLayoutError
    return found


def _is_dict(node: Node) -> bool:
    if isinstance(node, Items):
        return node.kind is dict
    return isinstance(node, Constant) and isinstance(node.value, dict) and not node.value


def _is_nothing(node: Node) -> bool:
    return isinstance(node, Constant) and node.value is None


class _Parts:
    """Columns of consecutive steps."""

    def __init__(self) -> None:
        self._parts: dict[str, list[Any]] = {}
        self._begin: dict[str, int] = {}
        self._end: dict[str, int] = {}

    def add(self, begin: int, count: int, columns: Mapping[str, Any]) -> None:
        """Adds the columns of some steps."""
        for name, column in columns.items():
            if self._end.get(name, begin) != begin:
                raise OtherLayoutError
            self._begin.setdefault(name, begin)
            self._parts.setdefault(name, []).append(column)
            self._end[name] = begin + count

    def rows(self, length: int) -> Rows:
        """All steps."""
        return Rows({name: joined(parts) for name, parts in self._parts.items()}, length, self._begin)


def _record(data: bytes, shard: Path, number: int) -> Record:
    place = f"{shard / STEPS_FILE}, step {number}"
    match _parsed(data, place):
        case ((int(step_type), reward, discount, observation), action, custom_data):
            return Record(step_type, reward, discount, observation, action, custom_data)
        case other:
            raise FormatError(f"{place}: expected ((type, reward, discount, observation), action, data), got {other!r}")


def episode_of(records: Sequence[Record], about: Value) -> ForeignEpisode:
    """An episode in the alignment of RLDS: an action is in the row of the observation that it was applied to.

    Args:
      records: from a first step on.
      about: its metadata.
    """
    rows = [fields_of(record.custom_data) for record in records]
    observed = [
        {OBSERVATION: recordable(record.observation)} | own for record, (own, _) in zip(records, rows, strict=True)
    ]
    acted = [_acted(record) | own for record, (_, own) in zip(records[1:], rows[1:], strict=True)]
    return _with_metadata(observed, acted, records[-1], about)


def _with_metadata(observed: Sequence[Row], acted: Sequence[Row], last: Record, about: Value) -> ForeignEpisode:
    about = recordable(about)
    metadata, extra = _split(about) if is_named(about) else ({} if about is None else {EPISODE_METADATA: about}, {})
    end = natural_end(last, len(observed))
    episode = ForeignEpisode(
        observed,
        acted,
        end,
        terminated=end is End.TERMINATED,
        truncated=end is End.TRUNCATED,
        metadata=metadata,
        seed=extra.get("seed"),
        options=extra.get("options"),
        provenance=_dict_at(extra, "provenance"),
    )
    return _ended(episode, extra.get("end"))


def is_named(value: Any) -> bool:
    """Whether a value is a dict of names."""
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def natural_end(last: Record, steps: int) -> End:
    """The end of an episode by the flags of dm_env."""
    if last.step_type != LAST or steps == 1:
        return End.INTERRUPTED
    return End.TERMINATED if last.discount is not None and not np.any(last.discount) else End.TRUNCATED


def _ended(episode: ForeignEpisode, stored: Any) -> ForeignEpisode:
    """The episode with an end that dm_env cannot represent, if all of its steps are there."""
    match stored:
        case {"end": str(name), "terminated": bool(terminated), "truncated": bool(truncated), "steps": int(steps)}:
            if steps == len(episode.observed) and name in _ENDS:
                return replace(episode, end=End(name), terminated=terminated, truncated=truncated)
    return episode


def fields_of(custom: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Splits the result of `step_fn` into fields of the observation side, and fields of the action side."""
    return _fields(recordable(custom))


def _fields(custom: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    if custom is None:
        return {}, {}
    if not isinstance(custom, dict):
        return {CUSTOM_DATA: custom}, {}
    own, taken, acted = custom, {}, {}
    match custom:
        case {"rlds_kit": {"observed": dict(observed), "acted": dict(acts)}} if _are_fields((*observed, *acts)):
            own, taken, acted = {name: value for name, value in custom.items() if name != EXTRA}, observed, acts
    if any(not isinstance(name, str) or name in TAKEN for name in own):
        return {CUSTOM_DATA: custom}, {}
    return own | taken, acted


def _are_fields(names: Sequence[Any]) -> bool:
    return all(isinstance(name, str) and name not in (*DECLARED_FIELDS, *FLAGS) for name in names)


def _acted(record: Record) -> dict[str, Any]:
    """The reward and discount of a record's action; EnvLogger stores undefined ones as None."""
    row = {ACTION: recordable(record.action), REWARD: recordable(record.reward), DISCOUNT: recordable(record.discount)}
    return {name: value for name, value in row.items() if name == ACTION or value is not None}
