"""Reads EnvLogger's recordings as episodes of RLDS: also the releases of RLDS Creator and robosuite.

EnvLogger stores with each observation the action that led to it; here a step has the action that followed (SAR), and
the last step zeros. If EnvLogger was killed, its index is incomplete: steps that it assigns to the previous episode,
or to none, become a separate episode, without metadata and with the end `incomplete`.
"""

import functools
import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import DamagedError, FormatError, RldsKitError, SpecError
from rlds_kit.base.rlds_types import EPISODE_ID, STEPS
from rlds_kit.base.step import (
    ACTED_FIELDS,
    ACTION,
    DISCOUNT,
    FLAGS,
    IS_FIRST,
    IS_LAST,
    IS_TERMINAL,
    OBSERVATION,
    REWARD,
    EpisodeEnd,
)
from rlds_kit.convert.envlogger.recording import Record, Shard, open_recording, read_episodes
from rlds_kit.loader.episodes import END
from rlds_kit.loader.last_step import LastStep, require_last_step
from rlds_kit.riegeli import RiegeliError
from rlds_kit.spec.describe import describe_spec
from rlds_kit.spec.union import NOTHING
from rlds_kit.tfds_builders.encodings import has_signalling_nan, require_arrays
from rlds_kit.tfds_builders.episode_source import SourceEpisode
from rlds_kit.tfds_builders.example_digest import Keys, leaf_keys, value_at
from rlds_kit.tfds_builders.features import Encode, fact_feature, without_tuples
from rlds_kit.tfds_builders.tfds_extra import tfds

METADATA_FILE: Final = "metadata.riegeli"
CUSTOM_DATA: Final = "custom_data"
"""The field of what `step_fn` returned, if that was no dict."""
EPISODE_METADATA: Final = "episode_metadata"
"""Where early versions of EnvLogger put the metadata: into what `step_fn` returned for the first step."""
_FIRST, _LAST = 0, 2  # dm_env.StepType


def envlogger_directories(root: str | os.PathLike[str]) -> list[Path]:
    """The directories that EnvLogger wrote, at or below `root`, sorted."""
    return sorted(path.parent for path in Path(root).rglob(METADATA_FILE))


@dataclass(frozen=True, slots=True)
class _Episode:
    """The records of one episode."""

    records: tuple[Record, ...]
    metadata: Mapping[str, Any]
    end: EpisodeEnd


@dataclass(frozen=True, slots=True)
class _Survey:
    """The result of a scan of all steps.

    Attributes:
      steps: the spec of a step.
      metadata: the spec of an episode's metadata.
      counts: episodes of each shard.
      changed: paths of arrays of steps that TFDS's own encoding would change.
    """

    steps: specs.Spec
    metadata: specs.Spec
    counts: tuple[int, ...]
    changed: frozenset[str]


