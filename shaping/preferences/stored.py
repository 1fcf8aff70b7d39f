"""Stores responses as annotations of a layer: one note for each segment, so that tools copy each with its episode.

The note of the first segment has the query and the answer in its `user_data`; the others refer to it by the id of the
response. A response is read back only if every segment is there with all of its steps.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from rlds_kit.base.errors import FormatError
from rlds_kit.layers.annotation import Annotation, Kind
from rlds_kit.layers.draft import Draft, note, retraction
from rlds_kit.layers.layer import Layer
from rlds_kit.shaping.preferences.answers import from_plain, to_plain
from rlds_kit.shaping.preferences.query import Query, Response
from rlds_kit.shaping.preferences.segment import Segment

SCHEMA: Final = "rlds_kit.preferences"
VERSION: Final = 1


@dataclass(frozen=True, slots=True)
class Responses:
    """The responses in a layer.

    Attributes:
      whole: the responses, in order of time.
      partial: ids of responses whose segments or steps were not all copied, or were retracted.
    """

    whole: tuple[Response, ...]
    partial: tuple[uuid.UUID, ...]


def drafts(responses: Iterable[Response]) -> list[Draft]:
    """The annotations that store responses: pass them to `Dataset.annotate`, or one by one to an annotator.

    Raises:
      UnsupportedTypeError: a parameter of a query, or an action, cannot be recorded.
    """
    return [_draft(each, number) for each in responses for number in range(len(each.query.segments))]


def retractions(response: Response) -> list[Draft]:
    """The annotations that retract a stored response.

    Raises:
      ValueError: it was not read from a layer.
    """
    if not response.annotations:
        raise ValueError("expected a response that `responses` returned: this one does not know its annotations")
    return [retraction(each) for each in response.annotations]


def responses(layer: Layer) -> Responses:
    """Reads the responses of a layer, also those that their annotator corrected later (`latest` leaves these out).

    Raises:
      DamagedError: the layer is damaged.
      FormatError: a response was written by a newer version, or its writer was faulty.
    """
    parts = defaultdict[str, list[Annotation]](list)
    for each in layer.annotations():
        if each.kind is Kind.NOTE and isinstance(each.user_data, dict) and each.user_data.get("schema") == SCHEMA:
            _require_version(each)
            _require_place(each)
            parts[each.user_data["response"]].append(each)
    read = {name: _response(found) for name, found in parts.items()}
    whole = [each for each in read.values() if each is not None]
    return Responses(
        tuple(sorted(whole, key=lambda each: (each.time_ns, each.id.bytes))),
        tuple(uuid.UUID(name) for name, each in read.items() if each is None),
    )


def _draft(response: Response, number: int) -> Draft:
    segments = response.query.segments
    data = {
        "schema": SCHEMA,
        "version": VERSION,
        "response": str(response.id),
        "segment": number,
        "segments": len(segments),
        "length": segments[number].length,
    }
    if number == 0:
        data |= {"kind": response.query.kind, "question": response.query.question}
        data |= {"strategy": response.query.strategy, "parameters": dict(response.query.parameters)}
        data["answer"] = to_plain(response.answer)
    text = f"{response.query.kind}, segment {number + 1} of {len(segments)}: {response.answer}"
    made = note(segments[number].episode, text, segments[number].steps, confidence=response.confidence, user_data=data)
    return replace(made, source=response.annotator)


def _require_version(annotation: Annotation) -> None:
    if annotation.user_data.get("version") != VERSION:
        raise FormatError(
            f"annotation {annotation.id}: expected version {VERSION} of responses, got "
            f"{annotation.user_data.get('version')!r}; a newer rlds_kit reads it"
        )


def _require_place(annotation: Annotation) -> None:
    """Determines the segment and the response of a note."""
    data = annotation.user_data
    numbers = [data.get(name) for name in ("segment", "segments", "length")]
    try:
        uuid.UUID(data.get("response"))
    except (AttributeError, TypeError, ValueError) as error:
        raise FormatError(f"annotation {annotation.id}: expected the id of a response: {error}") from error
    if not all(isinstance(each, int) for each in numbers[:2]) or not isinstance(numbers[2], int | None):
        raise FormatError(f"annotation {annotation.id}: expected numbers of segments and steps, got {numbers}")


def _response(found: Sequence[Annotation]) -> Response | None:
    """The response in these annotations; None: a part of it is missing."""
    parts: dict[int, Annotation] = {}
    for each in found:  # an episode and its copy may both exist
        data = each.user_data
        if data["length"] == (None if each.steps is None else len(each.steps)):
            parts.setdefault(data["segment"], each)
    if 0 not in parts or len(parts) < parts[0].user_data["segments"]:
        return None
    return _whole([parts[number] for number in range(len(parts))])


def _whole(parts: Sequence[Annotation]) -> Response:
    first, data = parts[0], parts[0].user_data
    try:
        query = Query(
            kind=data["kind"],
            segments=tuple(Segment(each.episode, each.steps) for each in parts),
            question=data["question"],
            strategy=data["strategy"],
            parameters=data["parameters"],
        )
        return Response(
            query=query,
            answer=from_plain(data["kind"], data["answer"]),
            annotator=first.source,
            confidence=first.confidence,
            id=uuid.UUID(data["response"]),
            time_ns=first.time_ns,
            annotations=tuple(each.id for each in parts),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise FormatError(f"annotation {first.id}: no valid response: {error}; its writer was at fault") from error
