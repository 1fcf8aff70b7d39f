"""Pairs the episodes of two datasets that are compared with each other."""

from collections import defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from rlds_kit.dataset.dataset import Dataset

Match: TypeAlias = Literal["id", "order", "digest"]
"""What two episodes must share: their id, their place, or their content digest."""


@dataclass(frozen=True, slots=True)
class Matching:
    """Pairs of episodes, by number.

    Attributes:
      match: how they were paired.
      pairs: in A's order.
      only_a: numbers that are left over.
      only_b: likewise.
    """

    match: Match
    pairs: tuple[tuple[int, int], ...]
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]

    @property
    def reordered(self) -> int:
        """The number of pairs that come before another one in B and after it in A; 0 for pairs by digest."""
        if self.match == "digest":
            return 0
        last, count = -1, 0
        for _, number in self.pairs:
            count += number < last
            last = max(last, number)
        return count


def pair(a: Dataset, b: Dataset, match: Match | None) -> Matching:
    """Pairs the episodes of two datasets.

    Args:
      a: one dataset.
      b: the other one.
      match: the way; None: by id if they share any, else by order.

    Raises:
      ValueError: there is no such way.
    """
    ids_a, ids_b = ([episode.id for episode in dataset.episodes] for dataset in (a, b))
    if match is None:
        match = "order" if set(ids_a).isdisjoint(ids_b) else "id"
    if match == "order":
        return _paired(match, range(len(ids_a)), range(len(ids_b)))
    if match == "id":
        return _paired(match, ids_a, ids_b)
    if match == "digest":
        digests = ([episode.content_digest for episode in dataset.episodes] for dataset in (a, b))
        return _paired(match, *digests)
    raise ValueError(f"match: expected id, order or digest, got {match!r}")


def _paired(match: Match, keys_a: Iterable[Hashable], keys_b: Iterable[Hashable]) -> Matching:
    """Pairs equal keys in order: the first with the first, the second with the second."""
    numbers = defaultdict[Hashable, list[int]](list)
    keys = list(keys_b)
    for number in reversed(range(len(keys))):
        numbers[keys[number]].append(number)
    pairs, only_a = list[tuple[int, int]](), list[int]()
    for number, key in enumerate(keys_a):
        if numbers.get(key):
            pairs.append((number, numbers[key].pop()))
        else:
            only_a.append(number)
    only_b = sorted(number for left in numbers.values() for number in left)
    return Matching(match, tuple(pairs), tuple(only_a), tuple(only_b))
