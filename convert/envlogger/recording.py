"""Reads recordings of EnvLogger, https://github.com/google-deepmind/envlogger, without EnvLogger.

A directory has `metadata.riegeli` and one sub-directory per shard, named by its time; a shard has the
steps of many episodes:

    steps.riegeli             one `Data` per step
    step_offsets.riegeli      the numeric Riegeli position of each step
    episode_index.riegeli     per episode: its first step, and the position of its metadata or -1
    episode_metadata.riegeli  one `Data` per episode that has metadata

Steps keep EnvLogger's own alignment: the action of a record *led to* its observation, so the first record of
an episode has no action, reward or discount. This module reads only episodes of the index, which lacks an
episode that was open when its writer died.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from google.protobuf.message import DecodeError

from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.convert.envlogger_storage_pb2 import Data, Datum
from rlds_kit.riegeli import RecordReader

# The types that the codec can store: NumPy arrays and scalars, bool, int, str, bytes, None, and lists, tuples and dicts
# of them.
Value = Any

SCALAR_DIM_SIZE: Final = -438
"""The size of the one dimension that marks a scalar."""

# Field -> (dtype of its bytes, dtype of its elements).
_PACKED_FIELDS = {
    "float_values": ("<f4", np.float32),
    "double_values": ("<f8", np.float64),
    "float_values_buffer": (">f4", np.float32),
    "int8_values": (">i1", np.int8),
    "int16_values": (">i2", np.int16),
    "uint8_values": (">u1", np.uint8),
    "uint16_values": (">u2", np.uint16),
}
_NUMBER_FIELDS = {
    "int32_values": np.int32,
    "int64_values": np.int64,
    "uint32_values": np.uint32,
    "uint64_values": np.uint64,
    "bool_values": np.bool_,
}


class Record(NamedTuple):
    """One step as EnvLogger stores it: `action` led to `observation`. `step_type` is dm_env's (0, 1, 2)."""

    step_type: int
    reward: Value
    discount: Value
    observation: Value
    action: Value
    custom_data: Value


@dataclass(frozen=True, slots=True)
class Episode:
    """The steps between two resets, with the result of `episode_fn` for them (None if there is none)."""

    metadata: Value
    records: tuple[Record, ...]


@dataclass(frozen=True)
class Shard:
    """The index of one sub-directory.

    `step_offsets` has shape [steps]; `episode_index` has shape [episodes, 2]: first step, metadata position.
    """

    path: Path
    step_offsets: npt.NDArray[np.int64]
    episode_index: npt.NDArray[np.int64]

    def steps_of(self, episode: int) -> range:
        """Return the steps of `episode`, numbered from the begin of the shard."""
        following = self.episode_index[episode + 1 :, 0]
        return range(
            int(self.episode_index[episode, 0]), int(following[0]) if len(following) else len(self.step_offsets)
        )


@dataclass(frozen=True)
class Recording:
    """A whole EnvLogger directory; steps are read on access."""

    path: Path
    metadata: Value
    shards: tuple[Shard, ...]

    def __len__(self) -> int:
        """Return the number of episodes."""
        return sum(len(shard.episode_index) for shard in self.shards)

    def __iter__(self) -> Iterator[Episode]:
        """Read the episodes in order; every iteration has its own files."""
        for shard in self.shards:
            yield from read_episodes(shard)


def open_recording(path: str | os.PathLike[str]) -> Recording:
    """Read the metadata and the index of the EnvLogger directory at `path`.

    Raises:
        FileNotFoundError: there is no `metadata.riegeli`, which every EnvLogger directory has.
        DamagedError, FormatError: a file is broken.
    """
    root = Path(path)
    with RecordReader(root / "metadata.riegeli") as reader:
        record = reader.read_record()
    indexes = sorted(root.glob("*/step_offsets.riegeli"))
    shards = tuple(read_shard(index.parent) for index in indexes)
    return Recording(root, None if record is None else _parse(record), shards)


def read_shard(path: Path) -> Shard:
    """Read the index of the shard at `path`; one whose writer died before the first flush is empty."""
    offsets = _read_numbers(path / "step_offsets.riegeli", columns=())
    index = _read_numbers(path / "episode_index.riegeli", columns=(2,))
    if np.any(np.diff(offsets) <= 0):
        raise FormatError(f"{path}: the positions of the steps are not in the order of the file")
    firsts = [*index[:, 0].tolist(), len(offsets)]
    if firsts[0] < 0 or any(here > there for here, there in pairwise(firsts)):
        raise FormatError(f"{path}: episodes begin at steps {firsts[:-1]} of {len(offsets)}")
    return Shard(path, offsets, index)


def read_episodes(shard: Shard) -> Iterator[Episode]:
    """Read the episodes of `shard` in order."""
    with (
        RecordReader(shard.path / "steps.riegeli") as steps,
        RecordReader(shard.path / "episode_metadata.riegeli") as metadata,
    ):
        for episode, (_, metadata_offset) in enumerate(shard.episode_index.tolist()):
            records = tuple(_read_step(steps, int(shard.step_offsets[step])) for step in shard.steps_of(episode))
            # A position of 0 or less states that there is none: the first 64 bytes are the file's signature.
            about = _parse(_read_at(metadata, metadata_offset)) if metadata_offset > 0 else None
            yield Episode(about, records)


