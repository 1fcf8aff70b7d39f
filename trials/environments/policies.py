"""Programs that act from a seat where no person does.

Others are found through the entry-point group `rlds_kit.studio.policies`: a name, and a function that takes the action
space and a seed, and returns a function from observation to action.
"""

import copy
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, Final

import gymnasium

Policy = Callable[[Any], Any]
MakePolicy = Callable[[gymnasium.Space[Any], int], Policy]
GROUP: Final = "rlds_kit.studio.policies"


def _at_random(space: gymnasium.Space[Any], seed: int) -> Policy:
    own = copy.deepcopy(space)  # the environment's has random numbers of its own
    own.seed(seed)
    return lambda _: own.sample()


_OWN: Final[dict[str, MakePolicy]] = {"random": _at_random}


def policy(name: str) -> MakePolicy:
    """The maker of a policy.

    Raises:
      ValueError: there is none of that name.

    >>> policy("random")(gymnasium.spaces.Discrete(3), 0)(None) in range(3)
    True
    """
    if name in _OWN:
        return _OWN[name]
    found = entry_points(group=GROUP, name=name)
    if not found:
        known = sorted({*_OWN, *(each.name for each in entry_points(group=GROUP))})
        raise ValueError(f"expected one of the policies {', '.join(known)}, got {name!r}")
    make: MakePolicy = next(iter(found)).load()
    return make
