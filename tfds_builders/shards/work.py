"""Writes one shard, and reads it back: the two tasks of a build."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.file_digest import file_digest
from rlds_kit.base.whole_file import whole_file
from rlds_kit.riegeli import RiegeliError
from rlds_kit.tfds_builders.shards import copy_blocks
from rlds_kit.tfds_builders.shards.errors import BuildError
from rlds_kit.tfds_builders.shards.finished_shard import finished, info_path, read_info, write_info
from rlds_kit.tfds_builders.shards.spec import EpisodeInfo, EpisodeRef, ShardInfo, ShardSpec


def work(spec: ShardSpec) -> ShardInfo:
    """Writes one complete shard, in constant memory: one block at a time, or one episode in the formats of TFDS.

    It is written under a temporary name, made durable and renamed. A finished shard of the same spec, whose bytes have
    not changed since, is reused.

    Raises:
      BuildError: the source is damaged or has changed; the message names the shard and the file of the source.
      OSError: a file cannot be read or written.

    >>> work(plan(rlds_kit.open("data/pong"), "data/copy", "riegeli")[0]).steps  # doctest: +SKIP
    """
    done = finished(spec)
    if done is not None:
        return done
    info_path(spec).unlink(missing_ok=True)
    with _named(spec):
        with whole_file(spec.path) as temporary:
            episodes = _written(spec, temporary)
            size, digest = temporary.stat().st_size, file_digest(temporary)
        info = ShardInfo(spec.file, episodes, size, digest)
        write_info(spec, info)
    return info


def check(spec: ShardSpec) -> ShardInfo:
    """Reads a finished shard back and compares every episode with that of the source.

    Raises:
      BuildError: an episode is missing, damaged or different; the message names the shard and the episode.
      OSError: the file cannot be read.
    """
    info = read_info(spec)
    if info is None or not spec.path.is_file():
        raise BuildError(f"{spec.path}: the shard was not finished; build it again")
    with _named(spec):
        _compare(spec, info.episodes)
    if file_digest(spec.path) != info.file_digest:
        raise BuildError(f"{spec.path}: the file is not the one that was written; remove it and build again")
    return info


def _written(spec: ShardSpec, path: Path) -> tuple[EpisodeInfo, ...]:
    if spec.format == "riegeli":
        return copy_blocks.write(spec, path)
    from rlds_kit.tfds_builders.shards import examples  # TensorFlow is slow to import and large

    return examples.write(spec, path)


def _read_back(spec: ShardSpec) -> Iterator[EpisodeInfo]:
    if spec.format == "riegeli":
        return copy_blocks.read_back(spec)
    from rlds_kit.tfds_builders.shards import examples

    return examples.read_back(spec)


def _compare(spec: ShardSpec, written: tuple[EpisodeInfo, ...]) -> None:
    """Compares the episodes of a shard with those that were written."""
    found = _read_back(spec)
    for ref, expected in zip(spec.episodes, written, strict=True):
        episode = _next(found, ref, spec)
        if episode != expected:
            raise BuildError(
                f"{spec.path}: expected episode {ref.id} of {expected.steps} steps and digest {expected.digest.hex()}, "
                f"got episode {episode.id} of {episode.steps} steps and digest {episode.digest.hex()}; remove the file "
                "and build again"
            )
    extra = next(found, None)
    if extra is not None:
        raise BuildError(f"{spec.path}: got episode {extra.id}, which is not in the plan; remove the file")


def _next(found: Iterator[EpisodeInfo], ref: EpisodeRef, spec: ShardSpec) -> EpisodeInfo:
    try:
        episode = next(found, None)
    except (RldsKitError, RiegeliError) as error:
        raise BuildError(f"{spec.path}: episode {ref.id} cannot be read back: {error}") from error
    if episode is None:
        raise BuildError(f"{spec.path}: episode {ref.id} is missing; remove the file and build again")
    return episode


@contextlib.contextmanager
def _named(spec: ShardSpec) -> Iterator[None]:
    """Adds the name of the shard to errors."""
    try:
        yield
    except BuildError:
        raise
    except (RldsKitError, RiegeliError) as error:
        raise BuildError(f"{spec}: {error}") from error
