"""Converts annotations to protobuf messages, and back."""

import functools
import uuid
from collections.abc import Iterable, Sequence
from typing import Final

import numpy as np

from rlds_kit.base.errors import FormatError
from rlds_kit.base.step import FLAGS
from rlds_kit.layers import layers_pb2 as lp
from rlds_kit.layers.annotation import Annotation, Kind
from rlds_kit.spec import value
from rlds_kit.storage.leaf import field_of

MAJOR_VERSION: Final = 1
_KINDS: Final = {
    Kind.TAG: lp.TAG,
    Kind.NOTE: lp.NOTE,
    Kind.RETURN: lp.RETURN,
    Kind.FIELD: lp.FIELD,
    Kind.RETRACTION: lp.RETRACTION,
}
_ID_BYTES: Final = 16
_BY_NUMBER: Final = {number: kind for kind, number in _KINDS.items()}


def record_of(annotations: Iterable[Annotation]) -> bytes:
    """The record with these annotations."""
    batch = lp.Annotations()
    episodes: dict[tuple[bytes, bytes], int] = {}
    sources: dict[str, int] = {}
    for each in annotations:
        subject = each.episode.bytes, each.digest
        if subject not in episodes:
            episodes[subject] = len(episodes)
            batch.episode.add(episode_id=subject[0], content_digest=subject[1])
        if each.source not in sources:
            sources[each.source] = len(sources)
            batch.source.append(each.source)
        message = batch.annotation.add(
            annotation_id=each.id.bytes,
            episode=episodes[subject],
            source=sources[each.source],
            kind=_KINDS[each.kind],
            field=each.field,
            stacked=each.is_stacked,
            confidence=each.confidence,
            time_unix_ns=each.time_ns,
        )
        if each.steps is not None:
            message.first_step, message.end_step = each.steps.start, each.steps.stop
        if each.retracts is None:
            message.value.CopyFrom(value.encode(each.value))
        else:
            message.retracts = each.retracts.bytes
        if each.user_data is not None:
            message.user_data.CopyFrom(value.encode(each.user_data))
    return lp.LayerRecord(version=MAJOR_VERSION, annotations=batch).SerializeToString()


def annotation_of(message: lp.Annotation, batch: lp.Annotations) -> Annotation:
    """An annotation from its message.

    Raises:
      ValueError, IndexError: it is invalid.
    """
    subject = batch.episode[message.episode]
    found = Annotation(
        id=uuid.UUID(bytes=message.annotation_id),
        kind=_BY_NUMBER[message.kind],
        episode=_episode_id(subject.episode_id),
        steps=range(message.first_step, message.end_step) if message.end_step else None,
        value=value.decode(message.value) if message.HasField("value") else None,
        source=batch.source[message.source],
        confidence=message.confidence,
        time_ns=message.time_unix_ns,
        field=message.field,
        is_stacked=message.stacked,
        user_data=value.decode(message.user_data) if message.HasField("user_data") else None,
        digest=subject.content_digest,
        retracts=uuid.UUID(bytes=message.retracts) if message.retracts else None,
    )
    if problem := _problem(found):
        raise ValueError(f"annotation {found.id}: expected {problem}")
    return found


def _problem(found: Annotation) -> str:
    """Validates a message, because layers may come from untrusted sources; returns the problem, if any."""
    kind, value, steps = found.kind, found.value, found.steps
    if not 0 <= found.confidence <= 1:
        return f"a confidence in [0, 1], got {found.confidence}"
    if steps is not None and not steps:
        return f"some steps, got {steps}"
    if kind is Kind.FIELD:
        if not _may_be_amended(found.field):
            return f"a field that can be amended, got {found.field!r}"
        count = None if steps is None else len(steps)
        if found.is_stacked and (not isinstance(value, np.ndarray) or value.shape[:1] != (count,)):
            return f"a value for each of the steps {steps}"
    elif kind is Kind.RETURN and not isinstance(value, int | float | np.number):
        return f"a number, got {type(value).__name__}"
    elif kind in (Kind.TAG, Kind.NOTE) and not isinstance(value, str):
        return f"a text, got {type(value).__name__}"
    return ""


@functools.lru_cache(maxsize=1024)
def _may_be_amended(field: str) -> bool:
    return field != "" and field_of(field) not in FLAGS


@functools.lru_cache(maxsize=1024)
def _episode_id(data: bytes) -> uuid.UUID:
    """The episode id, cached because many annotations have the same."""
    return uuid.UUID(bytes=data)


def known(batch: lp.Annotations, place: object) -> Sequence[lp.Annotation]:
    """The annotations of a record; those of unknown kinds, from a later version, are left out.

    Raises:
      FormatError: the record contradicts itself.
    """
    episodes, sources = len(batch.episode), len(batch.source)
    found = [each for each in batch.annotation if each.kind in _BY_NUMBER]
    if any(len(each.episode_id) != _ID_BYTES for each in batch.episode):
        raise FormatError(f"{place}: expected ids of episodes of {_ID_BYTES} bytes")
    if any(each.episode >= episodes or each.source >= sources for each in found):
        raise FormatError(f"{place}: an annotation names an episode or a source that its record lacks")
    return found
