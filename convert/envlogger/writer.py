"""Writes directories of EnvLogger's, without EnvLogger.

Values that EnvLogger cannot represent, but its codec can store, are under the key `rlds_kit` of the metadata, to which
every program may add: the end of an episode if dm_env cannot represent it, its seed and options, the declared specs,
and fields of actions.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import numpy as np
from dm_env import specs as dm_specs

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.base.origin import SOURCE
from rlds_kit.base.step import ACTED_FIELDS, ACTION, DECLARED_FIELDS, DISCOUNT, OBSERVATION, REWARD, EpisodeEnd
from rlds_kit.convert.envlogger.encode import encode
from rlds_kit.convert.envlogger.reader import (
    CUSTOM_DATA,
    ENVIRONMENT_SPECS,
    EPISODE_METADATA,
    EXTRA,
    METADATA_FILE,
    TAKEN,
    episode_of,
    fields_of,
    is_named,
    natural_end,
)
from rlds_kit.convert.envlogger.recording import Record, decode
from rlds_kit.convert.envlogger.scan import FIRST, LAST, MID
from rlds_kit.convert.envlogger.shard import OPTIONS, ShardWriter
from rlds_kit.convert.envlogger_storage_pb2 import Data
from rlds_kit.convert.final_observation import with_final_observation
from rlds_kit.convert.protocol import ForeignEpisode, Loss, Reader, Row, Target
from rlds_kit.riegeli import RecordWriter
from rlds_kit.spec.from_dm_env import to_dm_env

EPISODES_PER_SHARD: Final = 10_000
"""Episodes in a shard, as EnvLogger's own default is."""
_OVER: Final = (EpisodeEnd.TERMINATED, EpisodeEnd.TRUNCATED)


@dataclass(frozen=True)
class EncodedEpisode(ForeignEpisode):
    """An episode that EnvLogger can store completely, and its encoded records.

    Attributes:
      records: one message for each step.
      about: the message of its metadata, None if there are none.
    """

    records: Sequence[bytes] = ()
    about: bytes | None = None


class EnvLoggerWriter:
    """Writes a directory. A `Writer`."""

    def __init__(self, target: Target, source: Reader) -> None:
        self._directory, self._source = target.path, source
        self._metadata = _dataset_metadata(target, source)
        self._lost: set[str] = set()
        self._time = datetime.now(UTC)
        self._shard: ShardWriter | None = None
        self._directory.mkdir(parents=True)

    def fit(self, episode: ForeignEpisode) -> tuple[ForeignEpisode | None, list[Loss]]:
        """The episode without the values that EnvLogger cannot store."""
        whole, losses = with_final_observation(episode, "EnvLogger")
        if whole is None:
            return None, losses
        whole = replace(whole, acted=_discounted(whole))
        records = [_record(whole, step, losses) for step in range(len(whole.observed))]
        self._lost |= {loss.field.partition("/")[0] for loss in losses}
        stored = [record for record in records if record is not None]
        if len(stored) < len(records) or not stored:
            reason = "EnvLogger cannot store all of its observations and actions" if records else "has no step"
            return None, [*losses, Loss("episode", reason, len(records) or 1)]
        read = [_read(record) for record in stored]
        about = _about(whole, read, losses)
        known = episode_of(read, None if about is None else decode(about))
        content = {each.name: getattr(known, each.name) for each in fields(ForeignEpisode)}
        return EncodedEpisode(
            **content,
            records=[record.SerializeToString() for record in stored],
            about=None if about is None else about.SerializeToString(),
        ), losses

    def write(self, episode: ForeignEpisode) -> None:
        """Writes an episode that `fit` made."""
        if not isinstance(episode, EncodedEpisode):
            raise TypeError("expected an episode as `fit` returns it")
        if self._shard is None or len(self._shard) >= EPISODES_PER_SHARD:
            self._close_shard()
            self._shard = ShardWriter(self._directory / f"{self._time:%Y%m%dT%H%M%S%f}")
            self._time += timedelta(microseconds=1)
        self._shard.write(episode.records, episode.about)

    def close(self) -> None:
        """Finishes the shard, and writes the metadata."""
        self._close_shard()
        known = self._source.spec.fields
        declared = {name: known[name] for name in DECLARED_FIELDS if name in known and name not in self._lost}
        self._metadata[EXTRA]["spec"] = json.dumps(specs.to_json(specs.Dict(declared)))
        data = encode(self._metadata, "metadata", [])
        with RecordWriter(self._directory / METADATA_FILE, OPTIONS) as writer:
            writer.write_record((data or Data()).SerializeToString())

    def _close_shard(self) -> None:
        if self._shard is not None:
            self._shard.close()


