"""Transitions: observation, action, reward and next observation."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlds_kit.base.arguments import positive
from rlds_kit.base.errors import DamagedError, SpecError
from rlds_kit.base.step import ACTION, DISCOUNT, FLAGS, IS_FIRST, IS_LAST, IS_TERMINAL, OBSERVATION, REWARD
from rlds_kit.loader.nests import flattened, map_arrays
from rlds_kit.loader.place import Place
from rlds_kit.loader.pool import Nest, Read


@dataclass(frozen=True, slots=True)
class Transitions:
    """n-step transitions (Sutton and Barto, "Reinforcement Learning", 2nd edition, equation 7.1).

    With `m` the smaller of `n` and the number of actions until the segment's end, `reward` is the sum of `m` rewards,
    each multiplied by `gamma` and the discount of every step before it; `discount` is the product of `m` discounts and
    `gamma ** m`, and zero where the next step is terminal. So the target of a value is
    `reward + discount * value(next_observation)`.
    """

    n: int = 1
    gamma: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "n", positive("n", self.n))
        object.__setattr__(self, "gamma", float(self.gamma))  # so that 1 and 1.0 give equal states
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"expected gamma between 0 and 1, got {self.gamma}")

    @property
    def own_names(self) -> frozenset[str]:
        """The entries that a batch has besides recorded fields, among them `discount` and `next_observation`."""
        return frozenset((DISCOUNT, f"next_{OBSERVATION}", "next_is_last", "next_is_terminal", "n_steps", "valid"))

    @property
    def rows_per_sample(self) -> int:
        """Number of steps of a sample."""
        return 2

    @property
    def rows_between(self) -> int:
        """Steps from one sample to the next."""
        return 1

    def count(self, lengths: np.ndarray) -> np.ndarray:
        """Returns `[segments]`: the number of samples in segments of these lengths."""
        return (lengths - 1).clip(0)

    def anchors(self, nth: np.ndarray) -> np.ndarray:
        """The anchor, counted from its segment's first step, of the nth sample of a segment."""
        return nth

    def needs(self, place: Place, names: Sequence[str]) -> dict[str, np.ndarray]:
        """Returns, for every field, the numbers of the steps at which it is read."""
        here = place.steps(place.row[:, None])  # one array for many fields: it is sorted once
        needed = dict.fromkeys((name for name in names if name not in FLAGS), here)
        if OBSERVATION in needed:
            needed[OBSERVATION] = place.steps(np.stack([place.row, self._next(place)], 1))
        if self.n > 1:
            summed = place.steps(self._summed(place)[0])
            needed |= dict.fromkeys(needed.keys() & {REWARD, DISCOUNT}, summed)
        return needed

    def batch(self, place: Place, names: Sequence[str], read: Read) -> dict[str, Any]:
        """The samples: fields of the step, `next_observation`, rewards and discounts in between, and flags."""
        following, here = self._next(place), place.steps(place.row)
        is_last, is_terminal = (place.flag(name, following) for name in (IS_LAST, IS_TERMINAL))
        batch: dict[str, Any] = {}
        valid: dict[str, Any] = {}
        for name in names:
            if name not in (*FLAGS, REWARD, DISCOUNT):
                batch[name], valid[name] = read(name, here)
        if OBSERVATION in names:
            batch[f"next_{OBSERVATION}"], valid[f"next_{OBSERVATION}"] = read(OBSERVATION, place.steps(following))
        rows, inside = self._summed(place)
        discounts = _discounts(read, place.steps(rows)) if DISCOUNT in names else np.ones(rows.shape)
        batch[DISCOUNT] = map_arrays(lambda each: self._bootstrap(each, inside, is_terminal), discounts)
        if REWARD in names:
            rewards, defined = read(REWARD, place.steps(rows))
            batch[REWARD] = self._returns(rewards, discounts, map_arrays(lambda each: each & inside, defined))
            valid[REWARD] = map_arrays(lambda each: (each | ~inside).all(axis=1), defined)
        _require_acted(place, valid)
        return {
            **batch,
            "is_first": place.flag(IS_FIRST, place.row),
            "next_is_last": is_last,
            "next_is_terminal": is_terminal,
            "n_steps": (following - place.row).astype(np.int32),
            "valid": valid,
        }

    def _next(self, place: Place) -> np.ndarray:
        """`[B]` the step that each transition leads to."""
        return (place.row + self.n).clip(max=place.segment.end - 1)

    def _summed(self, place: Place) -> tuple[np.ndarray, np.ndarray]:
        """`[B, n]` the steps whose rewards are summed, and which of them exist."""
        last = self._next(place)[:, None] - 1
        most = int((last[:, 0] - place.row).max(initial=0)) + 1  # no more than segments have, however large `n` is
        rows = place.row[:, None] + np.arange(most)
        return np.minimum(rows, last), rows <= last

    def _bootstrap(self, discounts: np.ndarray, inside: np.ndarray, is_terminal: np.ndarray) -> np.ndarray:
        factors = np.where(_beside(discounts, inside), discounts * self.gamma, 1.0).prod(axis=1)
        factors[is_terminal] = 0
        return _as_float(factors, discounts.dtype)

    def _returns(self, rewards: Nest, discounts: Nest, present: Nest) -> Nest:
        """The discounted sum of each reward, with its own discount if discounts are nested too."""
        if isinstance(discounts, np.ndarray):
            return map_arrays(lambda each, mask: self._sum(each, discounts, mask), rewards, present)
        return map_arrays(lambda each, mask, own: self._sum(each, own, mask), rewards, present, discounts)

    def _sum(self, rewards: np.ndarray, discounts: np.ndarray, present: np.ndarray) -> np.ndarray:
        if self.n == 1:
            return rewards[:, 0]
        if discounts.ndim > rewards.ndim:
            shapes = f"shape {rewards.shape[2:]}, discounts of shape {discounts.shape[2:]}"
            raise SpecError(f"expected rewards of at least as many dimensions as discounts, got rewards of {shapes}")
        factors = np.cumprod(discounts[:, :-1].astype(np.float64) * self.gamma, axis=1)
        weights = np.concatenate([np.ones((len(rewards), 1, *discounts.shape[2:])), factors], axis=1)
        # Missing values and weights of zero are left out before the product, because infinity times zero is NaN.
        counted = _beside(rewards, present) & (_beside(rewards, weights) != 0)
        summed = np.where(counted, rewards, 0) * _beside(rewards, weights)
        # Accumulated in order: `sum` groups terms by their number, so results would differ between batches.
        total = np.add.accumulate(summed, axis=1)[:, -1] + 0.0  # so that -0.0 is the same as in longer sums
        return _as_float(total, rewards.dtype)


