"""Compares every written episode, read back, with the source.

Episodes are matched by the digests of all their fields, in any order. It takes some hundred bytes of memory for each
episode.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.rlds_types import EPISODE_ID, STEPS
from rlds_kit.tfds_builders.example_digest import FieldDigests, example_digests
from rlds_kit.tfds_builders.tfds_extra import tfds

READ_STEPS: Final = 64
"""Steps that are read back at once."""
DIGEST_BYTES: Final = 8


class ProofError(RldsKitError, RuntimeError):
    """The written values differ from the source; the message names split, episode and field."""


def prove(
    split: str,
    source: Iterable[tuple[str, FieldDigests]],
    written: Iterable[tuple[str, FieldDigests]],
    limit: int | None = None,
) -> int:
    """Compares the episodes of a split.

    Args:
      split: its name, for messages.
      source: key and digests of every episode of the source.
      written: a name for messages and the digests of every episode that was read back.
      limit: the maximum number of episodes that were to be written.

    Returns:
      The number of compared episodes.

    Raises:
      ProofError: one is missing, duplicate or different.

    >>> prove("train", [("e0", {"end": b"8 bytes."})], [("e0", {"end": b"8 bytes."})])
    1
    """
    expected = _Expected(split, source)
    count = 0
    for name, digests in written:
        expected.take(name, digests)
        count += 1
    if expected.keys and count != limit:
        raise ProofError(
            f"split {split!r}: expected {count + len(expected.keys)} episodes, {count} were written; "
            f"{len(expected.keys)} are missing, one of them is {expected.keys[0]!r}"
        )
    return count


class _Expected:
    """The episodes of the source that were not found yet."""

    def __init__(self, split: str, source: Iterable[tuple[str, FieldDigests]]) -> None:
        self._split = split
        self._left: dict[bytes, list[str]] = {}
        self._fields: tuple[str, ...] = ()
        for key, digests in source:
            self._fields = tuple(digests)
            self._left.setdefault(b"".join(digests.values()), []).append(key)

    @property
    def keys(self) -> list[str]:
        """The keys of the episodes that were not found yet."""
        return [key for keys in self._left.values() for key in keys]

    def take(self, name: str, digests: FieldDigests) -> None:
        """Finds the episode with these digests."""
        joined = b"".join(digests[field] for field in self._fields) if self._fields else b""
        keys = self._left.get(joined)
        if not keys:
            raise ProofError(self._difference(name, digests))
        keys.pop()
        if not keys:
            del self._left[joined]

    def _difference(self, name: str, digests: FieldDigests) -> str:
        """Describes the fields that differ between a found episode and the most similar expected one."""
        found = [digests[field] for field in self._fields]
        best, shared = "", [False] * len(found)
        for joined, keys in self._left.items():
            parts = (joined[at : at + DIGEST_BYTES] for at in range(0, len(joined), DIGEST_BYTES))
            equal = [one == other for one, other in zip(parts, found, strict=True)]
            if sum(equal) > sum(shared):
                best, shared = keys[0], equal
        if not best:
            return f"split {self._split!r}: episode {name!r} was written, and no episode of the source is left for it"
        wrong = [field for field, is_equal in zip(self._fields, shared, strict=True) if not is_equal]
        return (
            f"split {self._split!r}: episode {best!r} was written with other values of {', '.join(wrong)} than the "
            "source has; the build was removed"
        )


def written_digests(builder: Any, split: str) -> Iterator[tuple[str, FieldDigests]]:
    """Reads a split back as users do: with tf.data, or as a data source if its format does not support tf.data.

    Args:
      builder: a prepared `tfds.core.DatasetBuilder`.
      split: its name.

    Yields:
      A name for messages, and digests, of every episode.

    Raises:
      ProofError: the files cannot be read back.
    """
    features = builder.info.features
    number = 0
    try:
        for number, episode in enumerate(_read_back(builder, split)):
            yield _name(episode, number), example_digests(episode, features)
    except Exception as error:  # TensorFlow and the readers of its formats raise many types of errors
        raise ProofError(
            f"split {split!r}: what was written cannot be read back, at episode {number}: {error}"
        ) from error


def source_digests(examples: Iterable[tuple[str, dict[str, Any]]], features: Any) -> Iterator[tuple[str, FieldDigests]]:
    """Key and digests of every example of a source."""
    for key, example in examples:
        yield key, example_digests(example, features)


def _name(episode: dict[str, Any], number: int) -> str:
    key = episode.get(EPISODE_ID)
    return key.decode("utf-8", "replace") if isinstance(key, bytes) else f"number {number}"


def _read_back(builder: Any, split: str) -> Iterator[dict[str, Any]]:
    if builder.info.file_format == tfds.core.FileFormat.ARRAY_RECORD:
        for episode in builder.as_data_source(split=split):
            yield {**episode, STEPS: map(_as_rows, episode[STEPS])}
        return
    config = tfds.ReadConfig(try_autocache=False, interleave_cycle_length=1, skip_prefetch=True)
    is_ragged = _is_ragged(builder.info.features[STEPS].feature.get_tensor_info())
    for episode in builder.as_dataset(split=split, read_config=config, shuffle_files=False):
        steps = episode.pop(STEPS)
        rows = map(_as_rows, steps.as_numpy_iterator()) if is_ragged else steps.batch(READ_STEPS).as_numpy_iterator()
        yield {**tfds.as_numpy(episode), STEPS: rows}


def _as_rows(step: Any) -> Any:
    """A single step as a stretch of steps."""
    return {key: _as_rows(item) for key, item in step.items()} if isinstance(step, dict) else [step]


def _is_ragged(info: Any) -> bool:
    if hasattr(info, "items"):
        return any(_is_ragged(item) for item in info.values())
    return None in info.shape
