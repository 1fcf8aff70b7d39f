"""Drafts of annotations, validated as far as possible without the dataset."""

import copy
import math
import uuid
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from rlds_kit.base.arguments import integer
from rlds_kit.base.step import FLAGS, REWARD, STEP_INDEX
from rlds_kit.layers.annotation import Kind
from rlds_kit.layers.layer import Annotated
from rlds_kit.spec import dtypes
from rlds_kit.spec import value as values
from rlds_kit.storage.leaf import field_of

NUMBERS: Final = "biuf"
"""Allowed kinds of dtypes of rewards and returns."""


class AnyEpisode(Annotated, Protocol):
    """An episode, or consecutive steps of one: `rlds_kit.Episode`."""

    @property
    def is_whole(self) -> bool:
        """Whether these are all steps."""


About: TypeAlias = AnyEpisode | uuid.UUID | str
"""An episode, some steps of one (`episode[10:20]`), or the id of one."""
Steps: TypeAlias = int | range | None
"""A step, or consecutive ones; None: the whole argument, which for an id or a whole episode is the episode."""


@dataclass(frozen=True, slots=True)
class Draft:
    """An annotation without source, time and id. Created by the functions of this module.

    Attributes are those of `Annotation`; if `confidence` or `source` is None, that of the writer is used.
    """

    kind: Kind
    episode: uuid.UUID | None
    steps: range | None
    value: Any  # whatever is recorded
    confidence: float | None = None
    field: str = ""
    is_stacked: bool = False
    user_data: Any = None  # whatever is recorded
    digest: bytes = b""
    retracts: uuid.UUID | None = None
    source: str | None = None


def tag(
    episode: About, label: str, steps: Steps = None, *, confidence: float | None = None, user_data: object = None
) -> Draft:
    """Adds a label to an episode, or to steps of it.

    Args:
      episode: the episode, some of its steps, or its id.
      label: any text that is not empty.
      steps: a step, or consecutive ones, counted from the start of `episode`; None: all of it.
      confidence: in [0, 1]; None: that of the writer.
      user_data: anything that can be recorded.

    Raises:
      ValueError: the label is not text, or empty; steps or confidence are invalid.

    >>> tag("6f9619ff-8b86-4d01-b42d-00cf4fc964ff", "crash", steps=range(10, 20)).steps
    range(10, 20)
    """
    return _draft(Kind.TAG, episode, steps, require_text("tag", label), confidence, user_data)


def note(
    episode: About, text: str, steps: Steps = None, *, confidence: float | None = None, user_data: object = None
) -> Draft:
    """Adds a text to an episode, or to steps of it. Arguments and errors as in `tag`.

    >>> note("6f9619ff-8b86-4d01-b42d-00cf4fc964ff", "The arm slipped.", steps=17).value
    'The arm slipped.'
    """
    return _draft(Kind.NOTE, episode, steps, require_text("note", text), confidence, user_data)


def episode_return(episode: About, value: float, *, confidence: float | None = None, user_data: object = None) -> Draft:
    """States what return the whole episode deserves.

    Raises:
      ValueError: it is no finite number; `episode` is a part of one.

    >>> episode_return("6f9619ff-8b86-4d01-b42d-00cf4fc964ff", 12.5).value
    12.5
    """
    _require_numbers(value, "return", ())
    drafted = _draft(Kind.RETURN, episode, None, value, confidence, user_data)
    if drafted.steps is not None:
        raise ValueError("return: expected a whole episode, got some of its steps; give those rewards instead")
    return drafted


def reward(
    episode: About, value: object, steps: Steps = None, *, confidence: float | None = None, user_data: object = None
) -> Draft:
    """Gives a reward to the action of each of some steps.

    Args:
      episode: the episode, some of its steps, or its id.
      value: a finite number, or an array of them if rewards are arrays.
      steps: as for `tag`, but None means every step that has an action.
      confidence: in [0, 1]; None: that of the writer.
      user_data: anything that can be recorded.

    Raises:
      ValueError: the value is not a finite number; steps or confidence are invalid.

    >>> reward("6f9619ff-8b86-4d01-b42d-00cf4fc964ff", -1.0, steps=17, confidence=0.8).field
    'reward'
    """
    return amendment(episode, REWARD, value, steps, confidence=confidence, user_data=user_data)


def rewards(
    episode: About, values: object, first: int = 0, *, confidence: float | None = None, user_data: object = None
) -> Draft:
    """Gives rewards to consecutive steps, one value for each.

    Args:
      episode: the episode, some of its steps, or its id.
      values: `[n, ...]` finite numbers.
      first: the step of the first value, counted from the start of `episode`.
      confidence: in [0, 1]; None: that of the writer.
      user_data: anything that can be recorded.

    Raises:
      ValueError: a value is not a finite number; steps or confidence are invalid.

    >>> rewards("6f9619ff-8b86-4d01-b42d-00cf4fc964ff", [0.0, 0.5, 1.0], first=7).steps
    range(7, 10)
    """
    return amendments(episode, REWARD, values, first, confidence=confidence, user_data=user_data)


def amendment(
    episode: About,
    field: str,
    value: object,
    steps: Steps = None,
    *,
    confidence: float | None = None,
    user_data: object = None,
) -> Draft:
    """Sets the value of a field in each of some steps, whether the field was recorded or not.

    Args:
      episode: the episode, some of its steps, or its id.
      field: its name, or a path into a nest: "info/success".
      value: anything that can be recorded.
      steps: as for `tag`; None means every step, or for a field of the action side every step that has an action.
      confidence: in [0, 1]; None: that of the writer.
      user_data: anything that can be recorded.

    Raises:
      ValueError: the field is a flag; a reward is not finite; steps or confidence are invalid.
      UnsupportedTypeError: the value cannot be recorded.
    """
    _require_field(field)
    if field_of(field) == REWARD:
        _require_numbers(value, field, None)
    values.encode(value, field)
    return _draft(Kind.FIELD, episode, steps, value, confidence, user_data, field)


