"""Reads finished shards of TFDS's formats back, as TFDS decodes them."""

import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.errors import DamagedError
from rlds_kit.base.extras import needs
from rlds_kit.base.rlds_types import EPISODE_ID, STEPS
from rlds_kit.convert.tfds import tf_record
from rlds_kit.tfds_builders.shards.spec import EpisodeInfo, ShardSpec
from rlds_kit.tfds_builders.shards.tfds_values import features_of, values_digest


def read_back(spec: ShardSpec) -> Iterator[EpisodeInfo]:
    """What the finished shard holds, every value decoded and digested.

    Raises:
      DamagedError: something of it is damaged.
    """
    features = features_of(spec)
    for number, record in enumerate(_READERS[spec.format](spec.path)):
        try:
            episode = features.deserialize_example_np(record)
            steps = episode[STEPS]
            digest = values_digest({**episode, STEPS: map(_as_rows, steps)}, features)
        except ImportError:
            raise  # TFDS's message names the library that decodes images
        except Exception as error:  # of any class: TFDS, protobuf, zlib and PNG have their own
            raise DamagedError(f"{spec.path}: record {number} cannot be decoded: {error}") from error
        yield EpisodeInfo(uuid.UUID(episode[EPISODE_ID].decode()), len(steps), digest)


def _as_rows(step: Any) -> Any:
    """A single step as a stretch of steps."""
    return {key: _as_rows(item) for key, item in step.items()} if isinstance(step, dict) else [step]


def _array_records(path: Path) -> Iterator[bytes]:
    with needs("tfds"):
        from array_record.python.array_record_module import ArrayRecordReader
    try:
        reader = ArrayRecordReader(str(path))
        count = reader.num_records()
    except Exception as error:  # a class of pybind11's choice
        raise DamagedError(f"{path}: the file is no ArrayRecord file: {error}") from error
    for number in range(count):
        try:
            (record,) = reader.read([number])
        except Exception as error:
            raise DamagedError(f"{path}: record {number} is damaged: {error}") from error
        yield record


_READERS: Final[dict[str, Callable[[Path], Iterator[bytes]]]] = {
    "tfrecord": tf_record.records,
    "array_record": _array_records,
}
