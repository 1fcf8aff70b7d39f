"""Tags, notes, rewards and returns of an episode: listed for a page, added, and retracted."""

import math
import uuid
from collections.abc import Iterable, Mapping
from typing import Any, Final

import numpy as np

from rlds_kit import layers
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.base.step import REWARD
from rlds_kit.episode.episode import Episode
from rlds_kit.layers import Annotation, Draft, Kind
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.json_numbers import number
from rlds_kit.studio.replay.collection import Collection
from rlds_kit.studio.replay.library import Admitted

MOST_LABEL: Final = 200
MOST_NOTE: Final = 20_000
_KEYS: Final = {"v", "kind", "text", "value", "steps", "confidence", "replaces"}


def remarks(collection: Collection, episode: uuid.UUID) -> dict[str, Any]:
    """The valid annotations of an episode, in order of time, and problems with reading them."""
    found, problems = _said(collection, collection.episode(episode))
    ordered = sorted(found.values(), key=lambda pair: pair[0].order)
    shown = [_json(each, layer) for each, layer in ordered if _is_shown(each)]
    return {"annotations": shown, "problems": problems}


def labels_of(found: Mapping[str, Any]) -> list[str]:
    """The labels in the result of `remarks`."""
    return sorted({each["value"] for each in found["annotations"] if each["kind"] == Kind.TAG.value})


def add(admitted: Admitted, episode: uuid.UUID, body: Any) -> None:
    """Adds an annotation, and retracts the one that it replaces.

    Args:
      admitted: the person's rights, and where the episode is.
      episode: id of the annotated episode.
      body: the body of the request, see `routes`.

    Raises:
      ApiError: it is invalid, the tag exists already, or the annotation that it replaces is another person's.
    """
    collection = admitted.collection
    about = collection.episode(episode)
    draft, replaced = _draft(about, body), body.get("replaces")
    with collection.annotating:
        found, _ = _said(collection, about)
        gone = None if replaced is None else _own(admitted, found, replaced)
        others = [each for each, _ in found.values() if gone is None or each.id != gone[0].id]
        if draft.kind is Kind.TAG:
            _refuse_again(others, draft)
        if gone is None:
            collection.say(collection.layer, [draft], admitted.source)
        elif gone[1] == collection.layer:  # both or none
            collection.say(collection.layer, [draft, layers.retraction(gone[0].id)], admitted.source)
        else:
            collection.say(collection.layer, [draft], admitted.source)
            collection.say(gone[1], [layers.retraction(gone[0].id)], admitted.source)


def take_back(admitted: Admitted, episode: uuid.UUID, annotation: str) -> None:
    """Retracts an annotation of an episode.

    Raises:
      ApiError: there is none, it is already retracted, or it is another person's.
    """
    collection = admitted.collection
    with collection.annotating:
        found, _ = _said(collection, collection.episode(episode))
        gone, layer = _own(admitted, found, annotation)
        collection.say(layer, [layers.retraction(gone.id)], admitted.source)


def tag_all(admitted: Iterable[tuple[Admitted, uuid.UUID]], label: str) -> set[uuid.UUID]:
    """Adds a tag to whole episodes; returns those that did not have it. For each dataset this is all or nothing.

    Raises:
      ApiError: there is no such episode.
    """
    groups: dict[tuple[int, str], list[tuple[Admitted, Episode]]] = {}
    for each, episode in admitted:
        key = id(each.collection), each.source
        groups.setdefault(key, []).append((each, each.collection.episode(episode)))
    tagged: set[uuid.UUID] = set()
    for group in groups.values():
        collection, source = group[0][0].collection, group[0][0].source
        with collection.annotating:
            drafts = [layers.tag(episode, label) for _, episode in group if not _has(collection, episode, label)]
            if drafts:
                collection.say(collection.layer, drafts, source)
        tagged |= {draft.episode for draft in drafts if draft.episode is not None}
    return tagged


def checked_label(text: Any) -> str:
    """The label of a tag, without surrounding blanks.

    Raises:
      ApiError: it is none.

    >>> checked_label(" crash ")
    'crash'
    """
    label = _text(text).strip()
    if len(label) > MOST_LABEL:
        raise _bad(f"expected a label of at most {MOST_LABEL} characters, got {len(label)}; write a note", "text")
    return label


def _said(collection: Collection, episode: Episode) -> tuple[dict[uuid.UUID, tuple[Annotation, str]], list[str]]:
    """The valid annotations by id, each with its layer; and problems with layers."""
    found: dict[uuid.UUID, tuple[Annotation, str]] = {}
    problems = []
    for layer in collection.layers():
        try:
            found |= {each.id: (each, layer.name) for each in layer.annotations(episode)}
        except (DamagedError, FormatError) as error:
            problems.append(str(error))
    return found, problems


def _is_shown(annotation: Annotation) -> bool:
    """Of amendments, only those of the reward are listed; `as_amended` shows the others."""
    is_plain = annotation.kind in {Kind.TAG, Kind.NOTE, Kind.RETURN}
    return is_plain or (annotation.kind is Kind.FIELD and annotation.field == REWARD)