class EnvLoggerSource:
    """The episodes of one directory that EnvLogger wrote.

    Its files declare the specs of environment and agent, but not those of the results of `step_fn` and `episode_fn`. So
    all steps are read once to find the features, before they are read again to be written.

    An example has "steps", the metadata, "end", and "episode_id", which is that of the metadata or the key.

    Args:
      path: the directory.
      key: the prefix of the keys of its episodes, which are `<shard>/<number in the shard>`.
      step_metadata: keys of `step_fn`'s results to publish; None: all.
      metadata: keys of `episode_fn`'s results to publish; None: all.
      incomplete: whether to publish the episodes that were cut off when EnvLogger died.
      last_step: the action of the last step: "zeros", "repeat", or "drop" to leave out the step.
      compress: as for `episode_features`.

    Raises:
      ValueError: `last_step` is none of the three.
      FileNotFoundError: it is not a directory of EnvLogger.
      DamagedError, FormatError: an index is broken.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        key: str = "",
        step_metadata: Collection[str] | None = None,
        metadata: Collection[str] | None = None,
        incomplete: bool = True,
        last_step: LastStep = "zeros",
        compress: Collection[str] = (),
    ) -> None:
        self._recording = open_recording(path)
        self._key, self._step_metadata, self._metadata, self._incomplete = key, step_metadata, metadata, incomplete
        self._last_step, self._compress = require_last_step(last_step), compress

    @property
    def name(self) -> str:
        """The directory."""
        return str(self._recording.path)

    @property
    def parts(self) -> range:
        """The shards, by number."""
        return range(len(self._recording.shards))

    @cached_property
    def keys(self) -> list[str]:
        """Directory, shard and number in the shard."""
        counts = self._survey.counts
        return [self._key_of(part, number) for part in self.parts for number in range(counts[part])]

    @cached_property
    def features(self) -> Any:  # tfds.features.FeaturesDict
        """The fields of the data, after a scan of all steps."""
        survey = self._survey
        flags = {name: tfds.features.Tensor(shape=(), dtype=np.bool_) for name in FLAGS}
        encode = Encode(survey.changed, frozenset(self._compress))
        steps = _fields(survey.steps, self.name, encode)
        require_arrays(self.name, self._compress, encode.arrays)
        of_episode = {EPISODE_ID: tfds.features.Text(), END: tfds.features.Text()}
        facts = _fields(survey.metadata, f"{self.name}: the metadata of an episode")
        return tfds.features.FeaturesDict({STEPS: tfds.features.Dataset({**steps, **flags}), **of_episode, **facts})

    def episodes(self, part: int) -> Iterator[SourceEpisode]:
        """The episodes of a shard."""
        for number, episode in enumerate(self._read(self._recording.shards[part])):
            key = self._key_of(part, number)
            rows = self._with_last_step(list(map(without_tuples, _rows(episode))), key)
            steps = _stacked(rows, self.features[STEPS].feature)
            flags = _flags(len(rows), is_terminal=episode.end is EpisodeEnd.TERMINATED)
            of_episode = {EPISODE_ID: key, END: episode.end.value, **without_tuples(episode.metadata)}
            yield SourceEpisode(key, {STEPS: steps | flags, **of_episode})

    def _with_last_step(self, rows: list[dict[str, Any]], key: str) -> list[dict[str, Any]]:
        if self._last_step == "zeros":
            return rows
        if len(rows) == 1:
            raise SpecError(
                f"{self.name}: episode {key} has no action, so last_step={self._last_step!r} has nothing to keep or to "
                "repeat; publish with last_step='zeros'"
            )
        return rows[:-1] if self._last_step == "drop" else [*rows[:-1], {**rows[-1], ACTION: rows[-2][ACTION]}]

    def _key_of(self, part: int, number: int) -> str:
        return "/".join(filter(None, [self._key, self._recording.shards[part].path.name, str(number)]))

    @cached_property
    def _survey(self) -> _Survey:
        seen, acted, metadata = NOTHING, NOTHING, NOTHING
        counts, changed = [], set[str]()
        for shard in self._recording.shards:
            counts.append(0)
            for episode in self._read(shard):
                counts[-1] += 1
                metadata = specs.merge(metadata, specs.infer(dict(episode.metadata), "the metadata of an episode"))
                for row in _rows(episode):
                    changed |= {path for path, value in _flat(row) if has_signalling_nan(value)}
                    done = {name: row.pop(name) for name in ACTED_FIELDS if name in row}
                    seen = specs.merge(seen, specs.infer(row, "a step"))
                    acted = specs.merge(acted, specs.infer(done, "a step")) if done else acted
        return _Survey(_both(seen, acted), metadata, tuple(counts), frozenset(changed))

    def _read(self, shard: Shard) -> Iterator[_Episode]:
        try:
            for episode in _whole_episodes(shard):
                if self._incomplete or episode.end is not EpisodeEnd.INCOMPLETE:
                    yield self._chosen(episode)
        except (RldsKitError, RiegeliError) as error:
            kind = FormatError if isinstance(error, FormatError) else DamagedError
            raise kind(f"{shard.path}: {error}") from error

    def _chosen(self, episode: _Episode) -> _Episode:
        """The published data of an episode."""
        if self._metadata is not None:
            episode = replace(episode, metadata=_only(episode.metadata, self._metadata))
        if self._step_metadata is not None:
            chosen = self._step_metadata
            records = [record._replace(custom_data=_only(_custom(record), chosen)) for record in episode.records]
            episode = replace(episode, records=tuple(records))
        return episode


def _flat(nest: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a nest by path."""
    named = without_tuples(nest)
    if not isinstance(named, Mapping):
        yield above, named
        return
    for name, item in named.items():
        yield from _flat(item, f"{above}/{name}" if above else name)


def _only(fields: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if name in names}


def _whole_episodes(shard: Shard) -> Iterator[_Episode]:
    """The episodes of a shard, each from one reset to the next, independent of the index."""
    index = shard.episode_index
    if len(shard.step_offsets) and (not len(index) or index[0, 0]):  # the first rows were never written
        shard = replace(shard, episode_index=np.concatenate([np.array([[0, -1]], np.int64), index]))
    count = len(shard.episode_index)
    for number, episode in enumerate(read_episodes(shard)):
        about, records = episode.metadata, episode.records
        firsts = [step for step, record in enumerate(records) if step == 0 or record.step_type == _FIRST]
        for begin, end in zip(firsts, [*firsts[1:], len(records)], strict=True):
            metadata = about if begin == 0 and isinstance(about, Mapping) else {}
            is_final = number == count - 1 and end == len(records)
            yield _with_metadata(records[begin:end], metadata, is_final=is_final)


