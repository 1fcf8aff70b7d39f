"""The kinds of answers of a person, or a program, about recorded segments."""

import enum
import math
import uuid
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Final, TypeAlias

import numpy as np


class Choice(enum.Enum):
    """Which of two segments is better."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"
    """Both are equally good."""
    CANNOT_SAY = "cannot say"
    """The annotator does not know; this is not a tie."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Which of two segments is better.

    >>> Comparison(Choice.TIE).choice
    <Choice.TIE: 'tie'>
    """

    KIND: ClassVar[str] = "comparison"
    choice: Choice

    def __post_init__(self) -> None:
        if not isinstance(self.choice, Choice):
            raise ValueError(f"comparison: expected a Choice, got {self.choice!r}")  # noqa: TRY004

    def fits(self, segments: int) -> bool:
        """Whether it can answer a query about so many segments."""
        return segments == 2


@dataclass(frozen=True, slots=True)
class Ranking:
    """The order of several segments.

    Attributes:
      ranks: of each segment: 1 is the best, equal ranks are ties, None: cannot say.

    Raises:
      ValueError: a rank is below 1, or no whole number.

    >>> Ranking((2, 1, 1, None)).ranks
    (2, 1, 1, None)
    """

    KIND: ClassVar[str] = "ranking"
    ranks: tuple[int | None, ...]

    def __post_init__(self) -> None:
        ranks: tuple[Any, ...] = tuple(self.ranks)
        object.__setattr__(self, "ranks", ranks)
        if any(rank is not None and not (isinstance(rank, int | np.integer) and rank >= 1) for rank in ranks):
            raise ValueError(f"ranking: expected ranks from 1 on, or None for segments without one, got {self.ranks}")

    def fits(self, segments: int) -> bool:
        """Whether it can answer a query about so many segments."""
        return segments == len(self.ranks)


@dataclass(frozen=True, slots=True)
class Rating:
    """How good one segment is, usually a whole episode.

    Attributes:
      value: on the scale; None: cannot say.
      low: the worst value of the scale.
      high: the best one.

    Raises:
      ValueError: the value is not on the scale, or the scale is not one.

    >>> Rating(4.0, low=1, high=5).value
    4.0
    """

    KIND: ClassVar[str] = "rating"
    value: float | None
    low: float
    high: float

    def __post_init__(self) -> None:
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            raise ValueError(f"rating: expected a scale from a number to a higher one, got {self.low} to {self.high}")
        if self.value is not None and not self.low <= self.value <= self.high:
            raise ValueError(f"rating: expected a value from {self.low} to {self.high}, or None, got {self.value!r}")

    def fits(self, segments: int) -> bool:
        """Whether it can answer a query about so many segments."""
        return segments == 1


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    """Better actions from a step of the segment on.

    Attributes:
      step: counted from the start of the segment.
      actions: `[n, ...]`, which replace those from `step` on; None: they are only in `played`.
      played: id of the recorded episode in which the annotator continued from that step; None: there is none.

    Raises:
      ValueError: the step is negative, or there are neither actions nor an episode.
    """

    KIND: ClassVar[str] = "correction"
    step: int
    actions: np.ndarray[Any, Any] | None = None
    played: uuid.UUID | None = None

    def __post_init__(self) -> None:
        if self.step < 0:
            raise ValueError(f"correction: expected a step of the segment, from 0 on, got {self.step}")
        if self.actions is not None:
            object.__setattr__(self, "actions", np.asarray(self.actions))
        if self.actions is None and self.played is None:
            raise ValueError("correction: expected actions, or the id of the episode that was played, got neither")

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Correction):
            return NotImplemented
        return (self.step, self.played, _bits(self.actions)) == (other.step, other.played, _bits(other.actions))

    def __hash__(self) -> int:
        return hash((self.step, self.played, _bits(self.actions)))

    def fits(self, segments: int) -> bool:
        """Whether it can answer a query about so many segments."""
        return segments == 1


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The segment shows how the task should be done.

    Attributes:
      task: description of the demonstration; may be empty.
    """

    KIND: ClassVar[str] = "demonstration"
    task: str = ""

    def fits(self, segments: int) -> bool:
        """Whether it can answer a query about so many segments."""
        return segments == 1


