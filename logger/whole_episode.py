"""Converts the arrays of a whole episode to the two sides of its rows, and checks that their lengths agree."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import ACTION, DISCOUNT, INFO, OBSERVATION, REWARD
from rlds_kit.episode.array_ends import NEXT, OBSERVATIONS, are_alike, broken_after
from rlds_kit.logger.batch_fields import as_array
from rlds_kit.storage.array_rows import ArrayRows, Nest, value_at


class _Missing:
    """The type of a placeholder for a missing observation."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()
"""The placeholder for the observation of a last step that has none."""
NAMES: Final = {
    OBSERVATIONS: OBSERVATION,
    "actions": ACTION,
    "rewards": REWARD,
    "discounts": DISCOUNT,
    "infos": INFO,
}
"""The fields of a step that hold the values of an episode."""


def sides(
    observations: Nest, observed: Mapping[str, object], acted: Mapping[str, object]
) -> tuple[ArrayRows, ArrayRows]:
    """The two sides of an episode.

    Args:
      observations: the final one included, if there is one; from `all_observations`.
      observed: other fields of the observations, which may lack a value for the final one.
      acted: the fields of the actions, "actions" among them.

    Raises:
      SpecError: a value is no array or list, or lengths do not agree; the message lists all problems.
    """
    steps = length_of(OBSERVATIONS, observations)
    others, done = ({name: as_array(values) for name, values in each.items()} for each in (observed, acted))
    counts, others_counts = (
        {name: length_of(name, values) for name, values in each.items()} for each in (done, others)
    )
    actions = counts["actions"]
    is_whole = steps > 0 and actions in (steps - 1, steps) and set(counts.values()) == {actions}
    if not is_whole or not {*others_counts.values()} <= {steps, actions}:
        counted = ", ".join(f"{count} {name}" for each in (counts, others_counts) for name, count in each.items())
        raise SpecError(
            "expected n actions, rewards and other results of actions, and n + 1 observations, or n where the final "
            f"one is missing; got {steps} observations, {counted}"
        )
    observed_fields = {OBSERVATION: observations, **{NAMES.get(name, name): each for name, each in others.items()}}
    acted_fields = {NAMES.get(name, name): each for name, each in done.items()}
    return ArrayRows(observed_fields, steps), ArrayRows(acted_fields, actions)


def all_observations(observations: object, following: object, final: object) -> Nest:
    """The observations of an episode, as far as they are known.

    Args:
      observations: before each action; or these and the final one.
      following: after each action; None: not given.
      final: after the last action; MISSING: not given.

    Raises:
      SpecError: they contradict each other.

    >>> all_observations(np.arange(2), np.arange(1, 3), MISSING), all_observations(["a"], None, "b")
    (array([0, 1, 2]), ['a', 'b'])
    """
    found = as_array(observations)
    if following is not None:
        after = as_array(following)
        if final is not MISSING or not are_alike(found, after):
            raise SpecError(
                f"{NEXT}: expected arrays of the names, dtypes and shapes of {OBSERVATIONS}, n of each, and no "
                "final_observation"
            )
        count = length_of(NEXT, after)
        broken = np.flatnonzero(broken_after(found, after, count))
        if len(broken):
            raise SpecError(
                f"{NEXT}: expected the observation of step {broken[0] + 1} after the action of step {broken[0]}, got "
                "another one; if these are several episodes, rlds_kit.logger.write_arrays finds where they end"
            )
        return _with(found, value_at(after, count - 1)) if count else found
    return found if final is MISSING else _with(found, final)


def _with(values: Nest, final: Any) -> Nest:
    """A column with one value appended."""
    if isinstance(values, dict) and isinstance(final, Mapping) and values.keys() == final.keys():
        return {name: _with(each, final[name]) for name, each in values.items()}
    if isinstance(values, tuple) and isinstance(final, tuple) and len(values) == len(final):
        return tuple(_with(each, one) for each, one in zip(values, final, strict=True))
    if isinstance(values, np.ndarray):
        last = np.asarray(final)
        if (last.dtype, last.shape) == (values.dtype, values.shape[1:]):
            return np.concatenate([values, last[np.newaxis]])
    return [*(value_at(values, row) for row in range(length_of(OBSERVATIONS, values))), final]


def length_of(name: str, values: Nest) -> int:
    """The number of steps that a column has values for.

    Raises:
      SpecError: it is no array, list or nest of them, or their lengths differ.

    >>> length_of("observations", {"x": [1, 2], "y": np.zeros((3, 2))})
    Traceback (most recent call last):
    rlds_kit.base.errors.SpecError: observations: expected one length, got 2 in observations/x, 3 in observations/y
    """
    lengths = dict(_lengths(name, values))
    if len(set(lengths.values())) > 1:
        counted = ", ".join(f"{length} in {place}" for place, length in lengths.items())
        raise SpecError(f"{name}: expected one length, got {counted}")
    return next(iter(lengths.values()))


def _lengths(place: str, values: Nest) -> Iterator[tuple[str, int]]:
    if isinstance(values, dict | tuple) and values:
        for key, each in values.items() if isinstance(values, dict) else enumerate(values):
            yield from _lengths(f"{place}/{key}", each)
    elif isinstance(values, list) or (isinstance(values, np.ndarray) and values.ndim):
        yield place, len(values)
    else:
        got = f"{values.dtype} ()" if isinstance(values, np.ndarray) else f"{type(values).__name__} {values!r}"[:60]
        raise SpecError(
            f"{place}: expected an array or a list of one value for each step, or a dict or tuple of these, got {got}"
        )


def last_flag(name: str, flags: object, actions: int) -> bool:
    """Whether a flag is set after the last action.

    Args:
      name: for errors.
      flags: of the last step, or `[actions]` of all.
      actions: their number.

    Raises:
      SpecError: a flag before the last one is set, or their number is wrong.

    >>> last_flag("terminated", [False, True], 2), last_flag("truncated", False, 2)
    (True, False)
    """
    found = np.asarray(as_array(flags))
    if found.dtype != np.bool_ and not np.isin(found, (0, 1)).all():
        raise SpecError(f"{name}: expected a truth value, or one for each action, got {flags!r}"[:200])
    if not found.ndim:
        return bool(found)
    if found.shape != (actions,):
        raise SpecError(f"{name}: expected one flag, or one for each of {actions} actions, got {found.shape}")
    early = np.flatnonzero(found[:-1])
    if len(early):
        raise SpecError(
            f"{name}: expected it after the last action only, got it after the one of step {early[0]}; if these are "
            "several episodes, rlds_kit.logger.write_arrays finds where they end"
        )
    return bool(actions and found[-1])
