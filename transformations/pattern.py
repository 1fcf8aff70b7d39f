"""Patterns: which values to select from the newest steps of an episode, and when.

They work like those of Reverb's `structured_writer`, with the same names, but do not need Reverb. A pattern receives
steps one by one. `[-1]` is the newest, `[-2]` the one before it.
"""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rlds_kit.transformations.pattern_condition import Condition
from rlds_kit.transformations.pattern_path import Path, leaves, map_paths, place_of


@dataclasses.dataclass(frozen=True)
class PatternNode:
    """A leaf of a pattern: a field of a step, at one of the newest steps or at several.

    Attributes:
      path: leads to the field.
      start: of a slice, counted from the end, so negative; None for a single step.
      stop: of a slice, 0 or negative; the index itself, which is negative, for a single step.
      step: of a slice.

    >>> create_reference_step({"reward": None})["reward"][-3:-1]
    PatternNode(path=('reward',), start=-3, stop=-1, step=1)
    """

    path: Path
    start: int | None
    stop: int
    step: int = 1

    @property
    def history(self) -> int:
        """The number of steps that must have arrived, the newest included."""
        return -(self.stop if self.start is None else self.start)

    @property
    def length(self) -> int | None:
        """The number of steps in the leaf; None for a single step without the dimension of steps."""
        return None if self.start is None else math.ceil((self.stop - self.start) / self.step)

    @property
    def offsets(self) -> range:
        """Distances from the newest step, which is 0: `[-2:]` has -1 and 0."""
        if self.start is None:
            return range(self.stop + 1, self.stop + 2)
        return range(self.start + 1, self.stop + 1, self.step)


@dataclasses.dataclass(frozen=True)
class ReferenceField:
    """A leaf of a reference step. Indexing it makes a leaf of a pattern."""

    path: Path

    __iter__ = None  # else Python would iterate by calling `__getitem__` with 0, 1, ...

    def __getitem__(self, key: object) -> PatternNode:
        """The field at one of the newest steps, or at several.

        Args:
          key: a negative index; or a slice with a negative start, a stop that is negative, 0 or left out, and a
            positive step or none.

        Raises:
          ValueError: the key is something else.
        """
        place = f"pattern of {place_of(self.path)}[{_text_of(key)}]"
        if isinstance(key, slice):
            start, stop, step = key.start, key.stop or 0, 1 if key.step is None else key.step
            if not all(isinstance(number, int) for number in (start, stop, step)) or not start < stop <= 0 < step:
                raise ValueError(
                    f"{place}: expected a slice with a start, from the end, as [-3:], [-3:-1] and [-5::2] are"
                )
            return PatternNode(self.path, start, stop, step)
        if not isinstance(key, int) or key >= 0:
            raise ValueError(
                f"{place}: expected a slice, or a negative index, counted from the newest step, which is [-1]"
            )
        return PatternNode(self.path, None, key)


@dataclasses.dataclass(frozen=True)
class PatternConfig:
    """A pattern and when to apply it. Made by `create_config`.

    Attributes:
      pattern: nest of `PatternNode`, in the structure of the result.
      conditions: all must be true.
      table: not used.
    """

    pattern: Any
    conditions: tuple[Condition, ...] = ()
    table: str = ""

    @property
    def history(self) -> int:
        """The number of steps that must have arrived before the pattern is complete."""
        nodes: list[PatternNode] = leaves(self.pattern)
        return max(node.history for node in nodes)


def create_reference_step(step_structure: Any) -> Any:
    """A placeholder for the newest steps: indexing it makes patterns.

    Args:
      step_structure: a step, or its spec: only the nest of dicts, tuples and lists counts.

    Returns:
      The same nest with a `ReferenceField` at each leaf.

    >>> step = create_reference_step({"observation": {"position": None}, "action": None})
    >>> pattern = {"position": step["observation"]["position"][-2], "actions": step["action"][-2:]}
    """
    return map_paths(ReferenceField, step_structure)


def pattern_from_transform(step_structure: Any, transform: Callable[[Any], Any]) -> Any:
    """A pattern, made by a function of a reference step.

    Args:
      step_structure: as for `create_reference_step`.
      transform: from a reference step to a nest of the results of indexing its leaves.

    >>> pattern_from_transform({"action": None}, lambda step: {"last_two": step["action"][-2:]})
    {'last_two': PatternNode(path=('action',), start=-2, stop=0, step=1)}
    """
    return transform(create_reference_step(step_structure))


def create_config(pattern: Any, table: str = "", conditions: Sequence[Condition] = ()) -> PatternConfig:
    """A pattern and the conditions under which it is applied. It must also be complete: enough steps have arrived.

    Args:
      pattern: nest of the results of indexing a reference step. Lists become tuples.
      table: a name for Reverb. It is not used here.
      conditions: all must be true.

    Raises:
      ValueError: the pattern is empty.
      TypeError: a leaf of the pattern, or a condition, is something else.

    >>> step = create_reference_step({"action": None})
    >>> config = create_config({"action": step["action"][-1]}, conditions=[Condition.step_index() < 10])
    """
    pattern = _as_tuples(pattern)
    if not leaves(pattern):
        raise ValueError("create_config: expected a pattern with at least one leaf")
    for node in leaves(pattern):
        if not isinstance(node, PatternNode):
            hint = f" Say which steps: {place_of(node.path)}[-1]." if isinstance(node, ReferenceField) else ""
            raise TypeError(f"create_config: expected indexed leaves of a reference step, got {node!r}.{hint}")
    for condition in conditions:
        if not isinstance(condition, Condition):
            raise TypeError(f"create_config: expected conditions, as Condition.step_index() < 10 is, got {condition!r}")
    return PatternConfig(pattern, tuple(conditions), table)


def _as_tuples(structure: Any) -> Any:
    """The structure with tuples in place of lists, which a dataset would convert to tensors."""
    if isinstance(structure, Mapping):
        return {key: _as_tuples(inner) for key, inner in structure.items()}
    if isinstance(structure, tuple | list):
        items = [_as_tuples(inner) for inner in structure]
        return type(structure)(*items) if hasattr(structure, "_fields") else tuple(items)
    return structure


def _text_of(key: object) -> str:
    if not isinstance(key, slice):
        return repr(key)
    return ":".join("" if part is None else str(part) for part in (key.start, key.stop, key.step))
