"""The clock of steps: the time at which each step was shown, without pauses."""

import enum
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from typing import Final, NamedTuple, Self

from rlds_kit.shaping.feedback.event import whole


class MarkKind(enum.IntEnum):
    """The kind of a mark. The numbers are stored.

    >>> MarkKind(0).name
    'STEP'
    """

    STEP = 0
    """A step becomes visible; the one before it ends."""
    PAUSE = 1
    """The game stops."""
    RESUME = 2
    """The game continues."""
    END = 3
    """The last step ends, and with it the episode."""


class Mark(NamedTuple):
    """A mark of the clock.

    Attributes:
      kind: of the mark.
      time_ns: on the host's monotonic clock, in nanoseconds.
    """

    kind: MarkKind
    time_ns: int


class StepClock:
    """The marks of an episode: when its steps began, its pauses, its end. Marks are only added.

    *Played time* is the time of the clock without pauses. Step i is shown from its mark to that of step i + 1, or to
    the end. The number of marks at an earlier moment gives the state of the clock at that moment, so that a calculation
    after the episode has the same result as during the episode.

    Args:
      marks: in order.

    Raises:
      ValueError: as for `add`.

    >>> clock = StepClock()
    >>> clock.add(Mark(MarkKind.STEP, 100))
    >>> clock.add(Mark(MarkKind.PAUSE, 150))
    >>> clock.add(Mark(MarkKind.RESUME, 950))
    >>> clock.add(Mark(MarkKind.STEP, 1000))
    >>> clock.n_steps, clock.played(1020), clock.played(1020) - clock.played(120)
    (2, 220, 100)
    """

    def __init__(self, marks: Iterable[Mark] = ()) -> None:
        self._marks: list[Mark] = []
        self._bounds: list[int] = []  # played times at which steps begin, and the last one ends
        self._bound_marks: list[int] = []  # the numbers of these marks
        self._pauses: list[tuple[int, int]] = []  # time of a pause, and the played time there
        self._pause_marks: list[int] = []
        self._resumes: list[int] = []
        self._n_steps = 0
        for each in marks:
            self.add(each)

    def __len__(self) -> int:
        """The number of marks."""
        return len(self._marks)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StepClock) and self._marks == other._marks

    __hash__ = None  # type: ignore[assignment]  # a clock changes

    def __copy__(self) -> Self:
        return type(self)(self._marks)

    @property
    def marks(self) -> tuple[Mark, ...]:
        """All marks, in order."""
        return tuple(self._marks)

    @property
    def n_steps(self) -> int:
        """The number of steps that began."""
        return self._n_steps

    @property
    def is_paused(self) -> bool:
        """Whether the game is paused."""
        return len(self._pauses) > len(self._resumes)

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended."""
        return bool(self._marks) and self._marks[-1].kind is MarkKind.END

    def add(self, mark: Mark) -> None:
        """Adds a mark.

        Raises:
          TypeError: its time is no integer.
          ValueError: its time is before that of the latest mark, the episode is over, or a pause does not fit.
        """
        mark = Mark(MarkKind(mark.kind), whole("time_ns", mark.time_ns))
        self._require(mark)
        number = len(self._marks)
        self._marks.append(mark)
        match mark.kind:
            case MarkKind.PAUSE:
                self._pauses.append((mark.time_ns, self.played(mark.time_ns, number)))
                self._pause_marks.append(number)
            case MarkKind.RESUME:
                self._resumes.append(mark.time_ns)
            case MarkKind.STEP | MarkKind.END:
                self._bounds.append(self.played(mark.time_ns))
                self._bound_marks.append(number)
                self._n_steps += mark.kind is MarkKind.STEP

    def played(self, time_ns: int, marks: int | None = None) -> int:
        """The played time at a time, in nanoseconds since the clock's zero.

        Args:
          time_ns: on the host's monotonic clock.
          marks: as many of the first marks count; None: all.
        """
        n_pauses = len(self._pauses) if marks is None else bisect_left(self._pause_marks, marks)
        at = bisect_right(self._pauses, time_ns, hi=n_pauses, key=lambda pause: pause[0]) - 1
        if at < 0:
            return time_ns
        resumed = self._resumed(at, marks)
        _, played = self._pauses[at]
        return played if resumed is None or time_ns < resumed else played + time_ns - resumed

    def bounds(self, marks: int | None = None) -> tuple[list[int], bool]:
        """The played times at which steps begin.

        Args:
          marks: as many of the first marks count; None: all.

        Returns:
          The begin of each step and, if the episode is over, the end of the last one; and whether it is over.
        """
        count = len(self._bounds) if marks is None else bisect_left(self._bound_marks, marks)
        return self._bounds[:count], count > self._n_steps

    def _resumed(self, pause: int, marks: int | None) -> int | None:
        """The end of a pause, according to the first marks."""
        is_known = pause < len(self._resumes) and (marks is None or self._pause_marks[pause] + 1 < marks)
        return self._resumes[pause] if is_known else None

    def _require(self, mark: Mark) -> None:
        if self._marks and mark.time_ns < self._marks[-1].time_ns:
            raise ValueError(
                f"mark {len(self._marks)}: expected a time from {self._marks[-1].time_ns} ns on, got {mark.time_ns} "
                "ns; use a monotonic clock, such as time.monotonic_ns, and not that of the calendar"
            )
        if self.is_over:
            raise ValueError(f"mark {len(self._marks)}: expected none after the end, got {mark}; begin another clock")
        expected = _ALLOWED_IN_PAUSE if self.is_paused else _ALLOWED
        if mark.kind not in expected:
            names = ", ".join(each.name for each in expected)
            state = "during a pause" if self.is_paused else "while the game goes on"
            raise ValueError(f"mark {len(self._marks)}: expected one of {names} {state}, got {mark.kind.name}")


_ALLOWED: Final = (MarkKind.STEP, MarkKind.PAUSE, MarkKind.END)
_ALLOWED_IN_PAUSE: Final = (MarkKind.RESUME, MarkKind.END)
