"""Rules that combine several annotations of one field to one value a step.

For each source, only the latest annotation of a step counts: in this way a source corrects itself. Sources whose
confidence is 0 do not vote. Rules differ in how they combine several sources. They never change stored annotations.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import REWARD
from rlds_kit.layers.annotation import Annotation

Values: TypeAlias = Sequence[Any] | np.ndarray
"""One value for each of some steps."""
Rule: TypeAlias = Callable[[Sequence[Annotation], int], tuple[np.ndarray, Values]]
"""Given the annotations of one field of one episode, in order of time, none of them retracted, and the number of the
episode's steps: the steps that have a value, `[n]` int64 ascending, and their values."""

_NONE: Final = -1
_EXACT: Final = 2**53
"""Float64 represents all integers up to this one."""


def latest(annotations: Sequence[Annotation], length: int) -> tuple[np.ndarray, Values]:
    """The latest annotation of any source. For values of any kind.

    Args:
      annotations: of one field of one episode, in order of time.
      length: steps of the episode; annotations of steps beyond it are ignored.

    Returns:
      `[n]` int64 steps that have a value, and the values.
    """
    winners = _winners(annotations, length)
    confidences = np.array([*(each.confidence for each in annotations), 0.0])
    winner = np.where(confidences[winners] > 0, winners, _NONE).max(axis=0, initial=_NONE)
    steps = np.flatnonzero(winner != _NONE)
    if len(annotations) == 1 and annotations[0].is_stacked and annotations[0].steps is not None:
        return steps, annotations[0].value[steps - annotations[0].steps.start]
    return steps, [_at(annotations[winner[step]], step) for step in steps.tolist()]


def weighted_mean(annotations: Sequence[Annotation], length: int) -> tuple[np.ndarray, Values]:
    """The mean of the sources' values, weighted by confidence: sum(value * confidence) / sum(confidence).

    As Cogment aggregates rewards, in float64. The value of a single source is used exactly.

    Args:
      annotations: of one field of one episode, in order of time; their values are numbers, or arrays of one shape.
      length: steps of the episode; annotations of steps beyond it are ignored.

    Returns:
      `[n]` int64 steps that have a value, and `[n, ...]` float64; other numbers where float64 cannot represent them.

    Raises:
      SpecError: values are not numbers, or have different shapes.
    """
    steps, values, weights = votes(annotations, length)
    mean = (values * (weights / weights.sum(axis=0))).sum(axis=0)
    is_alone = (weights > 0).sum(axis=0) == 1
    alone = np.take_along_axis(values, (weights > 0).argmax(axis=0)[np.newaxis], axis=0)[0]
    found = np.where(is_alone, alone, mean)
    if not _are_rounded(annotations, values):
        return steps, found
    exact = latest(annotations, length)[1]  # of single sources
    return steps, [exact[at] if only else found[at] for at, only in enumerate(is_alone.reshape(-1).tolist())]


def weighted_sum(annotations: Sequence[Annotation], length: int) -> tuple[np.ndarray, Values]:
    """The sum of the sources' values, each times its confidence. Otherwise like `weighted_mean`."""
    steps, values, weights = votes(annotations, length)
    return steps, (values * weights).sum(axis=0)


def votes(annotations: Sequence[Annotation], length: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The value of each source at each step, for custom rules.

    Args:
      annotations: of one field of one episode, in order of time; their values are numbers, or arrays of one shape.
      length: steps of the episode; annotations of steps beyond it are ignored.

    Returns:
      `[n]` int64 steps that some source has annotated; `[sources, n, ...]` float64 values; and confidences that
      broadcast to them, 0 where a source has no annotation. Sources are in alphabetical order.

    Raises:
      SpecError: values are not numbers, or have different shapes.
    """
    sources = _sources(annotations)
    values, weights = np.zeros((len(sources), length, *_shape(annotations))), np.zeros((len(sources), length))
    for each in annotations:  # in order of time: later ones overwrite earlier ones
        span = slice(0, length) if each.steps is None else slice(each.steps.start, each.steps.stop)
        target = values[sources[each.source], span]
        target[...] = _numbers(each)[: len(target)] if each.is_stacked else _numbers(each)
        weights[sources[each.source], span] = each.confidence
    steps = np.flatnonzero((weights > 0).any(axis=0))
    weights = weights[:, steps]
    return steps, values[:, steps], weights.reshape(weights.shape + (1,) * (values.ndim - 2))


def _winners(annotations: Sequence[Annotation], length: int) -> np.ndarray:
    """`[sources, length]`: the index of the latest annotation of each source, -1 if there is none."""
    sources = _sources(annotations)
    winners = np.full((len(sources), length), _NONE)
    for number, each in enumerate(annotations):
        span = slice(None) if each.steps is None else slice(each.steps.start, each.steps.stop)
        winners[sources[each.source], span] = number
    return winners


def _sources(annotations: Sequence[Annotation]) -> dict[str, int]:
    return {name: number for number, name in enumerate(sorted({each.source for each in annotations}))}


def _at(annotation: Annotation, step: int) -> Any:  # whatever is recorded
    """The value of an annotation at a step."""
    if not annotation.is_stacked or annotation.steps is None:
        return annotation.value
    return annotation.value[step - annotation.steps.start]


def _are_rounded(annotations: Sequence[Annotation], values: np.ndarray) -> bool:
    """Whether there are integers of 64 bits among them that float64, the dtype of `values`, may not represent."""
    have_long = any(np.asarray(each.value).dtype in (np.int64, np.uint64) for each in annotations)
    return bool(have_long and (np.abs(values) >= _EXACT).any())


def _shape(annotations: Sequence[Annotation]) -> tuple[int, ...]:
    shapes = {np.shape(each.value)[each.is_stacked :] for each in annotations}
    if len(shapes) > 1:
        raise SpecError(
            f"{annotations[0].field}: expected values of one shape to combine, got {sorted(shapes)}; give `as_amended` "
            "another rule for the field"
        )
    return shapes.pop() if shapes else ()


def _numbers(annotation: Annotation) -> np.ndarray:
    found = np.asarray(annotation.value)
    if found.dtype.kind not in "biuf":
        raise SpecError(
            f"{annotation.field}: expected numbers to combine, got {annotation.value!r} of {annotation.source}; give "
            "`as_amended` another rule for the field"
        )
    return found


def combined(rule: Rule, annotations: Sequence[Annotation], length: int) -> tuple[np.ndarray, Values]:
    """Combines annotations of one field by a rule. The rule may be the caller's, so its result is checked.

    Raises:
      SpecError: it is not what a rule gives, or the rule cannot combine them.
    """
    made: Any = rule(annotations, length)
    if isinstance(made, tuple) and len(made) == 2:
        steps, values = np.asarray(made[0]), made[1]
        if not steps.size:
            return np.empty(0, np.int64), values
        is_ascending = steps.ndim == 1 and steps.dtype.kind in "iu" and (np.diff(steps.astype(np.int64)) > 0).all()
        if is_ascending and steps[0] >= 0 and steps[-1] < length and len(values) == len(steps):
            return steps.astype(np.int64), values
    field = annotations[0].field if annotations else "a field"
    raise SpecError(
        f"{field}: expected of the rule {rule!r} ascending steps from 0 to {length - 1} and one value for each, got "
        f"{made!r}"
    )


RULES: Final[dict[str, Rule]] = {REWARD: weighted_mean}
"""The default rules of fields for which it is not `latest`."""
