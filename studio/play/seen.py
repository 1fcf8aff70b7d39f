"""What a person saw, and when, by their browser's word; recorded with the step that they did next.

Pictures ahead are shown before the server has done the step. What is recorded tells them from true ones, and whether
they came true. The field is `trial_clock`: measured times are in no content digest, so a recording with pictures ahead
has the digest of one without.
"""

from dataclasses import dataclass, field, replace
from typing import Any, Final

_REMEMBERED: Final = 64
"""Steps of which it is known when they were seen."""


@dataclass(frozen=True, slots=True)
class Sight:
    """Of the picture of a step.

    Attributes:
      ahead_ns: when it was shown ahead, on the person's own clock; None: it was not.
      painted_ns: when the true one was painted, likewise.
      action: that was shown ahead.
      done: the action that was done, and whether the picture ahead of it is equal to the true one; None: not known yet.
    """

    ahead_ns: int | None = None
    painted_ns: int | None = None
    action: int | None = None
    done: tuple[int, bool] | None = None

    @property
    def came_true(self) -> bool | None:
        """Whether what was shown ahead is what came; None: nothing was, or the step is not done."""
        return None if self.ahead_ns is None or self.done is None else self.done == (self.action, True)

    def as_facts(self) -> dict[str, Any]:
        """For the recording: what is not known is left out."""
        facts: dict[str, Any] = {"shown_ahead": self.ahead_ns is not None}
        first = self.painted_ns if self.ahead_ns is None else self.ahead_ns
        if first is None:
            return {}
        facts["painted_ns"] = first
        if self.ahead_ns is not None and self.painted_ns is not None:
            facts["confirmed_ns"] = self.painted_ns
        if self.came_true is not None:
            facts["came_true"] = self.came_true
        return facts


@dataclass(slots=True)
class Seen:
    """What the person of a window saw.

    Attributes:
      ahead: how many steps were shown ahead.
      wrong: how many of these were shown in another way than they came.

    >>> seen = Seen()
    >>> seen.shown_ahead(0, 1, 2, 1_000)
    >>> seen.done(0, 1, 2, is_equal=True)
    >>> seen.painted(0, 1, 3_000)
    >>> seen.of(0, 1)
    {'shown_ahead': True, 'painted_ns': 1000, 'confirmed_ns': 3000, 'came_true': True}
    """

    ahead: int = 0
    wrong: int = 0
    _steps: dict[tuple[int, int], Sight] = field(default_factory=dict)

    def _at(self, episode: int, step: int) -> Sight:
        return self._steps.get((episode, step), Sight())

    def _note(self, episode: int, step: int, sight: Sight) -> None:
        before = self._steps.pop((episode, step), Sight())
        self.wrong += sight.came_true is False and before.came_true is None
        self._steps[episode, step] = sight
        if len(self._steps) > _REMEMBERED:
            del self._steps[next(iter(self._steps))]

    def shown_ahead(self, episode: int, step: int, action: int, time_ns: int) -> None:
        """The picture ahead of an action was shown."""
        before = self._at(episode, step)
        if before.ahead_ns is None:
            self.ahead += 1
            self._note(episode, step, replace(before, ahead_ns=time_ns, action=action))

    def painted(self, episode: int, step: int, time_ns: int | None) -> None:
        """The true picture of a step was painted; again, if the view was changed."""
        before = self._at(episode, step)
        if time_ns is not None and before.painted_ns is None:
            self._note(episode, step, replace(before, painted_ns=time_ns))

    def done(self, episode: int, step: int, action: int, *, is_equal: bool) -> None:
        """A step was done with an action; whether the picture ahead of it is equal to the true one."""
        self._note(episode, step, replace(self._at(episode, step), done=(action, is_equal)))

    def of(self, episode: int, step: int) -> dict[str, Any]:
        """What is recorded of the picture of a step; nothing if the browser did not say when it was seen."""
        return self._at(episode, step).as_facts()
