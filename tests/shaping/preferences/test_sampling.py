"""Strategies choose different groups, always the same for the same seed, and those that they promise."""

import itertools
import uuid
from collections.abc import Sequence

import numpy as np
import pytest

from rlds_kit.shaping import preferences as pf

POOL = [pf.Segment(uuid.UUID(int=number), range(5)) for number in range(12)]


def members(segments: Sequence[pf.Segment]) -> np.ndarray:
    """Two members that agree about all segments but the last two, which one has the other way round."""
    number = np.array([each.episode.int for each in segments], np.float64)
    return np.stack([number, np.where(number == 11, -50.0, number)])


STRATEGIES: list[pf.Strategy] = [
    pf.Uniform(3),
    pf.Disagreement(members, "members", 3),
    pf.Closest(members, "members", 3),
]


@pytest.mark.parametrize("strategy", STRATEGIES, ids=lambda each: each.name)
@pytest.mark.parametrize("size", [2, 3])
def test_groups_differ_and_are_the_same_for_a_seed(strategy: pf.Strategy, size: int) -> None:
    queries = pf.queries(POOL, strategy, 20, size=size, kind="comparison" if size == 2 else "ranking")
    assert len({frozenset(each.segments) for each in queries}) == 20
    assert all(len(set(each.segments)) == size for each in queries)
    again = pf.queries(POOL, strategy, 20, size=size, kind="comparison" if size == 2 else "ranking")
    assert [each.id for each in again] == [each.id for each in queries]
    assert {each.strategy for each in queries} == {strategy.name}
    assert all(each.parameters["seed"] == 3 for each in queries)


def test_all_groups_can_be_drawn_uniformly_and_no_more() -> None:
    assert len(pf.queries(POOL, pf.Uniform(0), 66)) == 66
    with pytest.raises(ValueError, match="at least 67 different groups of 2 segments in a pool of 12, found 66"):
        pf.queries(POOL, pf.Uniform(0), 67)
    with pytest.raises(ValueError, match="in a pool of 1"):
        pf.queries(POOL[:1], pf.Uniform(0), 1)


def test_uniform_prefers_no_segment_and_no_place() -> None:
    """Each of 12 segments is first in a twelfth of 600 pairs, give or take four standard errors."""
    firsts = [each.segments[0] for seed in range(20) for each in pf.queries(POOL, pf.Uniform(seed), 30)]
    counts = np.array([firsts.count(each) for each in POOL])
    assert np.abs(counts - 50).max() <= 4 * np.sqrt(600 / 12 * 11 / 12)


def test_disagreement_chooses_what_members_disagree_about() -> None:
    """They disagree only about pairs with the last segment; a third of all pairs are candidates."""
    chosen = pf.queries(POOL, pf.Disagreement(members, "members", 1), 4)
    assert all(POOL[11] in each.segments for each in chosen)


def test_closest_chooses_neighbours() -> None:
    """Where all members agree, the hardest pairs are those with the smallest difference."""
    chosen = pf.queries(POOL[:11], pf.Closest(members, "members", 1, candidates=5), 4)
    numbers = [sorted(each.episode.int for each in query.segments) for query in chosen]
    differences = [second - first for first, second in numbers]
    drawn = pf.queries(POOL[:11], pf.Uniform(1), 20)
    every = sorted(abs(each.segments[0].episode.int - each.segments[1].episode.int) for each in drawn)
    assert differences == every[:4]
    assert all(first != second for first, second in itertools.pairwise(numbers))


def test_scores_may_be_huge_and_must_be_finite() -> None:
    """The probabilities of large differences are 0 and 1, without a warning."""

    def huge(segments: Sequence[pf.Segment]) -> np.ndarray:
        return members(segments) * 1e6

    def broken(segments: Sequence[pf.Segment]) -> np.ndarray:
        return members(segments) * np.nan

    assert len(pf.queries(POOL, pf.Disagreement(huge, "huge", 1), 4)) == 4
    assert pf.queries(POOL, pf.Closest(members, "members", 1), 0) == []
    with pytest.raises(ValueError, match="finite scores of segments by broken"):
        pf.queries(POOL, pf.Disagreement(broken, "broken", 1), 4)
    with pytest.raises(ValueError, match="candidates of at least 1"):
        pf.queries(POOL, pf.Disagreement(members, "members", 1, candidates=0), 4)
