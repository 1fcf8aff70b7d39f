"""Conditions of patterns: when a pattern is applied."""

import dataclasses
import numbers
from typing import Any

import numpy as np

from rlds_kit.transformations.pattern_path import Path, map_paths


@dataclasses.dataclass(frozen=True, eq=False)
class Condition:
    """A condition for applying a pattern, made from `step_index`, `steps_since_applied`, `is_end_episode` or `data`.

    Attributes:
      quantity: to compare.
      comparison: "==", "!=", "<", "<=", ">" or ">=".
      value: to compare it with.

    >>> Condition.step_index() % 2 == 0
    Condition(quantity=Quantity(kind='step_index', path=(), modulus=2), comparison='==', value=0)
    """

    quantity: "Quantity"
    comparison: str
    value: float

    @staticmethod
    def step_index() -> "Quantity":
        """The number of the newest step in its episode, from 0."""
        return Quantity("step_index")

    @staticmethod
    def steps_since_applied() -> "Quantity":
        """The number of steps since the same config was applied, over all episodes, or since the first step."""
        return Quantity("steps_since_applied")

    @staticmethod
    def is_end_episode() -> "Condition":
        """The newest step has `is_last`."""
        return Condition(Quantity("is_end_episode"), "==", 1)

    @staticmethod
    def data(step_structure: Any) -> Any:
        """The values of the newest step, which must be scalars of numbers or booleans.

        Args:
          step_structure: as for `create_reference_step`.

        Returns:
          The structure, with a quantity to compare at each leaf.
        """
        return map_paths(lambda path: Quantity("data", path), step_structure)

    def __bool__(self) -> bool:
        raise TypeError(
            "a condition is neither true nor false. Give several as a list; do not use `and` or `0 < x < 5`."
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Quantity:
    """A quantity that a condition compares. Comparison operators make a `Condition`; `%` takes the remainder first.

    Attributes:
      kind: "step_index", "steps_since_applied", "is_end_episode" or "data".
      path: leads to the field, for "data".
      modulus: the divisor of the remainder.
    """

    kind: str
    path: Path = ()
    modulus: int | None = None

    def __mod__(self, modulus: int) -> "Quantity":
        is_integer = isinstance(modulus, int | np.integer)
        if not is_integer or modulus <= 0:
            raise ValueError(f"condition on {self.kind} % {modulus!r}: expected a positive integer")
        return dataclasses.replace(self, modulus=modulus)

    def __eq__(self, value: object) -> Condition:  # type: ignore[override]  # it builds a condition
        return self._compare("==", value)

    def __ne__(self, value: object) -> Condition:  # type: ignore[override]  # it builds a condition
        return self._compare("!=", value)

    def __lt__(self, value: float) -> Condition:
        return self._compare("<", value)

    def __le__(self, value: float) -> Condition:
        return self._compare("<=", value)

    def __gt__(self, value: float) -> Condition:
        return self._compare(">", value)

    def __ge__(self, value: float) -> Condition:
        return self._compare(">=", value)

    __hash__ = None  # type: ignore[assignment]  # equality does not compare

    def _compare(self, comparison: str, value: object) -> Condition:
        if isinstance(value, numbers.Integral | np.bool_):
            return Condition(self, comparison, int(value))
        if isinstance(value, numbers.Real):
            return Condition(self, comparison, float(value))
        raise TypeError(f"condition on {self.kind}: expected a number to compare with, got {value!r}")