def _dataset_metadata(target: Target, source: Reader) -> dict[str, Any]:
    """The content of metadata.riegeli without the declared specs and without values that the codec cannot store."""
    metadata = {name: value for name, value in source.metadata.items() if name not in (SOURCE, EXTRA)}
    if EXTRA in source.metadata:
        target.losses.append(Loss(f"dataset metadata/{EXTRA}", "is where this library puts its own"))
    known = {name: _environment_spec(source.spec.fields.get(name)) for name in DECLARED_FIELDS}
    derived = {f"{name}_spec": each for name, each in known.items() if each is not None}
    is_derived = ENVIRONMENT_SPECS not in metadata and len(derived) == len(DECLARED_FIELDS)
    extra = {
        "about": {name: text for name, text in source.about.items() if text},
        "environment": dict(source.environment),
        SOURCE: dict(target.origin),
        "specs_derived": is_derived,
    }
    added = {ENVIRONMENT_SPECS: derived} if is_derived else {}
    return {
        **_storable(metadata, "dataset metadata", target.losses),
        **added,
        EXTRA: _storable(extra, "", target.losses),
    }


def _storable(content: Mapping[str, Any], place: str, losses: list[Loss]) -> dict[str, Any]:
    """The entries of a dict that the codec can store."""
    found: list[Loss] = []
    data = encode(content, place, found)
    losses += [Loss(loss.field.lstrip("/"), loss.reason, loss.values) for loss in found]
    return dict(decode(data)) if data is not None else {}


def _environment_spec(spec: specs.Spec | None) -> Any:
    """A spec in EnvLogger's form; None if dm_env has no such spec."""
    try:
        return None if spec is None else _spec_content(to_dm_env(spec))
    except SpecError:
        return None


def _spec_content(spec: Any) -> Any:
    match spec:
        case dm_specs.StringArray() | None:  # EnvLogger would read it as an array of numbers
            raise SpecError("dm_env has such a spec, and EnvLogger has not")
        case dm_specs.Array():
            content = {"shape": np.array(spec.shape, np.int64) if spec.shape else None, "dtype": str(spec.dtype)}
            content["name"] = spec.name
            if isinstance(spec, dm_specs.BoundedArray):
                content |= {"minimum": spec.minimum, "maximum": spec.maximum}
            return content | ({"num_values": spec.num_values} if isinstance(spec, dm_specs.DiscreteArray) else {})
        case dict():
            return {name: _spec_content(each) for name, each in spec.items()}
        case tuple():
            return tuple(_spec_content(each) for each in spec)
    return [_spec_content(each) for each in spec]


def _discounted(episode: ForeignEpisode) -> Sequence[Row]:
    """The rows of the actions, with dm_env's discounts if there are none: 0 for a terminal step, else 1."""
    if any(DISCOUNT in row for row in episode.acted):
        return episode.acted
    last = len(episode.acted) - 1
    is_terminal = episode.end is EpisodeEnd.TERMINATED
    return [
        {**row, DISCOUNT: 0.0 if is_terminal and number == last else 1.0} for number, row in enumerate(episode.acted)
    ]


