"""The formats of TFDS: every episode is one `tf.train.Example`."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

import tensorflow as tf

from rlds_kit.base.extras import needs
from rlds_kit.base.rlds_types import IS_FIRST, STEPS
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.tfds_builders.example import example
from rlds_kit.tfds_builders.shards.source_shards import SourceShards
from rlds_kit.tfds_builders.shards.spec import EpisodeInfo, ShardSpec
from rlds_kit.tfds_builders.shards.tfds_values import features_of, values_digest

ARRAY_RECORD_OPTIONS: Final = "group_size:1"
"""Episodes can be read one at a time, as TFDS requires."""

Write = Callable[[bytes], None]


def write(spec: ShardSpec, path: Path) -> tuple[EpisodeInfo, ...]:
    """Writes the shard to `path`; one episode is in memory at a time, several times over while it is encoded.

    Returns:
      What was written, with digests of the values that the source gave.

    Raises:
      BuildError: the source has changed, or a shard of it is damaged.
      DamagedError: a step is damaged.
      SpecError: a value is not what its feature holds.
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
    """The bytes of an example, in the one order that every process gives them."""
    data = features.serialize_example(made)
    ordered: bytes = tf.train.Example.FromString(data).SerializeToString(deterministic=True)
    return ordered


def _episodes(spec: ShardSpec) -> Iterator[Episode]:
    """The episodes in the order of the spec, each checked to be the one that was planned."""
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
