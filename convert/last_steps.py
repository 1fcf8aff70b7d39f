"""The values of the last step of an RLDS episode, and the end of the episode.

RLDS says of a step with `is_last` that its action, reward and discount are meaningless
(https://github.com/google-research/rlds#dataset-format). Not all data follow that: in Open X-Embodiment, and where an
episode of D4RL timed out, the last step has a real action and reward, and the observation after it was not recorded.
These rules decide. Without `is_last` on it, the last step has an action. Otherwise, if the actions and rewards of the
last steps are zeros in all episodes that ended in the same way, they count as undefined: nothing is lost by that,
because undefined values are read as zeros. Other values are preserved, as the action of an episode that lacks its final
observation.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rlds_kit.base.step import ACTION, IS_FIRST, IS_LAST, IS_TERMINAL, REWARD, EpisodeEnd

OBSERVATION_VALID: Final = "observation_valid"
"""A field of steps that this library exports: false on the last one where the final observation is missing."""
END: Final = "end"
"""Episode metadata that this library exports."""


@dataclass(frozen=True)
class Flags:
    """The flags of an episode's steps that determine its end.

    Attributes:
      is_last: of the last step; True where the data have no such flag.
      is_terminal: of the last step; None where the data have no such flag.
      lacks_observation: whether a flag marks the last step as without observation.
      has_validity: whether `observation_valid` exists and marks only the last step.
      odd: flags that are also set on other steps than the first and the last, by name; they remain fields.
    """

    is_last: bool
    is_terminal: bool | None
    lacks_observation: bool
    has_validity: bool
    odd: Mapping[str, np.ndarray]


def read_flags(columns: Mapping[str, Any], steps: int) -> Flags:
    """Reads the flags of an episode of at least one step.

    Args:
      columns: the columns of its steps by path, flags among them.
      steps: number of steps.
    """
    last = columns.get(IS_LAST)
    terminal = columns.get(IS_TERMINAL)
    is_last = True if last is None else bool(last[-1])
    valid = columns.get(OBSERVATION_VALID)
    has_validity = valid is not None and bool(np.all(valid[:-1])) and (steps > 1 or bool(valid[-1]))
    lacks = has_validity and valid is not None and not valid[-1]
    is_terminal = None if terminal is None else bool(terminal[-1])
    expected = {
        IS_FIRST: np.arange(steps) == 0,
        IS_LAST: (np.arange(steps) == steps - 1) & (is_last or bool(is_terminal)),
        IS_TERMINAL: (np.arange(steps) == steps - 1) & bool(is_terminal),
    }
    odd = {name: columns[name] for name, each in expected.items() if name in columns and np.any(columns[name] != each)}
    return Flags(is_last, is_terminal, lacks, has_validity, odd)


def ending(flags: Flags, metadata: Mapping[str, Any]) -> EpisodeEnd:
    """The end of an episode: INTERRUPTED if no flag states that the environment ended it.

    Args:
      flags: of its last step.
      metadata: of the episode; exports of this library store the end there.

    >>> flags = Flags(is_last=True, is_terminal=False, lacks_observation=False, has_validity=False, odd={})
    >>> ending(flags, {}).name, ending(flags, {"end": "interrupted"}).name
    ('TRUNCATED', 'INTERRUPTED')
    """
    if flags.is_terminal:
        return EpisodeEnd.TERMINATED
    stored = metadata.get(END)
    stored = stored.decode(errors="replace") if isinstance(stored, bytes) else stored
    if stored in (EpisodeEnd.INTERRUPTED.value, EpisodeEnd.INCOMPLETE.value):
        return EpisodeEnd.INTERRUPTED
    return EpisodeEnd.TRUNCATED if flags.is_last and flags.is_terminal is not None else EpisodeEnd.INTERRUPTED


class LastSteps:
    """Determines whether the last steps of a dataset have actions. Add all episodes before the result is used."""

    def __init__(self) -> None:
        self._acted: set[bool | None] = set()

    def add(self, flags: Flags, columns: Mapping[str, Any]) -> None:
        """Adds the last step of an episode.

        Args:
          flags: of the episode.
          columns: of its actions and rewards, by path.
        """
        if flags.is_last and not flags.lacks_observation and any(_is_something(each[-1]) for each in columns.values()):
            self._acted.add(flags.is_terminal)

    def have_an_action(self, flags: Flags) -> bool:
        """Whether the last step of an episode has an action."""
        if flags.lacks_observation:
            return False
        return not flags.is_last or flags.is_terminal in self._acted

    @property
    def described(self) -> dict[str, str]:
        """Whether last steps have actions, by whether they are terminal: text for the metadata of the dataset."""
        names = {True: "terminal", False: "not terminal", None: "not known to be terminal"}
        return {name: "an action" if kind in self._acted else "no action" for kind, name in names.items()}


def acted_fields(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns of actions and rewards."""
    return {path: each for path, each in columns.items() if path.partition("/")[0] in (ACTION, REWARD)}


def _is_something(value: Any) -> bool:
    """Whether a value has an element that is not zero or empty."""
    match value:
        case str() | bytes():
            return bool(value)
        case tuple():
            return any(_is_something(each) for each in value)
    return any(np.asarray(value).tobytes())
