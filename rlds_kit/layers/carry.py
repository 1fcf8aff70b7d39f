"""Copies layers with their episodes, also if a copy has other steps than the original."""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from rlds_kit.base.errors import FormatError
from rlds_kit.base.step import ACTED_FIELDS
from rlds_kit.layers.annotation import Annotation, Kind
from rlds_kit.layers.folder import new_file
from rlds_kit.layers.layer import Layer
from rlds_kit.layers.layer_file import LayerFileWriter
from rlds_kit.layers.layer_writer import BATCH
from rlds_kit.layers.message import record_of
from rlds_kit.layers.open_layers import OpenLayers
from rlds_kit.storage.leaf import field_of


class Piece(NamedTuple):
    """Steps `[begin, end)` of the original, of which the first is step `first` of the copy."""

    begin: int
    end: int
    first: int


@dataclass(frozen=True, slots=True)
class Moved:
    """An episode of a copy.

    Attributes:
      original: content digest of the original; empty if it has no end.
      episode_id: of the copy.
      digest: content digest of the copy; empty if it has no end.
      pieces: the steps that it has, none of which touch each other; None: all of them, as they were.
    """

    original: bytes
    episode_id: bytes
    digest: bytes
    pieces: tuple[Piece, ...] | None = None


@dataclass(frozen=True, slots=True)
class Carried:
    """The result of copying layers.

    Attributes:
      annotations: number of copied annotations, including retracted ones and retractions.
      left_out: number of annotations of copied episodes that do not apply to the copy.
    """

    annotations: int = 0
    left_out: int = 0


def carry(
    sources: Iterable[Path], destination: Path, moved: Mapping[bytes, Moved], *, skip_faults: bool = False
) -> Carried:
    """Writes the annotations of copied episodes beside the copy, each once. The caller must sync the copy.

    If a copy has all steps, annotations do not change. If it has some steps, spans are clipped and renumbered, and
    annotations get new ids, which are derived from the old ones, so that the same copy always has the same ids. A
    reward of a step that lost its action is left out, and so is a return of an episode that lost steps.

    Args:
      sources: datasets; the caller handles damage of their layers.
      destination: the new dataset.
      moved: the copies, by the id of the original; other episodes were not copied.
      skip_faults: whether to skip annotations that cannot be read, which the caller must report.

    Raises:
      FormatError: an annotation cannot be read, or an episode has changed since it was annotated.
      OSError: a file cannot be read or written.
    """
    layers = defaultdict[str, list[Layer]](list)
    for source in sources:
        for layer in layers_of(source):
            layers[layer.name].append(layer)
    written = left_out = 0
    for name, found in layers.items():
        annotations = [each for layer in found for each in (layer.readable()[0] if skip_faults else layer.history())]
        copies, lost = _copied(annotations, moved)
        _write(destination, name, copies)
        written, left_out = written + len(copies), left_out + lost
    return Carried(written, left_out)


def layers_of(dataset: Path) -> list[Layer]:
    """All layers of a dataset.

    Raises:
      FormatError: a file is not one of a layer, or has a newer major version.
    """
    found = OpenLayers(dataset)
    return [found.get(name) for name in found.names()]


def _copied(annotations: Iterable[Annotation], moved: Mapping[bytes, Moved]) -> tuple[list[Annotation], int]:
    """The annotations of the copy in order of time, and the number of those left out."""
    found = {each.id: each for each in annotations if each.episode.bytes in moved}
    parts: dict[uuid.UUID, list[Annotation]] = {}
    for each in found.values():
        if each.retracts is None:
            parts[each.id] = list(_parts(each, moved[each.episode.bytes]))
    for each in found.values():
        if each.retracts is not None:
            pairs = zip(_again(each, parts.get(each.retracts, ())), parts.get(each.retracts, ()), strict=True)
            parts[each.id] = [replace(again, retracts=part.id) for again, part in pairs]
    copies = {part.id: part for group in parts.values() for part in group}
    lost = sum(not parts[each.id] for each in found.values() if each.retracts is None)
    return sorted(copies.values(), key=lambda each: each.order), lost


def _parts(annotation: Annotation, moved: Moved) -> Iterator[Annotation]:
    """The annotations of the copy that correspond to an annotation of the original."""
    if annotation.digest and moved.original and annotation.digest != moved.original:
        raise FormatError(
            f"episode {annotation.episode} had the content digest {annotation.digest.hex()} when it was annotated, and "
            f"has {moved.original.hex()} now: the data changed; retract the annotations and make them anew"
        )
    if moved.pieces is None:
        yield annotation
        return
    subject = uuid.UUID(bytes=moved.episode_id)
    if annotation.steps is None:
        if annotation.kind is not Kind.RETURN:
            yield replace(annotation, id=_derived(annotation, moved, 0), episode=subject, digest=moved.digest)
        return
    is_acted = annotation.kind is Kind.FIELD and field_of(annotation.field) in ACTED_FIELDS
    for number, (piece_begin, piece_end, first) in enumerate(moved.pieces):
        begin, end = max(annotation.steps.start, piece_begin), min(annotation.steps.stop, piece_end - is_acted)
        if begin < end:
            inside = slice(begin - annotation.steps.start, end - annotation.steps.start)
            yield replace(
                annotation,
                id=_derived(annotation, moved, number),
                episode=subject,
                steps=range(begin - piece_begin + first, end - piece_begin + first),
                value=annotation.value[inside] if annotation.is_stacked else annotation.value,
                digest=moved.digest,
            )


def _again(retraction: Annotation, parts: Sequence[Annotation]) -> Iterator[Annotation]:
    """A retraction for each part of the retracted annotation."""
    for part in parts:
        is_same = part.id == retraction.retracts
        made = retraction.id if is_same else uuid.uuid5(retraction.id, part.id.hex)
        yield replace(retraction, id=made, episode=part.episode, digest=part.digest)


def _derived(annotation: Annotation, moved: Moved, number: int) -> uuid.UUID:
    return uuid.uuid5(annotation.id, f"{moved.episode_id.hex()} {moved.pieces} {number}")


def _write(destination: Path, name: str, annotations: Sequence[Annotation]) -> None:
    if not annotations:
        return
    file = LayerFileWriter(new_file(destination, name))
    try:
        for first in range(0, len(annotations), BATCH):
            file.append(record_of(annotations[first : first + BATCH]))
    finally:
        file.close()