def _discounts(read: Read, steps: np.ndarray) -> Nest:
    """Recorded discounts; a missing one is 1, not that of a terminal step."""
    discounts, defined = read(DISCOUNT, steps)
    for each, given in zip(flattened(discounts).values(), flattened(defined).values(), strict=True):
        each[~given] = 1
    return discounts


def _beside(values: np.ndarray, fewer: np.ndarray) -> np.ndarray:
    """An array of fewer dimensions in a shape that broadcasts over the others of `values`."""
    return fewer.reshape(*fewer.shape, *(1,) * (values.ndim - fewer.ndim))


def _as_float(values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """Converts to float64, unless the recorded dtype is floating point."""
    return values.astype(dtype if dtype.kind == "f" else np.float64)


def _require_acted(place: Place, valid: dict[str, Any]) -> None:
    """Raises an error if an action is missing inside a segment: the record of a gap was lost."""
    acted = list(flattened(valid.get(ACTION, {})).values())  # one part of a nest is sufficient: agents may be absent
    if acted and not (is_there := np.any(acted, axis=0)).all():
        at = int(np.flatnonzero(~is_there)[0])
        raise DamagedError(
            f"episode {int(place.segment.episode[at])} has no action at step {int(place.row[at])}, which is not its "
            "last, and the number of steps left out is missing; `rlds-kit verify` searches for the damage"
        )
