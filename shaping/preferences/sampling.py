"""Strategies that choose the segments of queries."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np

from rlds_kit.base.arguments import integer, positive
from rlds_kit.shaping.preferences.query import Query
from rlds_kit.shaping.preferences.segment import Segment

Scores: TypeAlias = Callable[[Sequence[Segment]], np.ndarray[Any, Any]]
"""Returns `[members, segments]`: the score of each segment by each member of an ensemble."""

TRIES: Final = 100
"""Maximum number of drawn groups for each requested one; then too few groups are an error."""


class Strategy(Protocol):
    """Chooses groups of segments."""

    @property
    def name(self) -> str:
        """The name, which is stored with each query."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters that determine the choice, besides the pool; stored with each query."""

    def choose(self, pool: Sequence[Segment], count: int, size: int) -> list[tuple[Segment, ...]]:
        """Returns `count` different groups of `size` different segments; the same for the same arguments."""


@dataclass(frozen=True, slots=True)
class Uniform:
    """Chooses different groups, each with the same probability."""

    seed: int

    @property
    def name(self) -> str:
        """The name, which is stored with each query."""
        return "uniform"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All that the choice depends on."""
        return {"seed": self.seed}

    def choose(self, pool: Sequence[Segment], count: int, size: int) -> list[tuple[Segment, ...]]:
        """Returns `count` different groups of `size` different segments."""
        return _draw(pool, count, size, self.seed)


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Chooses the groups on which the members of an ensemble disagree most, from random candidates.

    The disagreement is the variance over members of the probability that one segment is better than another, in the
    model of Bradley and Terry; in larger groups, its mean over all pairs (Christiano et al. 2017).

    Attributes:
      scores: of the ensemble.
      ensemble: identifies it, for example by the SHA-256 of its file.
      seed: of the random candidates.
      candidates: number of random candidates for each chosen group.
    """

    scores: Scores
    ensemble: str
    seed: int
    candidates: int = 10

    @property
    def name(self) -> str:
        """The name, which is stored with each query."""
        return "disagreement"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All that the choice depends on."""
        return {"seed": self.seed, "candidates": self.candidates, "ensemble": self.ensemble}

    def choose(self, pool: Sequence[Segment], count: int, size: int) -> list[tuple[Segment, ...]]:
        """Returns `count` different groups of `size` different segments, those with most disagreement first."""
        return _best(pool, count, size, self, lambda better: better.var(axis=0))


@dataclass(frozen=True, slots=True)
class Closest:
    """Chooses the groups that an ensemble as a whole can decide least clearly, from random candidates.

    These are the groups whose mean probability that one segment is better is closest to a half. Attributes are those
    of `Disagreement`.
    """

    scores: Scores
    ensemble: str
    seed: int
    candidates: int = 10

    @property
    def name(self) -> str:
        """The name, which is stored with each query."""
        return "closest"

    @property
    def parameters(self) -> Mapping[str, Any]:
        """All that the choice depends on."""
        return {"seed": self.seed, "candidates": self.candidates, "ensemble": self.ensemble}

    def choose(self, pool: Sequence[Segment], count: int, size: int) -> list[tuple[Segment, ...]]:
        """Returns `count` different groups of `size` different segments, the hardest first."""
        return _best(pool, count, size, self, lambda better: -np.abs(better.mean(axis=0) - 0.5))


def queries(
    pool: Sequence[Segment],
    strategy: Strategy,
    count: int,
    *,
    kind: str = "comparison",
    size: int = 2,
    question: str = "",
) -> list[Query]:
    """Makes queries about segments that a strategy chooses. The same arguments give the same queries.

    Args:
      pool: segments, for example from `cut`.
      strategy: `Uniform`, `Disagreement`, `Closest`, or your own.
      count: number of queries.
      kind: of the answers.
      size: segments of a query.
      question: in words.

    Raises:
      ValueError: the pool has fewer groups of this size, the kind is not known, or a score is not finite.
    """
    groups = strategy.choose(pool, integer("count", count), integer("size", size))
    name, parameters = strategy.name, dict(strategy.parameters)
    return [
        Query(segments=group, kind=kind, question=question, strategy=name, parameters=parameters) for group in groups
    ]


def _draw(pool: Sequence[Segment], count: int, size: int, seed: int) -> list[tuple[Segment, ...]]:
    """Different groups, compared without their order; each in a random order, so that no position is preferred."""
    if count < 0 or size < 1:
        raise ValueError(f"expected a count from 0 on and a size from 1 on, got {count} and {size}")
    random, found = np.random.default_rng(seed), dict[frozenset[int], tuple[int, ...]]()
    for _ in range(TRIES * count if size <= len(pool) else 0):
        group = tuple(int(each) for each in random.choice(len(pool), size, replace=False))
        found.setdefault(frozenset(group), group)
        if len(found) == count:
            break
    if len(found) < count:
        raise ValueError(
            f"expected at least {count} different groups of {size} segments in a pool of {len(pool)}, found "
            f"{len(found)}; cut more segments (a shorter `stride`), or make fewer queries"
        )
    return [tuple(pool[each] for each in group) for group in found.values()]


class _Ensemble(Protocol):
    @property
    def ensemble(self) -> str: ...
    @property
    def scores(self) -> Scores: ...
    @property
    def seed(self) -> int: ...
    @property
    def candidates(self) -> int: ...


def _best(
    pool: Sequence[Segment],
    count: int,
    size: int,
    strategy: _Ensemble,
    worth: Callable[[np.ndarray[Any, Any]], np.ndarray[Any, Any]],
) -> list[tuple[Segment, ...]]:
    """The groups with the largest value of a function of `[members, groups]`, the probability of the first segment."""
    if size < 2:
        raise ValueError(f"expected queries about at least 2 segments, which can be compared, got {size}")
    drawn = count * positive("candidates", strategy.candidates)
    groups = _draw(pool, min(drawn, _groups(len(pool), size, count)), size, strategy.seed)
    if not groups:
        return []
    scores = np.asarray(strategy.scores([each for group in groups for each in group]), np.float64)
    if not np.isfinite(scores).all():
        raise ValueError(f"expected finite scores of segments by {strategy.ensemble}, got others; check its training")
    by_group = scores.reshape(len(scores), len(groups), size)
    total = np.zeros(len(groups))
    for first, second in itertools.combinations(range(size), 2):
        total += worth((1 + np.tanh((by_group[..., first] - by_group[..., second]) / 2)) / 2)  # never overflows
    return [groups[each] for each in np.argsort(-total, kind="stable")[:count]]


def _groups(pool: int, size: int, least: int) -> int:
    """About half of all groups, which can be drawn quickly without repetition, but at least the requested number."""
    total = 1
    for each in range(min(size, pool)):
        total = total * (pool - each) // (each + 1)
    return max(least, total // 2)
