"""How environments that step together start their next episodes."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import numpy as np
from gymnasium.vector import AutoresetMode, VectorEnv

from rlds_kit.base.errors import SpecError
from rlds_kit.logger.batch_fields import as_array
from rlds_kit.logger.reset_counter import ResetCounters
from rlds_kit.storage.array_form import any_true, native

_FLAG: Final = np.dtype(np.bool_)
"""Compared in a third of the time of `np.bool_`."""


def mode_of(envs: VectorEnv[Any, Any, Any]) -> AutoresetMode:
    """The mode in `envs.metadata["autoreset_mode"]`.

    Raises:
      ValueError: it is missing or unknown, so resets cannot be distinguished from steps.

    >>> import gymnasium
    >>> mode_of(gymnasium.make_vec("CartPole-v1", num_envs=2))
    <AutoresetMode.NEXT_STEP: 'NextStep'>
    """
    known = ", ".join(mode.name for mode in AutoresetMode)
    mode = envs.metadata.get("autoreset_mode")
    try:
        return AutoresetMode(mode)
    except ValueError as error:
        raise ValueError(
            f'{envs}: expected metadata["autoreset_mode"] to be one of {known} of gymnasium.vector.AutoresetMode, got '
            f"{mode!r}. Set it to how this environment starts its next episodes."
        ) from error


def mode_named(name: AutoresetMode | str) -> AutoresetMode:
    """The mode of a name.

    Raises:
      ValueError: there is no such mode.

    >>> mode_named("SameStep")
    <AutoresetMode.SAME_STEP: 'SameStep'>
    """
    try:
        return AutoresetMode(name)
    except ValueError as error:
        known = ", ".join(repr(mode.value) for mode in AutoresetMode)
        raise ValueError(f"autoreset: expected one of {known}, got {name!r}") from error


def flags_of(name: str, batch: Any, num_envs: int) -> np.ndarray:  # of any type in other people's environments
    """One flag for each environment, `[num_envs]` bool, in one piece. Some simulators return them as `[num_envs, 1]`.

    Raises:
      SpecError: they are not as many truth values, or 0 and 1.

    >>> flags_of("terminated", np.array([[1.0], [0.0]]), 2)
    array([ True, False])
    """
    if type(batch) is np.ndarray and batch.dtype == _FLAG and batch.shape == (num_envs,) and batch.strides == (1,):
        return batch
    found = _flat(batch)
    is_right = found.shape in ((num_envs,), (num_envs, 1)) and found.dtype.kind in "biuf"
    if not is_right or (found.dtype != np.bool_ and not np.isin(found, (0, 1)).all()):
        raise SpecError(
            f"{name}: expected {num_envs} truth values, one for each environment, got {found.dtype} {found.shape}: "
            f"{batch!r}"[:300]
        )
    return found.reshape(num_envs).astype(np.bool_)


def _flat(batch: Any) -> np.ndarray:  # as `flags_of`
    """A batch as an array of numbers, if all are; lists of different lengths are an empty one."""
    try:
        found = np.asarray(as_array(batch))
        return np.asarray(found.tolist()) if found.dtype == np.object_ else found
    except ValueError:
        return np.empty(0)


class Autoresets:
    """Tracks which environments the next step resets, and the resets and steps of each environment so far.

    >>> autoresets = Autoresets(AutoresetMode.NEXT_STEP, 2)
    >>> autoresets.reset([0, 1], [None, None])
    >>> autoresets.step()
    >>> autoresets.ended(np.array([True, False]), np.array([False, False]))
    array([ True, False])
    >>> autoresets.due
    array([ True, False])

    Attributes:
      mode: of the autoresets.
      counters: resets and steps.
      due: `[environments]` bool, which the next step resets instead of stepping them; None: none. Replaced, never
        changed.
    """

    def __init__(self, mode: AutoresetMode, num_envs: int) -> None:
        self.counters = ResetCounters(num_envs)
        self.due: np.ndarray | None = None
        self.mode = mode

    def reset(self, chosen: Iterable[int], seeds: Sequence[object]) -> None:
        """Counts a reset of some environments; `seeds` are those of all, or None."""
        chosen = [*chosen]
        self.counters.reset_each({index: seeds[index] for index in chosen})
        if self.due is not None:
            due = self.due.copy()
            due[chosen] = False
            self.due = due if any_true(due) else None

    def step(self) -> None:
        """Counts the next step."""
        if self.due is None:
            self.counters.step()
        else:
            self.counters.step_or_reset(self.due)

    def ended(self, terminated: np.ndarray, truncated: np.ndarray) -> np.ndarray | None:
        """Notes which episodes the step has ended, and returns that, `[environments]` bool; None: none."""
        # When an autoreset was due, the flags of this step belong to the reset: both False.
        found = over(terminated, truncated, self.due)
        if self.mode is AutoresetMode.NEXT_STEP:
            self.due = found
        return found

    def forget(self) -> None:
        """Forgets which resets are due, because the result of a step is unknown."""
        self.due = None


def over_in_python(terminated: np.ndarray, truncated: np.ndarray, resetting: np.ndarray | None) -> np.ndarray | None:
    """Which episodes a step has ended that reset some environments instead; None: none. All are `[environments]` bool.

    >>> over_in_python(np.array([True, True]), np.array([False, False]), np.array([True, False]))
    array([False,  True])
    """
    found = terminated | truncated
    if resetting is not None:
        found &= ~resetting
    return found if any_true(found) else None


over: Final[Callable[[np.ndarray, np.ndarray, np.ndarray | None], np.ndarray | None]] = getattr(
    native, "over", over_in_python
)