@dataclass(frozen=True, slots=True)
class Remark:
    """Text about one or several segments.

    Raises:
      ValueError: it is empty.
    """

    KIND: ClassVar[str] = "text"
    text: str

    def __post_init__(self) -> None:
        if not self.text:
            raise ValueError(f"text: expected a text that is not empty, got {self.text!r}")

    def fits(self, segments: int) -> bool:
        """Whether it can answer a query about so many segments."""
        return segments >= 1


@dataclass(frozen=True, slots=True)
class FeatureMark:
    """An important number of the observation.

    Attributes:
      field: its name, or a path into a nest: "observation/speed".
      index: of the number in the array of a step; empty: the whole field.
      weight: its importance; positive is good, negative is bad.
    """

    field: str
    index: tuple[int, ...] = ()
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class PlaceMark:
    """An important rectangle in the picture of a step.

    Attributes:
      step: counted from the start of the segment.
      top, left, height, width: of the rectangle, in pixels of the recorded picture.
      field: of the picture.
      weight: how much, and in which direction: above 0 is good.
      label: of its content; may be empty.
    """

    step: int
    top: int
    left: int
    height: int
    width: int
    field: str = "observation"
    weight: float = 1.0
    label: str = ""


@dataclass(frozen=True, slots=True)
class Marks:
    """Features and places of the picture that are important in a segment.

    Raises:
      ValueError: there is none, or a place has no area or lies before the segment.

    >>> Marks(features=(FeatureMark("observation", (2,)),)).fits(1)
    True
    """

    KIND: ClassVar[str] = "marks"
    features: tuple[FeatureMark, ...] = ()
    places: tuple[PlaceMark, ...] = ()

    def __post_init__(self) -> None:
        if not self.features and not self.places:
            raise ValueError("marks: expected at least one feature or place, got none")
        for place in self.places:
            if min(place.step, place.top, place.left) < 0 or min(place.height, place.width) < 1:
                raise ValueError(f"marks: expected a rectangle of pixels in a step of the segment, got {place}")

    def fits(self, segments: int) -> bool:
        """Whether it can answer a query about so many segments."""
        return segments == 1


Answer: TypeAlias = Comparison | Ranking | Rating | Correction | Demonstration | Remark | Marks
"""An annotator's answer to a query."""

_CLASSES: Final = (Comparison, Ranking, Rating, Correction, Demonstration, Remark, Marks)
KINDS: Final = {each.KIND: each for each in _CLASSES}
"""The classes of answers by the name of their kind."""


def to_plain(answer: Answer) -> dict[str, Any]:
    """The answer in the form that a layer stores: a dict of numbers, text, arrays and tuples.

    >>> to_plain(Comparison(Choice.FIRST))
    {'choice': 'first'}
    """
    return {each.name: _plain(getattr(answer, each.name)) for each in fields(answer)}


def from_plain(kind: str, plain: dict[str, Any]) -> Answer:
    """Restores an answer exactly from the result of `to_plain`.

    Raises:
      ValueError: the kind is unknown, or the fields are not those of its answers.

    >>> from_plain("comparison", {"choice": "cannot say"})
    Comparison(choice=<Choice.CANNOT_SAY: 'cannot say'>)
    """
    if kind not in KINDS:
        raise ValueError(f"expected a kind of answers ({', '.join(KINDS)}), got {kind!r}; a newer version may read it")
    given = dict(plain)
    if kind == Comparison.KIND:
        given["choice"] = Choice(given["choice"])
    elif kind == Correction.KIND and given["played"] is not None:
        given["played"] = uuid.UUID(given["played"])
    elif kind == Marks.KIND:
        given["features"] = tuple(FeatureMark(**each) for each in given["features"])
        given["places"] = tuple(PlaceMark(**each) for each in given["places"])
    try:
        answer: Answer = KINDS[kind](**given)
    except TypeError as error:
        raise ValueError(f"{kind}: expected the fields of such an answer, got {sorted(given)}") from error
    return answer


def _plain(value: Any) -> Any:
    if isinstance(value, enum.Enum):
        return value.value
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, tuple):
        return tuple(_plain(each) for each in value)
    if isinstance(value, FeatureMark | PlaceMark):
        return {each.name: getattr(value, each.name) for each in fields(value)}
    return value


def _bits(array: np.ndarray[Any, Any] | None) -> tuple[str, tuple[int, ...], bytes] | None:
    return None if array is None else (array.dtype.str, array.shape, array.tobytes())
