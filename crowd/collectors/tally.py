"""The values of several collectors, for the episode and for the whole session, after every moment."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from rlds_kit.crowd.collectors.collector import Collector, Count
from rlds_kit.crowd.collectors.moment import Moment


@dataclass(frozen=True, slots=True)
class Values:
    """Values by name of the collector.

    Attributes:
      episode: since the episode began.
      session: since the session began, over all of its episodes.
    """

    episode: dict[str, float]
    session: dict[str, float]


class Tally:
    """Counts one agent's play, live or of recordings: the same moments give the same values.

    Args:
      collectors: with names of their own.

    Raises:
      ValueError: two have the same name.

    >>> from rlds_kit.crowd.collectors import SCORE, moments
    >>> tally = Tally([SCORE])
    >>> for _ in range(2):
    ...     tally.begin_episode()
    ...     values = tally.add_all(moments([{"reward": 1.0}, {"reward": 2.0}, {}]))
    >>> values
    Values(episode={'score': 3.0}, session={'score': 6.0})
    """

    def __init__(self, collectors: Sequence[Collector]) -> None:
        names = [each.name for each in collectors]
        if len(set(names)) < len(names):
            raise ValueError(f"expected collectors with names of their own, got {', '.join(names)}")
        self._collectors: Final = tuple(collectors)
        self._session = self._begin()
        self.begin_episode()
        self._session_values = dict.fromkeys(names, 0.0)

    @property
    def values(self) -> Values:
        """The values so far."""
        return Values(dict(self._episode_values), dict(self._session_values))

    def begin_episode(self) -> None:
        """Begins an episode: its values are 0; those of the session go on."""
        self._episode = self._begin()
        self._episode_values = dict.fromkeys(self._episode, 0.0)

    def add(self, moment: Moment) -> Values:
        """Counts a moment, and returns the values after it."""
        self._episode_values = {name: count(moment) for name, count in self._episode.items()}
        self._session_values = {name: count(moment) for name, count in self._session.items()}
        return self.values

    def add_all(self, moments: Iterable[Moment]) -> Values:
        """Counts several, and returns the values after the last."""
        for each in moments:
            self.add(each)
        return self.values

    def _begin(self) -> dict[str, Count]:
        return {each.name: each.begin() for each in self._collectors}
