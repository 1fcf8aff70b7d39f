"""`rlds_kit.remote.ranges` and `range_map`."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.remote.range_map import RangeMap, joined
from rlds_kit.remote.ranges import coalesced

SIZE = 120
ranges = st.tuples(st.integers(0, SIZE), st.integers(0, SIZE)).map(lambda pair: (min(pair), max(pair)))
CONTENT = bytes(range(SIZE))


@given(st.lists(ranges), st.integers(0, 20), st.integers(1, 40))
def test_coalesced_ranges_have_what_is_wanted(wanted: list[tuple[int, int]], gap: int, limit: int) -> None:
    """Every wanted byte is in a range, none in two, no range is too long, and only short gaps are fetched."""
    found = coalesced(wanted, gap, limit)
    fetched = [at for each in found for at in range(*each)]
    asked = {at for each in wanted for at in range(*each)}
    assert len(fetched) == len(set(fetched))
    assert set(fetched) >= asked
    assert all(0 < each.end - each.begin <= limit for each in found)
    unwanted = sorted(set(fetched) - asked)
    for at in unwanted:  # lies in a gap between wanted bytes that is short enough
        before = max(each for each in asked if each < at)
        after = min(each for each in asked if each > at)
        assert after - before - 1 <= gap
    assert fetched == sorted(fetched)


@given(st.lists(ranges), st.integers(0, 20))
def test_close_ranges_are_requested_together(wanted: list[tuple[int, int]], gap: int) -> None:
    """Without a limit, ranges lie further apart than the gap."""
    assert all(b.begin - a.end > gap for a, b in pairwise(coalesced(wanted, gap, SIZE)))


@given(st.lists(ranges), ranges)
def test_what_was_added_is_found(added: list[tuple[int, int]], wanted: tuple[int, int]) -> None:
    """A map returns exactly the bytes of the added ranges, and the ranges of missing bytes."""
    here = RangeMap[bytes]()
    for begin, end in added:
        here.add(begin, end, CONTENT[begin:end])
    known = {at for each in added for at in range(*each)}
    missing = [at for each in here.missing(*wanted) for at in range(*each)]
    assert missing == [at for at in range(*wanted) if at not in known]
    assert joined(here, *wanted) == (None if missing else CONTENT[slice(*wanted)])
    assert all(CONTENT[piece.begin : piece.end] == piece.value for piece in here)


@given(st.lists(ranges, min_size=1), st.data())
def test_replaced_ranges_are_returned(added: list[tuple[int, int]], data: st.DataObject) -> None:
    """Bytes of a map can be counted by what `add` and `remove` return."""
    here, count = RangeMap[bytes](), 0
    for begin, end in added:
        gone = here.add(begin, end, CONTENT[begin:end])
        count += end - begin - sum(len(piece.value) for piece in gone)
        assert count == sum(len(piece.value) for piece in here)
    removed = here.remove(data.draw(st.sampled_from(added))[0])
    count -= 0 if removed is None else len(removed.value)
    assert count == sum(len(piece.value) for piece in here)
