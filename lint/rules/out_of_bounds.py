"""Values outside the bounds that their spec declares."""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.step import ACTION, DISCOUNT, OBSERVATION, REWARD
from rlds_kit.lint.rule import Check, Hit, Severity, Stretch, rule
from rlds_kit.lint.subject import Leaf, Subject
from rlds_kit.storage.leaf import escape

TOLERANCE: Final = 1e-6
"""Tolerance of floats, relative to the bound: rounding to another width is not an error."""

Bounds = tuple[np.ndarray | None, np.ndarray | None]


class BoundsCheck(Check):
    """Compares leaves with their bounds, if they have any."""

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Gathers the bounds."""
        self._bounds = {
            path: bounds
            for name in self.reads
            if name in subject.spec.fields
            for path, bounds in bounds_of(subject.spec.fields[name], escape(name))
        }
        return ()

    def wants(self, path: str) -> bool:
        """Selects leaves with bounds."""
        return path in self._bounds

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Finds elements outside their bounds."""
        for path, leaf in stretch.leaves.items():
            if path in self._bounds and leaf.kind in "biuf":
                yield from _beyond(stretch, path, leaf, *self._bounds[path])


def bounds_of(spec: specs.Spec, path: str) -> Iterator[tuple[str, Bounds]]:
    """Finds the leaves of a spec that have bounds: yields the path and the bounds of each.

    >>> whole, half = specs.Array((), "uint8", minimum=0, maximum=255), specs.Array((), "int8", minimum=0)
    >>> spec = specs.Dict({"a": whole, "b": half})
    >>> [path for path, _ in bounds_of(spec, "observation")]
    ['observation/b']
    """
    match spec:
        case specs.Array():
            if spec.lowest is not None or spec.highest is not None:
                yield path, (spec.lowest, spec.highest)
        case specs.Dict():
            for key, each in spec.fields.items():
                yield from bounds_of(each, f"{path}/{escape(key)}")
        case specs.Tuple():
            for index, each in enumerate(spec.items):
                yield from bounds_of(each, f"{path}/({index})")
        case specs.Optional():
            yield from bounds_of(spec.spec, path)


def _beyond(stretch: Stretch, path: str, leaf: Leaf, low: np.ndarray | None, high: np.ndarray | None) -> Iterable[Hit]:
    wrong = np.zeros(len(leaf.values), np.bool_)
    for bound, sign in ((low, -1), (high, 1)):
        if bound is not None and _fits(leaf, bound):
            limit = _rounded(bound, sign) if leaf.kind == "f" else bound
            outside = leaf.values < limit if sign < 0 else leaf.values > limit
            wrong |= outside.reshape(len(wrong), -1).any(axis=1)
    if wrong.any():
        first = int(np.argmax(wrong))
        values = leaf.values[first]
        span = f"{values.min():g} to {values.max():g}" if values.size > 1 else f"{values.reshape(-1)[0]:g}"
        message = f"{span} is not within {_text(low)} to {_text(high)}"
        yield Hit(message, stretch.episode.number, int(leaf.rows[first]), path, int(wrong.sum()))


def _rounded(bound: np.ndarray, sign: int) -> np.ndarray:
    """A bound that rounding may pass; what is beyond the largest float is infinite."""
    with np.errstate(over="ignore"):
        limit: np.ndarray = bound + sign * TOLERANCE * np.maximum(1, np.abs(bound))
    return limit


def _fits(leaf: Leaf, bound: np.ndarray) -> bool:
    try:
        return np.broadcast_shapes(leaf.values.shape[1:], bound.shape) == leaf.values.shape[1:]
    except ValueError:  # a shape that was not declared
        return False


def _text(bound: np.ndarray | None) -> str:
    if bound is None:
        return "any"
    return f"{np.min(bound):g}" if np.min(bound) == np.max(bound) else f"({np.min(bound):g} ... {np.max(bound):g})"


@rule("RK306", Severity.ERROR)
class ObservationOutOfBounds(BoundsCheck):
    """An observation is outside the bounds of its spec.

    An element is below the minimum or above the maximum that the dataset itself declares for it. Floats may be off by
    one millionth, which is what rounding does.

    Training code scales by the declared bounds, and a value outside leaves the range that a network or a discretisation
    expects. Either the value is wrong or the space is; rlds_kit refuses such a step when it is recorded, but other
    writers do not check.

    Fix the space of the environment if it is too narrow, else find out where the value comes from.
    """

    reads = (OBSERVATION,)


@rule("RK307", Severity.WARNING)
class ActionOutOfBounds(BoundsCheck):
    """An action is outside the bounds of its spec.

    An element is below the minimum or above the maximum that the dataset itself declares for it.

    What the agent did is data, so rlds_kit records such an action and warns once. Many policies are Gaussian and rely
    on the environment to clip; then the recorded action is not the one that was carried out, and an importance ratio or
    a cloned policy is off. That is why this is a warning.

    Record the action that was carried out, too, for instance as a field that `step_fn` makes, or clip before acting.
    """

    reads = (ACTION,)


@rule("RK308", Severity.ERROR)
class RewardOutOfBounds(BoundsCheck):
    """A reward or a discount is outside its bounds.

    A reward is below the minimum or above the maximum that the dataset declares, or a discount is below 0 or above 1.

    Value functions are bounded by the bounds of rewards (categorical ones, as in C51, need them), and a discount above
    1 makes returns grow without end. Either the number is wrong or the spec is.

    Fix the spec if it is too narrow, else find out where the number comes from: rewards are often scaled or summed over
    skipped frames after the spec was made.
    """

    reads = (REWARD, DISCOUNT)

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Gathers the bounds; discounts have some whether or not the spec states so."""
        yield from super().begin(subject)
        self._bounds.setdefault(DISCOUNT, (np.zeros(()), np.ones(())))
