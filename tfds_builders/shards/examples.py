"""Shards in the formats of TFDS, where every episode is one `tf.train.Example`: writes them and reads them back."""

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

import tensorflow as tf
import tensorflow_datasets as tfds
import xxhash

from rlds_kit.base.errors import DamagedError
from rlds_kit.base.extras import needs
from rlds_kit.base.rlds_types import EPISODE_ID, IS_FIRST, STEPS
from rlds_kit.convert.tfds import tf_record
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.tfds_builders.example import example
from rlds_kit.tfds_builders.example_digest import example_digests
from rlds_kit.tfds_builders.shards.source_shards import SourceShards
from rlds_kit.tfds_builders.shards.spec import EpisodeInfo, ShardSpec


def features_of(spec: ShardSpec) -> Any:  # tfds.features.FeaturesDict
    """The features from the plan."""
    return tfds.features.FeatureConnector.from_json(json.loads(spec.features))


def values_digest(made: dict[str, Any], features: Any) -> bytes:
    """The digest, 16 bytes, of every value that TFDS stores of an episode, with its dtype and shape.

    The content digest of our own format also covers data that TFDS cannot store (exact Python types, masks), so it
    cannot be computed from TFDS's files. This digest can be computed from the source and from TFDS's files.
    """
    found = sorted(example_digests(made, features).items())
    return xxhash.xxh3_128_digest(b"".join(repr(path).encode() + digest for path, digest in found))


ARRAY_RECORD_OPTIONS: Final = "group_size:1"
"""Episodes can be read one at a time, as TFDS requires."""

Write = Callable[[bytes], None]


def write(spec: ShardSpec, path: Path) -> tuple[EpisodeInfo, ...]:
    """Writes the shard to `path`; one episode is in memory at a time, in several copies while it is encoded.

    Returns:
      The written episodes, with digests of the values of the source.

    Raises:
      BuildError: the source has changed, or a shard of it is damaged.
      DamagedError: a step is damaged.
      SpecError: a value does not fit its feature.
    """
    features = features_of(spec)
    infos = []
    with _WRITERS[spec.format](path) as write_record:
        for episode in _episodes(spec):
            made = example(episode, features, spec.last_step)
            write_record(_serialized(made, features))
            infos.append(EpisodeInfo(episode.id, len(made[STEPS][IS_FIRST]), values_digest(made, features)))
    return tuple(infos)


def _serialized(made: dict[str, Any], features: Any) -> bytes:
    """The bytes of an example, in an order that is the same in every process."""
    data = features.serialize_example(made)
    ordered: bytes = tf.train.Example.FromString(data).SerializeToString(deterministic=True)
    return ordered


def _episodes(spec: ShardSpec) -> Iterator[Episode]:
    """The episodes in the order of the spec; checks that each is the planned one."""
    sources = SourceShards(spec.source)
    for ref in spec.episodes:
        entry = sources.entry(ref)
        shard = sources.shard(ref.shard).contents
        number = [each.episode_id for each in shard.episodes].index(entry.episode_id)
        yield Dataset(spec.source, {ref.shard: shard}).episodes[number]


@contextmanager
def _tfrecord(path: Path) -> Iterator[Write]:
    with tf.io.TFRecordWriter(str(path)) as writer:
        yield writer.write


@contextmanager
def _array_record(path: Path) -> Iterator[Write]:
    with needs("tfds"):
        from array_record.python.array_record_module import ArrayRecordWriter
    writer = ArrayRecordWriter(str(path), ARRAY_RECORD_OPTIONS)
    try:
        yield writer.write
    finally:
        writer.close()


_WRITERS: Final[dict[str, Callable[[Path], AbstractContextManager[Write]]]] = {
    "tfrecord": _tfrecord,
    "array_record": _array_record,
}


def read_back(spec: ShardSpec) -> Iterator[EpisodeInfo]:
    """The episodes in the finished shard, with digests of their decoded values.

    Raises:
      DamagedError: it is damaged.
    """
    features = features_of(spec)
    for number, record in enumerate(_READERS[spec.format](spec.path)):
        try:
            episode = features.deserialize_example_np(record)
            steps = episode[STEPS]
            digest = values_digest({**episode, STEPS: map(_as_rows, steps)}, features)
        except ImportError:
            raise  # TFDS's message names the library that decodes images
        except Exception as error:  # of any class: TFDS, protobuf, zlib and PNG raise their own
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
    except Exception as error:  # the class depends on pybind11
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
