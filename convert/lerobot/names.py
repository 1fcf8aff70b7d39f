"""Which field of a step a feature of LeRobot is, and back.

LeRobot's features have flat names: `observation.images.top` is `observation["images"]["top"]` here. A frame is a step:
its observation and its action. Names that begin with `next.` are results of that action, so they belong to the same
step: `next.reward` is the reward, and `next.done` states whether the episode ended after it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rlds_kit.base.step import ACTION, FLAGS, OBSERVATION, RECORDED, REWARD

NEXT_REWARD: Final = "next.reward"
DONE: Final = "next.done"
TRUNCATED: Final = "next.truncated"
TIMESTAMP: Final = "timestamp"
TASK: Final = "task"
TASK_INDEX: Final = "task_index"
FRAME_INDEX: Final = "frame_index"
EPISODE_INDEX: Final = "episode_index"
INDEX: Final = "index"
OWN: Final = (TIMESTAMP, FRAME_INDEX, EPISODE_INDEX, INDEX, TASK_INDEX)
"""Features that every dataset has."""
INSTRUCTION: Final = "language_instruction"
"""What RLDS datasets of robots call the task, in a step (Open X-Embodiment) or in its observation."""
PREFIXES: Final = {OBSERVATION: OBSERVATION, ACTION: ACTION, NEXT_REWARD: REWARD}


@dataclass(frozen=True, slots=True)
class Place:
    """The field of a step and the place in its nest that contain a value.

    Attributes:
      field: of the step.
      keys: of dicts, and indexes of tuples, that lead to it.
    """

    field: str
    keys: tuple[str | int, ...] = ()

    @property
    def path(self) -> tuple[str | int, ...]:
        """The field and the keys."""
        return (self.field, *self.keys)

    def __str__(self) -> str:
        return "/".join(map(str, self.path))


TASK_PLACES: Final = (
    Place(TASK),
    Place(INSTRUCTION),
    Place(OBSERVATION, (INSTRUCTION,)),
    Place(OBSERVATION, (f"natural_{INSTRUCTION}",)),
)
"""Where a text stands that becomes LeRobot's task; of several the first."""


def places_of(names: Iterable[str]) -> dict[str, Place]:
    """Finds the places of features: dots in their names nest those of observation, action and reward.

    If a prefix were a value and a nest at once, the names below it stay flat.

    >>> places_of(["observation.images.top", "next.done"])["observation.images.top"]
    Place(field='observation', keys=('images', 'top'))
    """
    found = {}
    names = list(names)
    for prefix, field in PREFIXES.items():
        below = [name for name in names if name.startswith(f"{prefix}.")]
        if prefix in names:
            found[prefix] = Place(field)
            continue
        paths = {name: tuple(name.removeprefix(f"{prefix}.").split(".")) for name in below}
        is_nest = not any(
            path[:length] in paths.values() for path in paths.values() for length in range(1, len(path))
        ) and all(map(all, paths.values()))
        for name, path in paths.items():
            keys = path if is_nest else (".".join(path),)
            found[name] = Place(field, keys)
    for name in names:
        if name not in found:
            field = f"{RECORDED}{name}" if name in (*FLAGS, OBSERVATION, ACTION, REWARD) else name
            found[name] = Place(field)
    return found


def name_of(place: Place, taken: Iterable[str]) -> str:
    """A name of a feature for a value, different from all used names."""
    prefix = NEXT_REWARD if place.field == REWARD else place.field
    name = ".".join((prefix, *map(str, place.keys))).replace("/", "_")
    taken, made, number = set(taken), name, 2
    while made in taken:
        made, number = f"{name}_{number}", number + 1
    return made


def nested(values: Mapping[Place, Any]) -> dict[str, Any]:
    """The nested fields of values by their places; indexes make tuples."""
    root: dict[Any, Any] = {}
    for place, value in values.items():
        *keys, own = place.path
        inner = root
        for key in keys:
            inner = inner.setdefault(key, {})
        inner[own] = value
    return {field: _with_tuples(each) for field, each in root.items()}


def _with_tuples(nest: Any) -> Any:
    if not isinstance(nest, dict):
        return nest
    made = {key: _with_tuples(each) for key, each in nest.items()}
    if made and all(isinstance(key, int) for key in made):
        return tuple(made[key] for key in sorted(made))
    return made
