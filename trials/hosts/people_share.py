"""A share of trials with people: a hook that decides which."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any

from rlds_kit.trials.hosts.trial_setup import TrialSetup

WITH_PEOPLE = "with_people"
"""The property of a trial that says whether people are in it."""


class PeopleShare:
    """A hook for `TrialHost` that puts people into a share of the trials, spread evenly.

    Of any n trials in a row that began while people were available, the share times n have people, give or take one.

    Args:
      share: of trials with people, 0 to 1.
      people: by seat, the actor that is a person, in place of the one in the setup.
      is_available: whether people could play now; trials that begin while they cannot are not counted.

    Raises:
      ValueError: the share is not a number from 0 to 1.

    >>> share = PeopleShare(0.25, {"player": "remote"})
    >>> [share.next() for _ in range(8)]
    [False, False, False, True, False, False, False, True]
    """

    def __init__(
        self, share: float, people: Mapping[str, Any], is_available: Callable[[], bool] = lambda: True
    ) -> None:
        if not 0 <= share <= 1:
            raise ValueError(f"expected a share of 0 to 1, got {share}")
        self._share, self._people, self._is_available = share, dict(people), is_available
        self._count = 0

    def next(self) -> bool:
        """Whether the next trial has people."""
        if not self._is_available():
            return False
        before, self._count = self._count, self._count + 1
        return math.floor(self._count * self._share) > math.floor(before * self._share)

    async def __call__(self, setup: TrialSetup) -> TrialSetup:
        """The setup with people in their seats, if it is their turn; the property `with_people` says so."""
        is_theirs = self.next()
        actors = {**setup.actors, **self._people} if is_theirs else setup.actors
        return dataclasses.replace(setup, actors=actors, properties={**setup.properties, WITH_PEOPLE: is_theirs})
