"""Cutting episodes into shards of about equal weight."""

from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.tfds_builders.shards.plan import apportion, cut

WEIGHTS = st.lists(st.integers(0, 10**12), min_size=1, max_size=60)


@given(WEIGHTS, st.data())
def test_parts_are_consecutive_and_none_is_empty(weights: list[int], data: st.DataObject) -> None:
    """Every item is in one part, in order, whatever the weights are."""
    parts = data.draw(st.integers(1, len(weights)))
    found = cut(weights, parts)
    assert [index for part in found for index in part] == list(range(len(weights)))
    assert len(found) == parts
    assert all(found)


@given(st.lists(st.integers(1, 100), min_size=200, max_size=300), st.integers(1, 10))
def test_parts_weigh_about_the_same(weights: list[int], parts: int) -> None:
    """No part is further from the mean than the heaviest item."""
    mean = sum(weights) / parts
    assert all(abs(sum(weights[i] for i in part) - mean) <= max(weights) for part in cut(weights, parts))


@given(WEIGHTS, st.integers(1, 200), st.data())
def test_groups_get_parts_in_proportion(weights: list[int], parts: int, data: st.DataObject) -> None:
    """Each at least one and at most its limit; the requested number in all, if the limits allow it."""
    limits = [data.draw(st.integers(1, 50)) for _ in weights]
    given_parts = apportion(weights, limits, parts)
    assert all(1 <= number <= limit for number, limit in zip(given_parts, limits, strict=True))
    assert sum(given_parts) == max(len(weights), min(parts, sum(limits)))
