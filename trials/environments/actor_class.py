"""What an actor of a kind observes and does."""

import re
from dataclasses import dataclass
from typing import Any

import gymnasium


@dataclass(frozen=True, slots=True)
class ActorClass:
    """An observation space and an action space, with a name.

    Attributes:
      name: of the class; rewards and messages for "name.*" are for all seats of the class.
      observation_space: of what such an actor observes.
      action_space: of what it may do.
      is_optional: whether such an actor may do nothing: then None is an action, too.
    """

    name: str
    observation_space: gymnasium.Space[Any]
    action_space: gymnasium.Space[Any]
    is_optional: bool = False

    def contains(self, action: Any) -> bool:
        """Whether such an actor may do this."""
        return (action is None and self.is_optional) or bool(self.action_space.contains(action))


def class_name(seat: str) -> str:
    """The class of a seat: its name without a number at the end.

    >>> class_name("archer_0"), class_name("player")
    ('archer', 'player')
    """
    return re.sub(r"[_-]?\d+$", "", seat) or seat