def _record(episode: ForeignEpisode, step: int, losses: list[Loss]) -> Data | None:
    """The message of a step, None if its observation or action cannot be stored."""
    observed, acted = episode.observed[step], episode.acted[step - 1] if step else {}
    kind = FIRST if not step else MID
    if step and step == len(episode.observed) - 1 and episode.end in _OVER:
        kind = LAST
    parts = [encode(kind, "", [])]
    for name in (REWARD, DISCOUNT):
        if name in acted and acted[name] is None:
            losses.append(Loss(name, "None is what EnvLogger has where there is none"))
        parts.append(encode(acted.get(name), name, losses) or Data())
    parts.append(encode(observed[OBSERVATION], OBSERVATION, losses))
    action = encode(acted.get(ACTION), ACTION, losses)
    if action is None or parts[-1] is None:
        return None
    timestep = Data(tuple=Data.Tuple(values=[part for part in parts if part is not None]))
    return Data(tuple=Data.Tuple(values=[timestep, action, _custom_data(observed, acted, losses)]))


def _custom_data(observed: Row, acted: Row, losses: list[Loss]) -> Data:
    """The value that `step_fn` would have returned."""
    own = {name: value for name, value in observed.items() if name != OBSERVATION}
    of_action = {name: value for name, value in acted.items() if name not in ACTED_FIELDS}
    if own.keys() == {CUSTOM_DATA} and not of_action and _is_bare(own[CUSTOM_DATA]):
        return encode(own[CUSTOM_DATA], CUSTOM_DATA, losses) or Data()
    free = _fields({name: value for name, value in own.items() if name not in TAKEN}, losses)
    taken = _fields({name: value for name, value in own.items() if name in TAKEN}, losses)
    acts = _fields(of_action, losses)
    if taken.dict.values or acts.dict.values:
        extra = free.dict.values[EXTRA].dict.values
        extra["observed"].CopyFrom(taken)
        extra["acted"].CopyFrom(acts)
    return free if free.dict.values else Data()


def _is_bare(value: Any) -> bool:
    """Whether a value that is no dict of fields is read back under the name `CUSTOM_DATA`."""
    return value is not None and [list(names) for names in fields_of(value)] == [[CUSTOM_DATA], []]


def _fields(row: Row, losses: list[Loss]) -> Data:
    made = Data(dict=Data.Dict())
    for name, value in row.items():
        data = encode(value, name, losses)
        if data is not None:
            made.dict.values[name].CopyFrom(data)
    return made


def _about(episode: ForeignEpisode, records: Sequence[Record], losses: list[Loss]) -> Data | None:
    """The message of an episode's metadata, None if there are none."""
    metadata = dict(episode.metadata)
    if EXTRA in metadata:
        losses.append(Loss(f"metadata/{EXTRA}", "is where this library puts its own"))
        del metadata[EXTRA]
    extra: dict[str, Any] = {} if episode.seed is None else {"seed": episode.seed}
    extra |= {} if episode.options is None else {"options": episode.options}
    extra |= {"provenance": dict(episode.provenance)} if episode.provenance else {}
    natural = natural_end(records[-1], len(records))
    flags = natural is EpisodeEnd.TERMINATED, natural is EpisodeEnd.TRUNCATED
    if (episode.end, episode.terminated, episode.truncated) != (natural, *flags):
        content = {"end": episode.end.value, "terminated": episode.terminated, "truncated": episode.truncated}
        extra["end"] = content | {"steps": len(records)}
    bare = metadata.get(EPISODE_METADATA)
    if len(metadata) == 1 and bare is not None and not extra and not is_named(bare):
        return encode(bare, "metadata", losses)
    stored = _storable(metadata, "metadata", losses) | ({EXTRA: _storable(extra, "", losses)} if extra else {})
    return encode(stored, "metadata", []) if stored else None


def _read(record: Data) -> Record:
    (kind, reward, discount, observation), action, custom_data = decode(record)
    return Record(kind, reward, discount, observation, action, custom_data)