def _with_metadata(records: tuple[Record, ...], metadata: Mapping[str, Any], *, is_final: bool) -> _Episode:
    last = records[-1]
    if last.step_type == _LAST:
        end = EpisodeEnd.TERMINATED if last.discount == 0 else EpisodeEnd.TRUNCATED
    else:
        end = EpisodeEnd.INCOMPLETE if is_final else EpisodeEnd.INTERRUPTED
    early = _mapping(records[0].custom_data).get(EPISODE_METADATA)
    if isinstance(early, Mapping):
        metadata = metadata or early
        records = tuple(record._replace(custom_data=_without_metadata(record.custom_data)) for record in records)
    return _Episode(records, metadata, end)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _without_metadata(value: Any) -> Any:
    if not isinstance(value, Mapping):
        return value
    return {name: item for name, item in value.items() if name != EPISODE_METADATA}


def _custom(record: Record) -> Mapping[str, Any]:
    """The result of `step_fn`, as fields of a step."""
    if record.custom_data is None:
        return {}
    return record.custom_data if isinstance(record.custom_data, Mapping) else {CUSTOM_DATA: record.custom_data}


def _rows(episode: _Episode) -> Iterator[dict[str, Any]]:
    """The steps in SAR alignment; the last one lacks the fields of the action side."""
    following: Sequence[Record | None] = [*episode.records[1:], None]
    for record, after in zip(episode.records, following, strict=True):
        custom = _custom(record)
        if taken := sorted({OBSERVATION, *ACTED_FIELDS, *FLAGS} & {*custom}):
            raise SpecError(f"step_fn returned {taken}, which are names of a step's own; leave them out")
        acted = {} if after is None else {ACTION: after.action, REWARD: after.reward, DISCOUNT: after.discount}
        yield {OBSERVATION: record.observation, **acted, **custom}


def _both(seen: specs.Spec, acted: specs.Spec) -> specs.Spec:
    """The fields of two specs of a step."""
    if not isinstance(seen, specs.Dict) or not isinstance(acted, specs.Dict):
        return seen
    return specs.Dict({**seen.fields, **acted.fields})


def _flags(count: int, *, is_terminal: bool) -> dict[str, np.ndarray]:
    flags = {name: np.zeros(count, np.bool_) for name in FLAGS}
    flags[IS_FIRST][0] = flags[IS_LAST][-1] = True
    flags[IS_TERMINAL][-1] = is_terminal
    return flags


def _fields(spec: specs.Spec, place: str, encode: Encode | None = None) -> dict[str, Any]:
    """Features by the names of fields; of metadata without `encode`."""
    if spec == NOTHING:
        return {}
    if not isinstance(spec, specs.Dict):
        raise SpecError(f"{place}: expected names that are text, got {describe_spec(spec)}")
    return {name: _feature(item, name, place, encode) for name, item in spec.fields.items()}


def _feature(spec: specs.Spec, path: str, owner: str, encode: Encode | None) -> Any:
    place = f"{owner}: {path}"
    match spec:
        case specs.Dict(fields) if fields:
            return tfds.features.FeaturesDict(
                {name: _feature(item, f"{path}/{name}", owner, encode) for name, item in fields.items()}
            )
        case specs.Tuple(items) | specs.List(items) if items:
            named = {
                str(number): _feature(item, f"{path}/{number}", owner, encode) for number, item in enumerate(items)
            }
            return tfds.features.FeaturesDict(named)
        case specs.Text():
            return tfds.features.Text()
        case specs.Bytes():
            return tfds.features.Tensor(shape=(), dtype=np.object_)
        case specs.Array(shape, dtype):
            remedy = "name the others in `step_metadata` or `metadata`"
            if encode is not None:
                return encode.feature(shape, dtype, path, place, remedy)
            return fact_feature(shape, dtype, place, remedy)
    raise SpecError(
        f"{place} holds {describe_spec(spec)}, and TensorFlow Datasets wants every value there and of one kind; name "
        "the others in `step_metadata` or `metadata`, or pass incomplete=False if it is missing where EnvLogger died"
    )


def _stacked(rows: Sequence[Mapping[str, Any]], features: Any) -> dict[str, Any]:
    """The steps as arrays `[T, ...]`, or object arrays `[T]` if shapes change; zeros for missing values."""
    nest: dict[str, Any] = {}
    for keys in leaf_keys({name: feature for name, feature in features.items() if name not in FLAGS}):
        info = value_at(features, keys).get_tensor_info()
        *above, name = keys
        place = functools.reduce(lambda inside, key: inside.setdefault(key, {}), above, nest)
        place[name] = _joined([_value(row, keys, info) for row in rows], info)
    return nest


def _value(row: Mapping[str, Any], keys: Keys, info: Any) -> Any:
    try:
        value = value_at(row, keys)
    except KeyError:
        return b"" if _is_text(info) else np.zeros([size or 0 for size in info.shape], info.np_dtype)
    return value.encode("utf-8", "surrogatepass") if isinstance(value, str) else value


def _is_text(info: Any) -> bool:
    return bool(np.dtype(info.np_dtype).kind == "O")


def _joined(values: Sequence[Any], info: Any) -> np.ndarray:
    if not _is_text(info) and None not in info.shape:
        return np.stack([np.asarray(value) for value in values])
    joined = np.empty(len(values), object)
    for number, value in enumerate(values):
        joined[number] = value
    return joined