def _draft(episode: Episode, body: Any) -> Draft:
    if not isinstance(body, dict) or not body.keys() <= _KEYS:
        raise _bad(f"expected an object with some of {', '.join(sorted(_KEYS))}", "")
    steps, sure = _steps(episode, body.get("steps")), _confidence(body.get("confidence"))
    match body.get("kind"):
        case "tag":
            return layers.tag(episode, checked_label(body.get("text")), steps, confidence=sure)
        case "note":
            text = _text(body.get("text"))
            if len(text) > MOST_NOTE:
                raise _bad(f"expected at most {MOST_NOTE} characters, got {len(text)}", "text")
            return layers.note(episode, text, steps, confidence=sure)
        case "reward":
            return layers.reward(episode, _value(body), _acted(episode, steps), confidence=sure)
        case "return":
            if steps is not None:
                raise _bad("a return is of the whole episode; expected null", "steps")
            return layers.episode_return(episode, _value(body), confidence=sure)
    raise _bad(f'expected "tag", "note", "reward" or "return", got {str(body.get("kind"))[:40]!r}', "kind")


def _text(given: Any) -> str:
    if not isinstance(given, str) or not given.strip():
        raise _bad("expected a text that is not empty", "text")
    if "\0" in given or any("\ud800" <= character <= "\udfff" for character in given):
        raise _bad("expected a text without character 0 and halves of surrogate pairs", "text")
    return given


def _value(body: Mapping[str, Any]) -> float:
    given = body.get("value")
    try:
        value = float(given) if isinstance(given, int | float) and not isinstance(given, bool) else math.nan
    except OverflowError:
        value = math.nan
    if not math.isfinite(value):
        raise _bad("expected a finite number", "value")
    return value


def _confidence(given: Any) -> float | None:
    is_number = isinstance(given, int | float) and not isinstance(given, bool)
    if given is not None and not (is_number and 0 <= given <= 1):
        raise _bad("expected a number from 0 to 1", "confidence")
    return None if given is None else float(given)


def _steps(episode: Episode, given: Any) -> range | None:
    match given:
        case None:
            return None
        case [int() as first, int() as end] if not {type(first), type(end)} & {bool}:
            if 0 <= first < end <= episode.length:
                return range(first, end)
            raise _bad(f"expected steps among 0 to {episode.length - 1}, as [first, end] without end", "steps")
    raise _bad("expected null or [first, end]", "steps")


def _acted(episode: Episode, steps: range | None) -> range:
    """Steps that can have a reward."""
    if steps is None:
        raise _bad("expected [first, end]: a reward is of steps; write a return for the whole episode", "steps")
    if episode.is_last(steps.stop - 1):
        raise _bad(f"step {steps.stop - 1} is the last one: nothing was done there, so there is no reward", "steps")
    return steps


def _has(collection: Collection, episode: Episode, label: str) -> bool:
    found, _ = _said(collection, episode)
    return any(each.kind is Kind.TAG and each.value == label and each.steps is None for each, _ in found.values())


def _refuse_again(there: Iterable[Annotation], draft: Draft) -> None:
    """Refuses a label that the episode, or all of the steps, already have."""
    for each in there:
        if each.kind is Kind.TAG and each.value == draft.value and _covers(each.steps, draft.steps):
            message = f"{_about(draft.steps)} the tag {draft.value!r} already; {each.source} added it"
            raise ApiError(409, "duplicate", message, "text")


def _about(steps: range | None) -> str:
    if steps is None:
        return "the episode has"
    return f"step {steps.start} has" if len(steps) == 1 else f"steps {steps.start} to {steps.stop - 1} have"


def _covers(there: range | None, wanted: range | None) -> bool:
    if there is None or wanted is None:
        return there is wanted
    return there.start <= wanted.start and wanted.stop <= there.stop


def _own(
    admitted: Admitted, found: Mapping[uuid.UUID, tuple[Annotation, str]], annotation: Any
) -> tuple[Annotation, str]:
    """An annotation that the person may retract, and its layer."""
    for each, layer in found.values():
        if str(each.id) == annotation:
            if each.source == admitted.source or admitted.can_retract_all:
                return each, layer
            message = f"{each.source} wrote this; only they, or the maker of the study, can take it back"
            raise ApiError(403, "forbidden", message, "annotation")
    message = f"there is no annotation {str(annotation)[:40]}; it may have been retracted"
    raise ApiError(404, "no_annotation", message, "annotation")


def _bad(message: str, where: str) -> ApiError:
    return ApiError(400, "malformed", message, where)


def _json(annotation: Annotation, layer: str) -> dict[str, Any]:
    steps, value = annotation.steps, annotation.value
    return {
        "id": str(annotation.id),
        "kind": "reward" if annotation.kind is Kind.FIELD else annotation.kind.value,
        "steps": None if steps is None else [steps.start, steps.stop],
        "value": value if isinstance(value, str) else _amount(value),
        "source": annotation.source,
        "confidence": annotation.confidence,
        "layer": layer,
        "time_ms": annotation.time_ns // 1_000_000,
    }


def _amount(value: Any) -> Any:  # JSON
    """A number as it is; of one number for each step, their mean."""
    array = np.asarray(value)
    return number(float(array.mean())) if array.dtype.kind in "biuf" and array.size else str(value)
