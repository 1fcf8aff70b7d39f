"""Counts while somebody plays, so that they see how far they are; what is paid is counted from the recordings."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from rlds_kit.crowd.collectors import Moment, Tally, collector
from rlds_kit.crowd.collectors.moment import number
from rlds_kit.trials import Driver
from rlds_kit.trials.engine.messages import StepEnvironment
from rlds_kit.trials.workers.requests import Stepped

log = logging.getLogger(__name__)
LIVE: Final = frozenset({"score", "time_played", "active_time"})
"""Collectors that see actions, rewards and times only; others are counted from the recording while somebody plays."""
_SECOND: Final = 1_000_000_000


@dataclass(eq=False)
class Counting:
    """Counts a session; see `play.host.Watch`.

    Args:
      names: by seat, collectors.
      before: by seat, what they counted in earlier sessions of the same assignment.
      fps: steps in a second.
    """

    names: Mapping[str, Sequence[str]]
    before: Mapping[str, Mapping[str, float]]
    fps: float
    _tallies: dict[str, Tally] = field(default_factory=dict)
    _index: int = 0

    def __post_init__(self) -> None:
        for seat, names in self.names.items():
            self._tallies[seat] = Tally([collector(name) for name in names if name in LIVE])

    def begun(self) -> None:
        """An episode has begun."""
        self._index = 0
        for each in self._tallies.values():
            each.begin_episode()

    def stepped(self, doing: StepEnvironment, done: Stepped) -> None:
        """A step was done; what a program did does not count."""
        began, ended = (int(index * _SECOND / self.fps) for index in (self._index, self._index + 1))
        for seat, tally in self._tallies.items():
            facts = doing.facts.get(seat)
            if facts is not None and facts.driver is Driver.HUMAN:
                action, reward = doing.actions.get(seat), number(done.rewards.get(seat))
                tally.add(Moment(self._index, action, reward, {}, {}, began, ended))
        self._index += 1

    def values(self, seat: str) -> dict[str, float]:
        """What is counted of a seat so far, in all sessions of its assignment."""
        before = self.before.get(seat, {})
        return {name: value + before.get(name, 0.0) for name, value in self._tallies[seat].values.session.items()}
