"""Transitions: what an agent saw and did, what it got, and what it saw next."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlds_kit.errors import DamagedError
from rlds_kit.loader.nests import map_arrays
from rlds_kit.loader.place import Place
from rlds_kit.loader.pool import Nest, Read
from rlds_kit.loader.windows import require_positive
from rlds_kit.step import ACTION, DISCOUNT, FLAGS, OBSERVATION, REWARD


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
        require_positive(n=self.n)
        if not 0 <= self.gamma <= 1:
            raise ValueError(f"expected gamma between 0 and 1, got {self.gamma}")

    @property
    def rows_per_sample(self) -> int:
        """Steps that one sample needs."""
        return 2

    @property
    def rows_between(self) -> int:
        """Steps from one sample to the next."""
        return 1

    def count(self, lengths: np.ndarray) -> np.ndarray:
        """`[segments]`: how many samples segments of these lengths have."""
        return (lengths - 1).clip(0)

    def anchors(self, nth: np.ndarray) -> np.ndarray:
        """The anchor, counted from its segment's first step, of the nth sample of a segment."""
        return nth

    def needs(self, place: Place, names: Sequence[str]) -> dict[str, np.ndarray]:
        """For every field the numbers of the steps it is read at."""
        needed = {}
        for name in names:
            rows = place.row[:, None]
            if name == OBSERVATION:
                rows = np.stack([place.row, self._next(place)], 1)
            elif name in (REWARD, DISCOUNT):
                rows = self._summed(place)[0]
            if name not in FLAGS:
                needed[name] = place.steps(rows)
        return needed

    def batch(self, place: Place, names: Sequence[str], read: Read) -> dict[str, Any]:
        """The samples: fields of the step, `next_observation`, what was obtained on the way, and flags."""
        following = self._next(place)
        flags = place.flags(following)
        batch: dict[str, Any] = {}
        valid: dict[str, Any] = {}
        for name in names:
            if name not in (*FLAGS, REWARD, DISCOUNT):
                batch[name], valid[name] = read(name, place.steps(place.row))
        if OBSERVATION in names:
            batch[f"next_{OBSERVATION}"], valid[f"next_{OBSERVATION}"] = read(OBSERVATION, place.steps(following))
        batch |= self._obtained(place, names, read, flags["is_terminal"])
        _require_acted(place, valid)
        return {
            **batch,
            "is_first": place.row == 0,
            "next_is_last": flags["is_last"],
            "next_is_terminal": flags["is_terminal"],
            "n_steps": (following - place.row).astype(np.int32),
            "valid": valid,
        }

    def _next(self, place: Place) -> np.ndarray:
        """`[B]` the step that each transition leads to."""
        return (place.row + self.n).clip(max=place.segment.end - 1)

    def _summed(self, place: Place) -> tuple[np.ndarray, np.ndarray]:
        """`[B, n]` the steps whose rewards are summed, and which of them there are."""
        rows, last = place.row[:, None] + np.arange(self.n), self._next(place)[:, None] - 1
        return np.minimum(rows, last), rows <= last

    def _obtained(self, place: Place, names: Sequence[str], read: Read, is_terminal: np.ndarray) -> dict[str, Nest]:
        rows, inside = self._summed(place)
        discounts = read(DISCOUNT, place.steps(rows))[0] if DISCOUNT in names else np.ones(rows.shape)
        obtained = {DISCOUNT: map_arrays(lambda each: self._bootstrap(each, inside, is_terminal), discounts)}
        if REWARD in names:
            rewards = read(REWARD, place.steps(rows))[0]
            shared = not isinstance(discounts, np.ndarray)
            others = (discounts,) if shared else ()
            obtained[REWARD] = map_arrays(
                lambda each, *own: self._sum(each, own[0] if own else discounts, inside), rewards, *others
            )
        return obtained

    def _bootstrap(self, discounts: np.ndarray, inside: np.ndarray, is_terminal: np.ndarray) -> np.ndarray:
        factors = np.where(inside, discounts * self.gamma, 1.0).prod(axis=1)
        factors[is_terminal] = 0
        return _as_float(factors, discounts.dtype)

    def _sum(self, rewards: np.ndarray, discounts: np.ndarray, inside: np.ndarray) -> np.ndarray:
        if self.n == 1:
            return rewards[:, 0]
        factors = np.cumprod(discounts[:, :-1].astype(np.float64) * self.gamma, axis=1)
        weights = np.concatenate([np.ones((len(rewards), 1)), factors], axis=1) * inside
        total = (rewards * weights.reshape(*weights.shape, *(1,) * (rewards.ndim - 2))).sum(axis=1)
        return _as_float(total, rewards.dtype)


def _as_float(values: np.ndarray, dtype: np.dtype[Any]) -> np.ndarray:
    """In the dtype it was recorded in, or where that is none of floating point in float64."""
    return values.astype(dtype if dtype.kind == "f" else np.float64)


def _require_acted(place: Place, valid: dict[str, Any]) -> None:
    """Where an action is missing in the middle of a segment the record of a gap was lost: nothing may be joined."""
    acted = valid.get(ACTION)
    if isinstance(acted, np.ndarray) and not acted.all():
        at = int(np.flatnonzero(~acted)[0])
        raise DamagedError(
            f"episode {int(place.segment.episode[at])} has no action at step {int(place.row[at])}, which is not its "
            "last, and no number of steps that says why; `rlds-kit verify` looks for the damage"
        )