def amendments(
    episode: About,
    field: str,
    stacked: object,
    first: int = 0,
    *,
    confidence: float | None = None,
    user_data: object = None,
) -> Draft:
    """Sets the values of a field in consecutive steps, one value for each.

    Args:
      episode: the episode, some of its steps, or its id.
      field: its name, or a path into a nest.
      stacked: `[n, ...]` numbers, bools, or text of fixed width.
      first: the step of the first value, counted from the start of `episode`.
      confidence: in [0, 1]; None: that of the writer.
      user_data: anything that can be recorded.

    Raises:
      ValueError: it is not such an array; otherwise as for `amendment`.
      UnsupportedTypeError: it has a dtype that cannot be recorded.
    """
    _require_field(field)
    array = np.asarray(stacked)
    if array.ndim == 0 or not len(array):
        raise ValueError(f"{field}: expected an array of one value for each step, got {stacked!r}")
    if field_of(field) == REWARD:
        _require_numbers(array, field, None)
    dtypes.name_of(array.dtype, field)
    begin = integer("first", first)
    steps = range(begin, begin + len(array))
    return _draft(Kind.FIELD, episode, steps, array, confidence, user_data, field, is_stacked=True)


def retraction(annotation: uuid.UUID | str) -> Draft:
    """Takes an annotation back, for good. It stays in the history.

    Raises:
      ValueError: it is no id.

    >>> retraction("6f9619ff-8b86-4d01-b42d-00cf4fc964ff").kind
    <Kind.RETRACTION: 'retraction'>
    """
    return Draft(Kind.RETRACTION, None, None, None, retracts=_uuid(annotation, "an annotation"))


def require_text(what: str, given: object) -> str:
    """Validates labels, notes and sources: text that is not empty.

    Raises:
      ValueError: it is none.

    >>> require_text("tag", "crash")
    'crash'
    """
    if isinstance(given, str) and given:
        return given
    raise ValueError(f"{what}: expected a text that is not empty, got {given!r}")


def require_confidence(confidence: object) -> None:
    """Validates confidences: numbers in [0, 1].

    Raises:
      ValueError: it is not.

    >>> require_confidence(float("nan"))
    Traceback (most recent call last):
    ...
    ValueError: confidence: expected a number in [0, 1], got nan
    """
    if confidence is None or (isinstance(confidence, float | int | np.number) and 0 <= float(confidence) <= 1):
        return
    raise ValueError(f"confidence: expected a number in [0, 1], got {confidence!r}")


def _draft(
    kind: Kind,
    about: About,
    steps: Steps,
    value: object,
    confidence: float | None,
    user_data: object,
    field: str = "",
    *,
    is_stacked: bool = False,
) -> Draft:
    require_confidence(confidence)
    values.encode(user_data, "user_data")
    value, user_data = copy.deepcopy((value, user_data))  # callers reuse buffers
    own = None if confidence is None else float(confidence)
    if isinstance(about, uuid.UUID | str):
        chosen = _span(steps, None)
        return Draft(kind, _uuid(about, "an episode"), chosen, value, own, field, is_stacked, user_data)
    chosen = None if steps is None and about.is_whole else _span(steps, about.rows)
    return Draft(kind, about.id, chosen, value, own, field, is_stacked, user_data, about.content_digest)


def _span(steps: object, rows: range | None) -> range | None:
    """Converts steps that are counted from the start of a slice to steps of the episode."""
    if steps is None:
        if rows is not None:
            _require_steps(rows)
        return rows
    if isinstance(steps, int | np.integer) and not isinstance(steps, bool):
        steps = range(int(steps), int(steps) + 1)
    if not isinstance(steps, range) or steps.step != 1 or not steps or steps.start < 0:
        raise ValueError(f"steps: expected a step from 0 on, or a range of consecutive ones, got {steps!r}")
    if rows is None:
        return steps
    _require_steps(rows)
    if steps.stop > len(rows):
        raise ValueError(f"steps: expected some of the {len(rows)} steps that are given, got {steps!r}")
    return range(rows.start + steps.start, rows.start + steps.stop)


def _require_steps(rows: range) -> None:
    if not rows:
        raise ValueError(f"steps: expected some, got a part of an episode that has none, {rows.start} to {rows.stop}")


def _uuid(given: uuid.UUID | str, what: str) -> uuid.UUID:
    try:
        return given if isinstance(given, uuid.UUID) else uuid.UUID(given)
    except (ValueError, AttributeError, TypeError) as error:
        raise ValueError(f"expected the id of {what}, a UUID, got {given!r}") from error


def _require_field(field: str) -> None:
    name = field_of(require_text("field", field))
    if name in FLAGS:
        raise ValueError(f"{field}: flags follow from where an episode begins and how it ends, and cannot be amended")
    if name == STEP_INDEX:
        raise ValueError(f"{field}: describes where steps were left out, which only the recording can do")


def _require_numbers(value: object, name: str, shape: tuple[int, ...] | None) -> None:
    if isinstance(value, float) and math.isfinite(value):
        return  # the usual case
    array = np.asarray(value)
    if array.dtype.kind not in NUMBERS or not np.isfinite(array).all() or (shape is not None and array.shape != shape):
        raise ValueError(f"{name}: expected a finite number, got {value!r}; leave out what is not known")
