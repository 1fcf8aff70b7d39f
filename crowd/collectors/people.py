"""What people did in a seat, and not the programs that acted for them."""

from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Any, Final

from rlds_kit.base.step import ACTION, REWARD
from rlds_kit.crowd.collectors.moment import Moment, moment
from rlds_kit.episode.episode import Episode

PLAY: Final = "play"
"""The field of a step that says who acted, with which keys, and what they saw."""
_SEATS, _DRIVER, _HUMAN, _FPS = "seats", "driver", "human", "fps"


def by_people(episode: Episode, seat: str, fps: float | None) -> Iterator[Moment]:
    """The moments of a seat in which its person acted, not a program; time is steps at the rate of the episode."""
    rate = None if fps is None else next(filter(None, map(_rate, episode.steps[:1])), fps)
    for index, (before, after) in enumerate(pairwise(episode.steps)):
        found = of_person(index, before, after, seat, rate)
        if found is not None:
            yield found


def of_person(
    index: int, before: Mapping[str, Any], after: Mapping[str, Any], seat: str, fps: float | None
) -> Moment | None:
    """One action of the person of a seat; None if a program acted, or nothing was done. Arguments as for `moment`.

    >>> played = {"action": 1, "reward": 2.0, "play": {"seats": {"player": {"driver": "policy"}}}}
    >>> of_person(0, played, {}, "player", 60.0) is None
    True
    """
    if _driver(before, seat) not in {None, _HUMAN}:
        return None
    has_agents = any(isinstance(before.get(name), Mapping) for name in (REWARD, ACTION))
    return moment(index, before, after, seat if has_agents else None, fps=fps)


def _rate(step: Mapping[str, Any]) -> float | None:
    """Steps in a second as recorded; None: they are not. In a crowd the rate cannot change during an episode."""
    play = step.get(PLAY)
    found = play.get(_FPS) if isinstance(play, Mapping) else None
    return None if found is None or not float(found) > 0 else float(found)


def _driver(step: Mapping[str, Any], seat: str) -> Any:
    play = step.get(PLAY)  # what the studio records with each action
    seats = play.get(_SEATS) if isinstance(play, Mapping) else None
    return seats[seat].get(_DRIVER) if isinstance(seats, Mapping) and seat in seats else None