def _read_numbers(path: Path, columns: tuple[int, ...]) -> npt.NDArray[np.int64]:
    """Return the int64 arrays of all records of a file, joined along the first axis."""
    with RecordReader(path) as reader:
        try:
            arrays = [decode_datum(Datum.FromString(record)) for record in reader]
        except (FormatError, DecodeError) as error:
            raise FormatError(f"{path}: {error}") from error
    present = [array for array in arrays if array is not None]
    for array in present:
        if not isinstance(array, np.ndarray) or array.dtype != np.int64 or array.shape[1:] != columns:
            raise FormatError(f"{path}: expected int64 numbers of shape [n{', 2' if columns else ''}], got {array!r}")
    return np.concatenate([np.empty((0, *columns), np.int64), *present])


def _parse(record: bytes) -> Value:
    try:
        return decode(Data.FromString(record))
    except DecodeError as error:
        raise FormatError(f"a record is not EnvLogger's: {error}") from error


def _read_at(reader: RecordReader, offset: int) -> bytes:
    missing = f"the index names a record at {offset} that is not there"
    if reader.position != offset:
        try:
            reader.seek(offset)
        except ValueError as error:
            raise DamagedError(missing) from error
    record = reader.read_record()
    if record is None or reader.last_position != offset:
        raise DamagedError(missing)
    return record


def _read_step(reader: RecordReader, offset: int) -> Record:
    match _parse(_read_at(reader, offset)):
        case ((int(step_type), reward, discount, observation), action, custom_data):
            return Record(step_type, reward, discount, observation, action, custom_data)
        case other:
            raise FormatError(
                f"the step at {offset} is not ((type, reward, discount, observation), action, data): {other!r}"
            )


def decode(data: Data) -> Value:
    """Return the value in `data`, of the type that EnvLogger's own decoder returns.

    Python integers come back as int, Python floats as numpy.float64, arrays of strings with dtype object.
    None, [], () and {} are stored alike, and so are arrays without elements: all come back as None.
    """
    match data.WhichOneof("value"):
        case "datum":
            return decode_datum(data.datum)
        case "array":
            return [decode(item) for item in data.array.values]
        case "tuple":
            return tuple(decode(item) for item in data.tuple.values)
        case "dict":
            return {key: decode(item) for key, item in data.dict.values.items()} | _decode_pairs(data.dict.kvs.values)
    return None


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


def _decode_pairs(pairs: Iterable[Data]) -> dict[Value, Value]:
    """Return the entries of a dict whose keys are not strings."""
    entries = {}
    for pair in pairs:
        match decode(pair):
            case (key, value):
                try:
                    entries[key] = value
                except TypeError as error:  # a tuple may contain unhashable values
                    raise FormatError(f"an entry of a dict has no key that can be one: {key!r}") from error
            case other:
                raise FormatError(f"an entry of a dict is not (key, value): {other!r}")
    return entries


def decode_datum(datum: Datum) -> Value:
    """Return the array or scalar in `datum`, None if it has no elements.

    Raises:
        FormatError: the elements do not fill the shape, or are of a kind that EnvLogger does not write.
    """
    fields = datum.values.ListFields()
    if not fields:
        if datum.values.ByteSize():
            raise FormatError("a datum holds elements of an unknown kind")
        return None
    if len(fields) > 1:
        raise FormatError(f"a datum has one kind of elements, got {[field.name for field, _ in fields]}")
    field, stored = fields[0]
    elements = _elements(field.name, stored)
    shape = tuple(dim.size for dim in datum.shape.dim)
    if shape == (SCALAR_DIM_SIZE,):
        if len(elements) != 1:
            raise FormatError(f"a scalar has one element, got {len(elements)}")
        scalar = elements[0]
        return bool(scalar) if isinstance(scalar, np.bool_) else scalar
    if field.name == "bigint_values":
        raise FormatError("arrays of Python integers are not supported by EnvLogger")
    if min(shape, default=0) < 0 or math.prod(shape) != len(elements):
        raise FormatError(f"{len(elements)} elements do not fill the shape {shape}")
    try:
        return elements.reshape(shape)
    except ValueError as error:
        raise FormatError(f"no array has the shape {shape}") from error


def _elements(name: str, stored: Any) -> Any:  # containers of generated code, arrays of any dtype
    if name in _PACKED_FIELDS:
        layout, dtype = _PACKED_FIELDS[name]
        raw = stored if isinstance(stored, bytes) else b"".join(stored)
        try:
            return np.frombuffer(raw, layout).astype(dtype)
        except ValueError as error:
            raise FormatError(f"{name} has {len(raw)} bytes, which is not a whole number of elements") from error
    if name in _NUMBER_FIELDS:
        return np.array(stored, _NUMBER_FIELDS[name])
    if name == "bigint_values":
        return _object_array([int.from_bytes(item, "big", signed=True) for item in stored])
    return _object_array(stored)


def _object_array(items: Sequence[object]) -> npt.NDArray[np.object_]:
    array = np.empty(len(items), object)
    array[:] = items
    return array
